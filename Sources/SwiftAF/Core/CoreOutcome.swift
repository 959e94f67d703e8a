import FoundationEssentials

/// The outcome of a task as Swift values.
struct CoreOutcome: Sendable {
    /// The head of the final response, if one was received, also if the transfer failed after it.
    var response: HTTPResponse?
    /// The body that was collected in memory.
    var body = Data()
    /// The error of the transfer; nil on success.
    var failure: SessionError?
    /// The file of a transfer to a file; nil for other transfers.
    var download: CoreDownload?
    /// The server's certificates and their evaluation, if requested.
    var trust: SharedTrustReport?

    /// The metrics up to the end of the transfer.
    var metrics: ResponseMetrics {
        response?.metrics ?? failure?.metrics ?? ResponseMetrics()
    }

    /// The path of the file that the body was saved to; nil if there is none or the file isn't complete.
    var filePath: String? {
        guard let download, failure == nil, download.isComplete else { return nil }
        return download.path
    }
}

extension CoreOutcome {
    /// Makes the outcome of a transfer that didn't start or was abandoned.
    init(failure: SessionError) {
        self.init(response: failure.response, failure: failure)
    }
}

// MARK: Responses

extension CoreOutcome {
    /// Returns the response, or throws the transfer's error. ``SessionError/decodeBody(as:decoder:)`` of that error
    /// uses the decoder of the settings.
    func dataResponse(_ settings: ResponseSettings? = nil) throws(SessionError) -> Response<Data> {
        if let failure {
            guard let settings, failure.body != nil else { throw failure }
            throw failure.decoded(by: settings.decoder)
        }
        guard let head = response else { throw .noResponse() }
        var response = Response(head: head, body: body, filePath: filePath)
        response.sharedTrust = trust
        return response
    }

    /// Returns the response of a transfer without a ``SessionTask``, and reports its file to observers of the process;
    /// throws the transfer's error.
    ///
    /// - Parameter isChecked: Whether to throw if the response isn't acceptable.
    func reportedResponse(_ settings: ResponseSettings, isChecked: Bool) throws(SessionError) -> Response<Data> {
        RequestEvents.reportFile(of: self)
        var response = try dataResponse(settings)
        response.settings = settings
        if isChecked { try response.validated() }
        return response
    }

    /// Returns the response of a successful transfer to a file; throws if the transfer failed, the status isn't
    /// acceptable, or the body isn't in the file.
    func downloadResponse(_ settings: ResponseSettings) throws(SessionError) -> DownloadResponse {
        var response = try dataResponse(settings)
        response.settings = settings
        do throws(SessionError) {
            // A response whose body is in the file was validated when its head arrived, before the file was replaced.
            if filePath == nil {
                try response.validated()
                guard !response.head.isSuccessful || download != nil else {
                    throw SessionError(
                        .invalidInput, message: "the response to a HEAD request has no body to save",
                        response: response.head)
                }
                throw SessionError(
                    .status,
                    message: "status \(response.status): only the body of a response with status 200 to 299 is saved",
                    response: response.head, body: response.body)
            }
        } catch {
            var error = error
            error.resumeToken = download?.token
            throw error
        }
        guard let download else { throw SessionError(.unknown, message: "the transfer ended without a file") }
        var saved = DownloadResponse(
            head: response.head, filePath: download.path, fileSize: download.size,
            resumption: download.resumption, offset: download.offset)
        saved.sharedTrust = trust
        return saved
    }

    /// Returns the error that ``downloadResponse(_:)`` throws; nil if that returns a response.
    func downloadError(_ settings: ResponseSettings) -> SessionError? {
        do throws(SessionError) {
            _ = try downloadResponse(settings)
            return nil
        } catch {
            return error
        }
    }
}
