/// A response whose body went into a file.
public struct DownloadResponse: Sendable {
    /// What became of a partial file that was there.
    public enum Resumption: Hashable, Sendable {
        /// There was none, or it was not asked for.
        case none
        /// The body was appended to it.
        case continued
        /// It was of no use, and all came anew.
        case restarted
        /// It was all there already; the response is a 416.
        case alreadyComplete
    }

    /// The head of the answer, after redirects.
    public var response: HTTPResponse
    /// Where the file is.
    public var filePath: String
    /// In bytes.
    public var fileSize: Int64
    /// What became of a partial file that was there.
    public var resumption: Resumption
    /// Bytes that were there before and were kept.
    public var offset: Int64

    /// What the server has shown of itself, if ``HTTPRequest/reportsTrust`` asked for it and the answer came over TLS.
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

    /// The status code: 206 of a download that went on.
    public var status: Int { response.status }
}

/// Names the file that a body goes to, when the head of a response with a status of 200 to 299 is there and before
/// anything is written; ``HTTPResponse/suggestedFileName`` is a safe name in a folder of yours. Called once on the
/// network's thread, so it must not block: other transfers of the session wait meanwhile.
///
/// An empty path, and one with NUL in it, is ``SessionError/Code/invalidInput``. A relative one counts from the current
/// folder.
public typealias DownloadDestination = @Sendable (HTTPResponse) -> String

extension CoreOutcome {
    /// The response of a transfer into a file that did not fail, if its status is acceptable.
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
