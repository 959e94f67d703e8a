/// A response whose body was saved to a file.
public struct DownloadResponse: Sendable {
    /// How an existing partial file was used.
    public enum Resumption: Hashable, Sendable {
        /// There was no partial file, or resuming wasn't requested.
        case none
        /// The body was appended to the partial file.
        case continued
        /// The partial file wasn't usable; the download started over.
        case restarted
        /// The partial file was already complete; the status of the response is 416.
        case alreadyComplete
    }

    /// The head of the response, after redirects.
    public var response: HTTPResponse
    /// The path of the file.
    public var filePath: String
    /// The size of the file in bytes.
    public var fileSize: Int64
    /// How an existing partial file was used.
    public var resumption: Resumption
    /// The number of bytes that were kept from the partial file.
    public var offset: Int64

    /// The server's certificates and their evaluation, if ``HTTPRequest/reportsTrust`` is set and the response came
    /// over TLS.
    public var trust: TrustReport? { sharedTrust?.report }

    var sharedTrust: SharedTrustReport?

    public init(
        response: HTTPResponse, filePath: String, fileSize: Int64, resumption: Resumption = .none, offset: Int64 = 0
    ) {
        self.response = response
        self.filePath = filePath
        self.fileSize = fileSize
        self.resumption = resumption
        self.offset = offset
    }

    /// The status code; 206 if the download was resumed.
    public var status: Int { response.status }
}

/// Returns the path of the file to save a body to. Called once, when the head of a response with status 200 to 299 has
/// arrived and before anything is written. ``HTTPResponse/suggestedFileName`` is a safe name within a folder of your
/// choice. Called on the network's thread: it must not block, because other transfers of the session wait meanwhile.
///
/// An empty path or one that contains NUL fails with ``SessionError/Code/invalidInput``. A relative path is resolved
/// against the current directory.
public typealias DownloadDestination = @Sendable (HTTPResponse) -> String

extension CoreOutcome {
    /// Returns the response of a successful transfer to a file; throws if the transfer failed or the status isn't
    /// acceptable.
    func downloadResponse() throws(SessionError) -> DownloadResponse {
        let answer = try dataResponse()
        do {
            if download?.resumption != .alreadyComplete { _ = try answer.serialized(by: DataResponseSerializer()) }
        } catch {
            var error = error
            error.resumeToken = download?.token
            throw error
        }
        guard let download else { throw SessionError(.unknown, message: "the transfer ended without a file") }
        var response = DownloadResponse(
            response: answer.response, filePath: download.path, fileSize: download.size,
            resumption: download.resumption, offset: download.offset)
        response.sharedTrust = trust
        return response
    }
}
