// AFNetworking's form. Closures are called on the completion queue, but for destinations. Tasks must be resumed.
extension HTTPSessionManager {
    /// Called once with the head, if one came, the place of the file, if it is there, and the error.
    public typealias DownloadCompletion = @Sendable (HTTPResponse?, String?, SessionError?) -> Void

    /// Makes a task that downloads into a file, as ``download(_:to:options:progress:)`` does.
    ///
    /// - Returns: The task. If the request is invalid, the error is reported when the task is resumed.
    public func downloadTask(
        for request: HTTPRequest, to path: String, options: DownloadOptions = .replacesFile,
        progress: ProgressHandler? = nil, completionHandler: @escaping DownloadCompletion
    ) -> DownloadTask {
        makeTask(.to(path, request, options), progress, completionHandler)
    }

    /// Makes a task that downloads into a file which is named when the head of the response is there.
    ///
    /// - Parameter destination: Names the file, on the network's thread; nil for ``downloadDestination``.
    public func downloadTask(
        for request: HTTPRequest, options: DownloadOptions = .replacesFile, progress: ProgressHandler? = nil,
        destination: DownloadDestination? = nil, completionHandler: @escaping DownloadCompletion
    ) -> DownloadTask {
        makeTask(.named(by: destination, request, options), progress, completionHandler)
    }

    /// Makes a task that goes on with a download, as ``download(resuming:headers:options:progress:)`` does.
    public func downloadTask(
        resuming token: ResumeToken, headers: HTTPHeaders = [:],
        options: DownloadOptions = [.replacesFile, .keepsPartialFile], progress: ProgressHandler? = nil,
        completionHandler: @escaping DownloadCompletion
    ) -> DownloadTask {
        makeTask(.resuming(token, headers, options), progress, completionHandler)
    }

    private func makeTask(
        _ spec: DownloadSpec, _ progress: ProgressHandler?, _ completion: @escaping DownloadCompletion
    ) -> DownloadTask {
        let snapshot = snapshot
        let target = CompletionTarget(snapshot.settings)
        let request = Result { () throws(SessionError) in
            try prepare(spec, snapshot, target.reporting(to: progress))
        }
        let monitors = snapshot.settings.handlers.monitors
        return makeTask(spec.request, .download, request, monitors, target) { task, outcome in
            outcome.reportFile(of: task)
            let error = outcome.downloadError
            let (response, filePath) = (outcome.response, outcome.filePath)
            let observed =
                !ProcessEvents.isObserved
                ? nil
                : TaskCompletion(
                    body: outcome.body, filePath: outcome.download?.path ?? spec.file.path, error: error,
                    serializer: DataResponseSerializer(), metrics: outcome.metrics)
            return {
                completion(response, filePath, error)
                if let observed { ProcessEvents.report(.taskCompleted(task, observed)) }
            }
        }
    }
}

extension CoreOutcome {
    fileprivate var downloadError: SessionError? {
        do throws(SessionError) {
            _ = try downloadResponse()
            return nil
        } catch {
            return error
        }
    }
}
