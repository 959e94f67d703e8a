public import FoundationEssentials

// AFNetworking's API with closures. Closures are called on the completion executor, except those of destinations, which
// are called on the network thread. Tasks are created suspended and must be resumed.
extension HTTPSessionManager {
    /// Called once with the head, the path of the file and the error, on ``completionExecutor``. Each is nil when it
    /// doesn't apply.
    public typealias DownloadCompletion = @Sendable (HTTPResponse?, String?, SessionError?) -> Void

    /// Creates a task that downloads to a file, like `download(_:to:options:progress:)`.
    ///
    /// - Returns: The task. If the request is invalid, the error is reported when the task is resumed.
    public func downloadTask<Source: RequestConvertible>(
        for source: Source, to destination: DownloadDestination = .managerDefault,
        options: DownloadOptions = [], progress: ProgressHandler? = nil,
        completionHandler: @escaping DownloadCompletion
    ) -> DownloadTask {
        makeTask(DownloadSpec(source, destination, options), progress, completionHandler)
    }

    /// Creates a task that downloads to the file at a path, like ``download(_:to:options:progress:)-(_,String,_,_)``.
    public func downloadTask<Source: RequestConvertible>(
        for source: Source, to path: String, options: DownloadOptions = [],
        progress: ProgressHandler? = nil, completionHandler: @escaping DownloadCompletion
    ) -> DownloadTask {
        makeTask(DownloadSpec(source, .path(path), options), progress, completionHandler)
    }

    /// Creates a task that downloads to the file of a file URL, like ``download(_:to:options:progress:)-(_,URL,_,_)``.
    public func downloadTask<Source: RequestConvertible>(
        for source: Source, to file: URL, options: DownloadOptions = [],
        progress: ProgressHandler? = nil, completionHandler: @escaping DownloadCompletion
    ) -> DownloadTask {
        makeTask(DownloadSpec(source, .path(file), options), progress, completionHandler)
    }

    private func makeTask(
        _ spec: DownloadSpec, _ progress: ProgressHandler?, _ completion: @escaping DownloadCompletion
    ) -> DownloadTask {
        let snapshot = snapshot
        let target = CompletionTarget(snapshot.settings)
        let request = Result { () throws(SessionError) in
            try prepare(spec, snapshot, target.reporting(to: progress))
        }
        let (monitors, responses) = (snapshot.settings.handlers.monitors, snapshot.settings.responses)
        return makeTask(
            for: spec.request, kind: .download, prepared: request, monitors: monitors, target: target
        ) { task, outcome in
            RequestEvents.reportFile(of: outcome, task: task)
            let error = outcome.downloadError(responses)
            if let error { task.refuseResponse(with: error) }
            let (response, filePath) = (outcome.response, outcome.filePath)
            let report = RequestEvents.completion(
                of: task,
                TaskCompletion(
                    body: outcome.body, filePath: outcome.download?.path ?? spec.file.path, error: error,
                    serializer: DataResponseSerializer(), metrics: outcome.metrics))
            return {
                completion(response, filePath, error)
                report?()
            }
        }
    }
}
