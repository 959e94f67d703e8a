import FoundationEssentials

extension StreamedResponse {
    /// The body as lines of text with at most 1 MiB each. See ``lines(maximumLength:)``.
    public var lines: Lines { lines(maximumLength: 1 << 20) }

    /// Returns the body as lines of text.
    ///
    /// CR, LF and CRLF end a line and aren't part of it. Empty lines are included, and so is an unterminated last line.
    /// The text is decoded in the charset of Content-Type. Without one it is decoded as UTF-8: invalid bytes become
    /// U+FFFD, and a byte order mark before the first line is removed. UTF-16 and UTF-32 have no lines in this sense:
    /// the iterator throws ``SessionError/Code/serialization``.
    ///
    /// - Parameter maximumLength: The maximum length of a line in bytes. A longer one cancels the transfer, and the
    ///   iterator throws ``SessionError/Code/tooLarge``.
    public func lines(maximumLength: Int) -> Lines {
        Lines(response: self, maximumLength: maximumLength)
    }

    /// The lines of the body.
    ///
    /// The body can be read once only, and one iterator at a time reads it. The next iterator continues after the last
    /// line that was returned, so one loop can read the first line and another one the rest:
    ///
    /// ```swift
    /// let header = try await response.lines.first { @Sendable _ in true }
    /// for try await row in response.lines { … }
    /// ```
    public struct Lines: AsyncSequence, Sendable {
        public typealias Element = String
        public typealias Failure = SessionError

        let response: StreamedResponse
        let maximumLength: Int

        public func makeAsyncIterator() -> LineIterator {
            LineIterator(response, maximumLength: maximumLength)
        }
    }

    /// Iterates over the lines of the body. Copies share the state.
    public struct LineIterator: AsyncIteratorProtocol {
        private let reader: LineReader

        init(_ response: StreamedResponse, maximumLength: Int) {
            reader = LineReader(response, maximumLength: maximumLength)
        }

        /// Returns the next line without its terminator; nil after the last one.
        public mutating func next() async throws(SessionError) -> String? {
            try await reader.next(isolation: nil)
        }

        /// Returns the next line without its terminator; nil after the last one.
        public mutating func next(isolation: isolated (any Actor)?) async throws(SessionError) -> String? {
            try await reader.next(isolation: isolation)
        }
    }
}

/// Reads lines. The bytes that it hasn't returned are kept by the stream's owner, not by this object, so that another
/// reader can continue. It can't do that at its release: Swift keeps the iterator of a loop at the top level of a
/// program after the loop has ended.
private final class LineReader {
    private let owner: StreamOwner
    private let url: String
    private let charset: Charset
    private let maximumLength: Int
    private var isOver = false

    init(_ response: StreamedResponse, maximumLength: Int) {
        owner = response.bytes.owner
        url = response.url
        charset = response.lineCharset
        self.maximumLength = max(0, maximumLength)
    }

    func next(isolation: isolated (any Actor)?) async throws(SessionError) -> String? {
        guard !isOver else { return nil }
        do throws(SessionError) {
            // A cancelled task gets the error even if lines have been received.
            if Task.isCancelled { throw failure(SessionError(.cancelled)) }
            guard !charset.isWide else {
                throw failure(
                    SessionError(.serialization, message: "only charsets whose line ends are single bytes have lines"))
            }
            while true {
                if let line = try split() { return line }
                guard let chunk = try await owner.stream.next(isolation: isolation) else { break }
                owner.unread.withLock { $0.append(chunk) }
            }
        } catch {
            isOver = true
            throw error
        }
        isOver = true
        return owner.unread.withLock { $0.last(text) }
    }

    /// Cancels the transfer, and drops the unread bytes. Not called for errors of the stream's `next`, such as that
    /// another task is reading: the unread bytes are that task's then.
    private func failure(_ error: SessionError) -> SessionError {
        owner.stream.cancel()
        owner.unread.withLock { $0.clear() }
        var error = error
        error.url = url
        return error
    }

    private func split() throws(SessionError) -> String? {
        do {
            return try owner.unread.withLock { splitter throws(SessionError) in
                splitter.maximumLength = maximumLength
                splitter.dropsByteOrderMark = isUTF8
                return try splitter.next(text)
            }
        } catch {
            throw failure(error)
        }
    }

    private var isUTF8: Bool { if case .utf8 = charset { true } else { false } }

    private func text(_ bytes: UnsafeRawBufferPointer) -> String {
        if isUTF8 { return String(decoding: bytes, as: UTF8.self) }
        return charset.decode(Data(bytes)) ?? String(decoding: bytes, as: UTF8.self)
    }
}

extension StreamedResponse {
    /// The charset of Content-Type; UTF-8 if there is none, or if it is unknown.
    fileprivate var lineCharset: Charset {
        guard let field = headers[.contentType], let label = MediaType(field)?.charset else {
            return .utf8
        }
        return Charset(label: label) ?? .utf8
    }
}
