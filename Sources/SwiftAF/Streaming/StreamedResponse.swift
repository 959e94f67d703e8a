public import FoundationEssentials

/// A response whose body is read while it arrives.
///
/// ```swift
/// let response = try await manager.stream("https://example.org/log").validated()
/// for try await chunk in response { … }
/// ```
///
/// Without `validated()`, the body of an error such as 404 is read like any other.
///
/// A task that waits for data is resumed when some has arrived. While much data arrives, it is resumed at most once a
/// millisecond, or when 512 KiB are buffered.
///
/// Data is received only as fast as ``bytes`` is read (back-pressure): up to 1.5 MiB of unread data waits in a buffer,
/// more in the connection. Releasing the response and its iterators before the end cancels the transfer.
public struct StreamedResponse: Sendable {
    /// The head. Doesn't include trailers and metrics, which are only known at the end (``completedHead``), but
    /// ``HTTPResponse/cacheStatus``.
    public let head: HTTPResponse
    /// The path of the file that the body is saved to, if the response became a download
    /// (``ResponseDecision/download(to:options:)``). ``bytes`` is then empty; it ends, or throws, once the file is
    /// complete.
    public let filePath: String?
    let sharedTrust: SharedTrustReport?
    /// The body.
    public let bytes: Bytes
    /// The settings of the manager for validating and decoding; nil for a response that no manager received.
    var settings: ResponseSettings?

    /// The head with what is known at the end of the body: ``HTTPResponse/trailers`` and ``HTTPResponse/metrics``.
    ///
    /// ```swift
    /// let response = try await manager.stream("log")
    /// for try await line in response.lines { print(line) }
    /// print(response.completedHead?.trailers["Digest"] ?? "no digest")
    /// ```
    ///
    /// Nil until the whole body has been received. It is set when a loop over the body or ``lines`` has reached the
    /// end, and when ``collect(upTo:)`` has returned. Nil if the transfer has failed or was cancelled; an error has its
    /// own ``SessionError/metrics``. May be read on any thread.
    public var completedHead: HTTPResponse? {
        bytes.owner.stream.completedHead.map { end in
            // Only these are taken from the transfer's head: an interceptor may have changed the other properties.
            var completed = head
            completed.trailers = end.trailers
            completed.metrics = end.metrics
            return completed
        }
    }

    /// The status code.
    public var status: Int { head.status }

    /// The header fields.
    public var headers: HTTPHeaders { head.headers }

    /// The URL of the response: the request's, or the last redirect's.
    public var url: String { head.url }

    /// Returns the absolute URL of a reference in this response, relative to ``url``:
    /// ``HTTPResponse/url(resolving:)``.
    public func url(resolving reference: some URLConvertible) -> String { head.url(resolving: reference) }

    /// The server's certificates and their evaluation, if ``HTTPRequest/reportsTrust`` is set and the response came
    /// over TLS.
    public var trust: TrustReport? { sharedTrust?.report }

    /// Checks the status, and the content type if the validation lists any.
    ///
    /// ```swift
    /// for try await line in try await manager.stream("log").validated().lines {
    ///     print(line)
    /// }
    /// ```
    ///
    /// The body of an acceptable response isn't read. That of another one is read up to 1 MiB, as for a refused
    /// download, and the rest of the transfer is cancelled. Call this before you read the body.
    ///
    /// - Parameter validation: Nil uses the manager's, by default status 200 to 299.
    /// - Returns: This response.
    /// - Throws: ``SessionError/Code/status`` or ``SessionError/Code/contentType``; the error has the head and up to
    ///   1 MiB of the body. ``SessionError/Code/cancelled`` if the task is cancelled meanwhile.
    @discardableResult
    public func validated(by validation: ResponseValidation? = nil) async throws(SessionError) -> StreamedResponse {
        let validation = validation ?? settings?.validation ?? .default
        if validation.acceptsHead(head) { return self }
        let (body, failure) = try await errorBody()
        guard let error = validation.validate(head, body: body).error else {
            // The status is acceptable and the body is empty: its content type isn't checked then, as in
            // Response.validated(by:).
            if let failure { throw failure }
            return self
        }
        bytes.owner.stream.cancel()
        throw settings.map { error.decoded(by: $0.decoder) } ?? error
    }

