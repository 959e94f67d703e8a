// AFNetworking's API with closures. Closures are called on the completion queue, except destinations. Tasks start
// suspended and must be resumed.
extension HTTPSessionManager {
    /// Called once with the head, the path of the file and the error, each nil if there is none.
    public typealias DownloadCompletion = @Sendable (HTTPResponse?, String?, SessionError?) -> Void

    /// Makes a task that downloads to a file, like ``download(_:to:options:progress:)``.
    ///
    /// - Returns: The task. If the request is invalid, the error is reported when the task is resumed.
    public func downloadTask(
        for request: HTTPRequest, to path: String, options: DownloadOptions = .replacesFile,
        progress: ProgressHandler? = nil, completionHandler: @escaping DownloadCompletion
    ) -> DownloadTask {
        makeTask(.to(path, request, options), progress, completionHandler)
    }

    /// Makes a task that downloads to a file that is named when the head of the response arrives.
    ///
    /// - Parameter destination: Names the file; called on the network's thread. Nil uses ``downloadDestination``.
    public func downloadTask(
        for request: HTTPRequest, options: DownloadOptions = .replacesFile, progress: ProgressHandler? = nil,
        destination: DownloadDestination? = nil, completionHandler: @escaping DownloadCompletion
    ) -> DownloadTask {
        makeTask(.named(by: destination, request, options), progress, completionHandler)
    }

    /// Makes a task that resumes a download, like ``download(resuming:headers:options:progress:)``.
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
