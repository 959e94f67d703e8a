extension StreamedResponse {
    /// The body as lines of text with at most 1 MiB each. See ``lines(maximumLength:)``.
    public var lines: Lines { lines(maximumLength: 1 << 20) }

    /// Returns the body as lines of text.
    ///
    /// CR, LF and CRLF end a line and aren't part of it. Empty lines are included, and so is an unterminated last line.
    /// The text is decoded as UTF-8; invalid bytes become U+FFFD.
    ///
    /// - Parameter maximumLength: The maximum length of a line in bytes. A longer one cancels the transfer, and the
    ///   iterator throws ``SessionError/Code/tooLarge``.
    public func lines(maximumLength: Int) -> Lines {
        Lines(response: self, maximumLength: maximumLength)
    }

    /// The lines of the body.
    ///
    /// The body can be read once only: an iterator consumes whole chunks, so make only one.
    public struct Lines: AsyncSequence, Sendable {
        public typealias Element = String
        public typealias Failure = SessionError

        let response: StreamedResponse
        let maximumLength: Int

        public func makeAsyncIterator() -> LineIterator {
            LineIterator(response, maximumLength: maximumLength)
        }
    }

    /// Iterates over the lines of the body.
    public struct LineIterator: AsyncIteratorProtocol {
        private let owner: StreamOwner
        private let url: String
        private var splitter: LineSplitter
        private var isOver = false

        init(_ response: StreamedResponse, maximumLength: Int) {
            owner = response.bytes.owner
            url = response.url
            splitter = LineSplitter(maximumLength: maximumLength)
        }

        /// Returns the next line without its terminator; nil after the last one.
        public mutating func next() async throws(SessionError) -> String? {
            try await next(isolation: nil)
        }

        /// Returns the next line without its terminator; nil after the last one.
        public mutating func next(isolation: isolated (any Actor)?) async throws(SessionError) -> String? {
            guard !isOver else { return nil }
            do throws(SessionError) {
                // Before the lines that have been received.
                if Task.isCancelled { throw cancelled() }
                while true {
                    if let line = try split() { return line }
                    guard let chunk = try await owner.stream.next() else { break }
                    splitter.append(chunk)
                }
            } catch {
                isOver = true
                throw error
            }
            isOver = true
            return splitter.last(Self.text)
        }

        private func cancelled() -> SessionError {
            owner.stream.cancel()
            return SessionError(.cancelled, url: url)
        }

        private mutating func split() throws(SessionError) -> String? {
            do {
                return try splitter.next(Self.text)
            } catch {
                owner.stream.cancel()
                var error = error
                error.url = url
                throw error
            }
        }

        private static func text(_ bytes: UnsafeRawBufferPointer) -> String {
            String(decoding: bytes, as: UTF8.self)
        }
    }
}