    /// Reads the body of a refused response up to the limit. Returns a failure of the transfer instead of throwing it,
    /// because the refusal is the better error.
    private func errorBody() async throws(SessionError) -> (Data, SessionError?) {
        var body = Data()
        // The body of a download was saved to its file.
        guard filePath == nil else { return (body, nil) }
        var iterator = bytes.makeAsyncIterator()
        do {
            while body.count < CoreResult.errorBodyLimit, let chunk = try await iterator.next() {
                body.append(chunk.prefix(CoreResult.errorBodyLimit - body.count))
            }
        } catch {
            if error.code == .cancelled { throw error }
            return (body, error)
        }
        return (body, nil)
    }

    /// Reads the rest of the body into memory.
    ///
    /// - Parameter maximumSize: The maximum number of bytes, after decoding.
    /// - Throws: ``SessionError/Code/tooLarge`` for a longer body, whose transfer is then cancelled; the error has the
    ///   head. Otherwise the error of the transfer.
    public func collect(upTo maximumSize: Int) async throws(SessionError) -> Data {
        var body = Data()
        var iterator = bytes.makeAsyncIterator()
        while let chunk = try await iterator.next() {
            guard chunk.count <= maximumSize - body.count else {
                bytes.owner.stream.cancel()
                throw SessionError(
                    .tooLarge, message: "the body is longer than \(maximumSize) bytes", url: url,
                    response: head)
            }
            if body.isEmpty { body = chunk } else { body.append(chunk) }
        }
        return body
    }

    /// Cancels the transfer, which frees its connection. Data that was already received can still be read; then readers
    /// throw ``SessionError/Code/cancelled``, and so do readers that wait. Has no effect after the end of the body.
    /// Call it on any thread.
    ///
    /// ```swift
    /// let response = try await manager.stream("film")
    /// guard response.headers[.contentType] == "video/mp4" else { return response.cancel() }
    /// ```
    ///
    /// Releasing the response and its iterators does the same.
    public func cancel() {
        bytes.owner.stream.cancel()
    }

    /// The body as a sequence of non-empty chunks of any size.
    ///
    /// The body can be read once only: iterators share it, and each chunk goes to one of them. Only one task may wait
    /// for a chunk at a time; a second one gets ``SessionError/Code/invalidInput``. Cancelling the iterating task
    /// cancels the transfer. If the transfer fails, every iterator throws its error, because what it returned isn't the
    /// whole body.
    public struct Bytes: AsyncSequence, Sendable {
        public typealias Element = Data
        public typealias Failure = SessionError

        let owner: StreamOwner

        public func makeAsyncIterator() -> Iterator {
            Iterator(owner: owner)
        }
    }

    /// Iterates over the chunks of the body.
    public struct Iterator: AsyncIteratorProtocol {
        private let owner: StreamOwner
        private var hasFailed = false

        init(owner: StreamOwner) {
            self.owner = owner
        }

        /// Returns the next chunk; nil at the end, and after an error.
        public mutating func next() async throws(SessionError) -> Data? {
            try await next(isolation: nil)
        }

        /// Returns the next chunk; nil at the end, and after an error.
        public mutating func next(isolation: isolated (any Actor)?) async throws(SessionError) -> Data? {
            guard !hasFailed else { return nil }
            do {
                return try await owner.next(isolation: isolation)
            } catch {
                hasFailed = true
                throw error
            }
        }
    }
}

extension StreamedResponse: AsyncSequence {
    public typealias Element = Data
    public typealias Failure = SessionError

    /// Returns an iterator over ``bytes``.
    public func makeAsyncIterator() -> Iterator { bytes.makeAsyncIterator() }
}

/// Cancels the transfer when the response and all its iterators are released. Keeps the bytes that iterators over lines
/// have received, but not returned.
final class StreamOwner: Sendable {
    let stream: StreamTransfer
    /// The bytes to read before the next chunk of the stream.
    let unread = Locked(LineSplitter(maximumLength: 0))

    init(_ stream: StreamTransfer) {
        self.stream = stream
    }

    deinit {
        stream.cancel()
    }

    /// Returns the next chunk; nil at the end.
    func next(isolation: isolated (any Actor)?) async throws(SessionError) -> Data? {
        if let bytes = unread.withLock({ $0.takeBytes() }) { return bytes }
        while let chunk = try await stream.next(isolation: isolation) {
            if let bytes = unread.withLock({ $0.pass(chunk) }) { return bytes }
        }
        return nil
    }
}

extension StreamedResponse: CustomStringConvertible {
    /// The head.
    public var description: String { "\(head)" }
}
