public import FoundationEssentials

/// A response whose body comes while it is read.
///
/// ```swift
/// let response = try await manager.stream(HTTPRequest("https://example.org/log"))
/// for try await chunk in response.bytes { … }
/// ```
///
/// The network is read no faster than ``bytes`` is: what was not taken waits in a small buffer, then in the
/// connection. When the response and its iterators are gone before the end, the transfer is cancelled.
public struct StreamedResponse: Sendable {
    /// The head. Trailers and metrics are only known at the end and are not in it.
    public let response: HTTPResponse
    /// The file that the body goes into, if it became a download (``ResponseDisposition/download(to:options:)``):
    /// ``bytes`` has then no chunks, and ends, or throws, when the file stands in its place.
    public let filePath: String?
    let sharedTrust: SharedTrustReport?
    /// The body.
    public let bytes: Bytes

    /// The status code.
    public var status: Int { response.status }

    /// What the server has shown of itself, if ``HTTPRequest/reportsTrust`` asked for it and the answer comes over TLS.
    public var trust: TrustReport? { sharedTrust?.report }

    /// The body as a sequence of chunks of no particular size, none of them empty.
    ///
    /// There is one body: iterators share it, and each chunk goes to one of them. Two tasks must not wait for a
    /// chunk at once; the second gets ``SessionError/Code/invalidInput``. Cancelling the task that iterates
    /// cancels the transfer.
    public struct Bytes: AsyncSequence, Sendable {
        public typealias Element = Data
        public typealias Failure = SessionError

        let owner: StreamOwner

        public func makeAsyncIterator() -> Iterator {
            Iterator(owner: owner)
        }
    }

    /// Takes chunks from the body.
    public struct Iterator: AsyncIteratorProtocol {
        let owner: StreamOwner

        /// The next chunk, nil at the end.
        public mutating func next() async throws(SessionError) -> Data? {
            try await owner.stream.next()
        }

        /// The next chunk, nil at the end.
        public mutating func next(isolation: isolated (any Actor)?) async throws(SessionError) -> Data? {
            try await owner.stream.next()
        }
    }
}

/// Cancels the transfer when nobody can read from it any more.
final class StreamOwner: Sendable {
    let stream: StreamTransfer

    init(_ stream: StreamTransfer) {
        self.stream = stream
    }

    deinit {
        stream.cancel()
    }
}
