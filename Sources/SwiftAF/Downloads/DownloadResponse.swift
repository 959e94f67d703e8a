public import FoundationEssentials

/// A response whose body was saved to a file.
public struct DownloadResponse: Sendable {
    /// How an existing partial file was used.
    public enum Resumption: Hashable, Sendable {
        /// There was no partial file, or resuming wasn't requested.
        case none
        /// The body was appended to the partial file.
        case resumed
        /// The partial file wasn't usable; the download started over.
        case restarted
        /// The partial file was already complete; the status of the response is 416.
        case alreadyComplete
    }

    /// The head of the response, after redirects.
    public var head: HTTPResponse
    /// The path of the file.
    public var filePath: String
    /// The size of the file in bytes.
    public var fileSize: Int64
    /// How an existing partial file was used.
    public var resumption: Resumption
    /// The number of bytes that were kept from the partial file.
    public var offset: Int64

    /// The server's certificates and their evaluation, if ``HTTPRequest/reportsTrust`` was set and the response was
    /// received over TLS.
    public var trust: TrustReport? { sharedTrust?.report }

    var sharedTrust: SharedTrustReport?

    /// Creates a response, for tests and previews.
    public init(
        head: HTTPResponse, filePath: String, fileSize: Int64, resumption: Resumption = .none, offset: Int64 = 0
    ) {
        self.head = head
        self.filePath = filePath
        self.fileSize = fileSize
        self.resumption = resumption
        self.offset = offset
    }

    /// ``filePath`` as a file URL.
    public var fileURL: URL { URL(filePath: filePath) }

    /// The status code; 206 if the download was resumed.
    public var status: Int { head.status }

    /// The header fields.
    public var headers: HTTPHeaders { head.headers }

    /// The URL of the response: the request's, or the last redirect's.
    public var url: String { head.url }

    /// Returns the absolute URL of a reference in this response, relative to ``url``:
    /// ``HTTPResponse/url(resolving:)``.
    public func url(resolving reference: some URLConvertible) -> String { head.url(resolving: reference) }

    /// Times and sizes, hop by hop.
    public var metrics: ResponseMetrics { head.metrics }
}

extension DownloadResponse: CustomStringConvertible {
    /// The head, and the size of the file in bytes.
    public var description: String { "\(head), \(fileSize) bytes saved to \(filePath)" }
}
