import Dispatch
import FoundationEssentials

// AFNetworking's API with closures. Closures are called on the manager's completion executor. Every function starts its
// task, except `dataTask`.
extension HTTPSessionManager {
    /// Called once when a request succeeded, on ``completionExecutor``, by default the main queue.
    public typealias Success<Output> = @Sendable (DataTask, Output) -> Void
    /// Called once when a request failed, on ``completionExecutor``; the task is nil if the request couldn't be built.
    public typealias Failure = @Sendable (DataTask?, SessionError) -> Void
    /// Called with the progress, at most ten times a second and once at the end, before the completion. For tasks it is
    /// called on ``completionExecutor``; for awaited calls on the network thread, where it must not block.
    public typealias ProgressHandler = @Sendable (TransferProgress) -> Void

    /// Creates a task for a request, without the request serializer. Call ``SessionTask/resume()`` to start it.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - serializer: Validates the response and makes the value.
    ///   - progress: Called with snapshots of the progress.
    ///   - completionHandler: Called once on ``completionExecutor`` with response, value and error. A refused response
    ///     may have both a value and an error.
    /// - Returns: The task, which isn't started. If the request is invalid, the error is reported when the task is
    ///   resumed.
    public func dataTask<Serializer: ResponseSerializer>(
        for request: HTTPRequest,
        with serializer: Serializer = ValueResponseSerializer<JSONValue>(),
        progress: ProgressHandler? = nil,
        completionHandler: @escaping @Sendable (HTTPResponse?, Serializer.Output?, SessionError?) -> Void
    ) -> DataTask {
        makeTask(request, serializer, progress, snapshot) { _, response, value, error in
            completionHandler(response, value, error)
        }
    }

    /// Sends a request with any method, and passes the value of its response to `success`.
    ///
    /// ```swift
    /// manager.get("users", success: { task, json in print(json) }, failure: { task, error in print(error) })
    /// manager.get("users/7", with: .value(User.self), success: { task, user in … })
    /// manager.post("photos", body: .multipart { form in try form.append(jpeg, name: "image") }, …)
    /// ```
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - url: An absolute URL, or one relative to ``baseURL``: a `String` or a `URL`.
    ///   - parameters: Written by ``requestSerializer``, to the query or the body. With a multipart `body`, they are
    ///     its first fields.
    ///   - json: A value that ``encoder`` writes as the body, before this function returns.
    ///   - body: The body. Only one of `parameters`, `json` and `body` can be the body.
    ///   - headers: Replace the fields of ``headers`` with the same names.
    ///   - serializer: Validates the response and makes the value for `success`: `.json` (the default),
    ///     `.value(T.self)`, `.data`, `.string`, or any ``ResponseSerializer``.
    ///   - configure: Changes the request before its parameters are added. Called before this function returns.
    ///   - progress: Called with snapshots of the progress.
    ///   - success: Called with the task and the value.
    ///   - failure: Called with every error; nil, the default, ignores errors. If the body of a refused response could
    ///     be parsed, the value is ``SessionError/parsedBody``.
    /// - Returns: The running task; nil if the request couldn't be built.
    @discardableResult
    public func request<Serializer: ResponseSerializer>(
        _ method: HTTPMethod, _ url: some URLConvertible, parameters: Parameters? = nil,
        json: (any Encodable)? = nil,
        body: HTTPBody? = nil, headers: HTTPHeaders = [:],
        with serializer: Serializer = ValueResponseSerializer<JSONValue>(),
        configure: ((inout HTTPRequest) -> Void)? = nil, progress: ProgressHandler? = nil,
        success: @escaping Success<Serializer.Output>, failure: Failure? = nil
    ) -> DataTask? {
        start(
            { draft(method, url.urlText, headers: headers, json: json, body: body, $0, configure: configure) },
            parameters: parameters, serializer: serializer, progress: progress, success: success, failure: failure)
    }

    /// Sends a GET request; see
    /// ``request(_:_:parameters:json:body:headers:with:configure:progress:success:failure:)``.
    @discardableResult
    public func get<Serializer: ResponseSerializer>(
        _ url: some URLConvertible, parameters: Parameters? = nil, headers: HTTPHeaders = [:],
        with serializer: Serializer = ValueResponseSerializer<JSONValue>(),
        configure: ((inout HTTPRequest) -> Void)? = nil, progress: ProgressHandler? = nil,
        success: @escaping Success<Serializer.Output>, failure: Failure? = nil
    ) -> DataTask? {
        start(
            { draft(.get, url.urlText, headers: headers, $0, configure: configure) }, parameters: parameters,
            serializer: serializer, progress: progress, success: success, failure: failure)
    }

    /// Sends a HEAD request, and passes the head of its response to `success`; see
    /// ``request(_:_:parameters:json:body:headers:with:configure:progress:success:failure:)``.
    @discardableResult
    public func head(
        _ url: some URLConvertible, parameters: Parameters? = nil, headers: HTTPHeaders = [:],
        configure: ((inout HTTPRequest) -> Void)? = nil, success: @escaping Success<HTTPResponse>,
        failure: Failure? = nil
    ) -> DataTask? {
        start(
            { draft(.head, url.urlText, headers: headers, $0, configure: configure) }, parameters: parameters,
            serializer: HeadSerializer(), success: success, failure: failure)
    }

    /// Sends a POST request; see
    /// ``request(_:_:parameters:json:body:headers:with:configure:progress:success:failure:)``.
    @discardableResult
    public func post<Serializer: ResponseSerializer>(
        _ url: some URLConvertible, parameters: Parameters? = nil, json: (any Encodable)? = nil,
        body: HTTPBody? = nil,
        headers: HTTPHeaders = [:], with serializer: Serializer = ValueResponseSerializer<JSONValue>(),
        configure: ((inout HTTPRequest) -> Void)? = nil, progress: ProgressHandler? = nil,
        success: @escaping Success<Serializer.Output>, failure: Failure? = nil
    ) -> DataTask? {
        start(
            { draft(.post, url.urlText, headers: headers, json: json, body: body, $0, configure: configure) },
            parameters: parameters, serializer: serializer, progress: progress, success: success, failure: failure)
    }

    /// Sends a PUT request; see
    /// ``request(_:_:parameters:json:body:headers:with:configure:progress:success:failure:)``.
    @discardableResult
    public func put<Serializer: ResponseSerializer>(
        _ url: some URLConvertible, parameters: Parameters? = nil, json: (any Encodable)? = nil,
        body: HTTPBody? = nil,
        headers: HTTPHeaders = [:], with serializer: Serializer = ValueResponseSerializer<JSONValue>(),
        configure: ((inout HTTPRequest) -> Void)? = nil, progress: ProgressHandler? = nil,
        success: @escaping Success<Serializer.Output>, failure: Failure? = nil
    ) -> DataTask? {
        start(
            { draft(.put, url.urlText, headers: headers, json: json, body: body, $0, configure: configure) },
            parameters: parameters, serializer: serializer, progress: progress, success: success, failure: failure)
    }

    /// Sends a PATCH request; see
    /// ``request(_:_:parameters:json:body:headers:with:configure:progress:success:failure:)``.
    @discardableResult
    public func patch<Serializer: ResponseSerializer>(
        _ url: some URLConvertible, parameters: Parameters? = nil, json: (any Encodable)? = nil,
        body: HTTPBody? = nil,
        headers: HTTPHeaders = [:], with serializer: Serializer = ValueResponseSerializer<JSONValue>(),
        configure: ((inout HTTPRequest) -> Void)? = nil, progress: ProgressHandler? = nil,
        success: @escaping Success<Serializer.Output>, failure: Failure? = nil
    ) -> DataTask? {
        start(
            { draft(.patch, url.urlText, headers: headers, json: json, body: body, $0, configure: configure) },
            parameters: parameters, serializer: serializer, progress: progress, success: success, failure: failure)
    }

    /// Sends a DELETE request; see
    /// ``request(_:_:parameters:json:body:headers:with:configure:progress:success:failure:)``.
    @discardableResult
    public func delete<Serializer: ResponseSerializer>(
        _ url: some URLConvertible, parameters: Parameters? = nil, json: (any Encodable)? = nil,
        body: HTTPBody? = nil,
        headers: HTTPHeaders = [:], with serializer: Serializer = ValueResponseSerializer<JSONValue>(),
        configure: ((inout HTTPRequest) -> Void)? = nil, progress: ProgressHandler? = nil,
        success: @escaping Success<Serializer.Output>, failure: Failure? = nil
    ) -> DataTask? {
        start(
            { draft(.delete, url.urlText, headers: headers, json: json, body: body, $0, configure: configure) },
            parameters: parameters, serializer: serializer, progress: progress, success: success, failure: failure)
    }

    /// Builds and sends a request; if it can't be built, returns nil and passes the error to `failure`.
    private func start<Serializer: ResponseSerializer>(
        _ draft: (Snapshot) -> HTTPRequest, parameters: Parameters?, serializer: Serializer,
        progress: ProgressHandler? = nil,
        success: @escaping Success<Serializer.Output>, failure: Failure? = nil
    ) -> DataTask? {
        let snapshot = snapshot
        let request: HTTPRequest
        do throws(SessionError) {
            request = try serialize(draft(snapshot), parameters, snapshot)
        } catch {
            let target = CompletionTarget(snapshot.settings)
            target.enter()
            target.run { failure?(nil, error) }
            return nil
        }
        let task = makeTask(request, serializer, progress, snapshot) { task, _, value, error in
            if let error {
                failure?(task, error)
            } else if let value {
                success(task, value)
            } else {
                failure?(
                    task, SessionError(.serialization, message: "the serializer returned neither a value nor an error"))
            }
        }
        task.resume()
        return task
    }
}

extension HTTPSessionManager {
    /// Creates a task whose `completion` is called once on the completion executor, with the serializer's result.
    private func makeTask<Serializer: ResponseSerializer>(
        _ request: HTTPRequest, _ serializer: Serializer, _ progress: ProgressHandler?, _ snapshot: Snapshot,
        _ completion: @escaping @Sendable (SessionTask, HTTPResponse?, Serializer.Output?, SessionError?) -> Void
    ) -> SessionTask {
        let responses = snapshot.settings.responses
        let serializer = serializer.managed(by: responses)
        let target = CompletionTarget(snapshot.settings)
        let prepared = Result { () throws(SessionError) in
            try prepare(request, snapshot, progress: target.reporting(to: progress))
        }
        let monitors = snapshot.settings.handlers.monitors
        return makeTask(
            for: request, kind: request.body.taskKind, prepared: prepared, monitors: monitors, target: target,
            conversion: serializer.returnsBody ? .trivial : .work
        ) { task, outcome in
            RequestEvents.reportFile(of: outcome, task: task)
            let result = SerializedResult(outcome, serializer, responses)
            let error = result.error as? SessionError
            if let error { task.refuseResponse(with: error) }
            let response = outcome.response
            let report = RequestEvents.completion(
                of: task,
                TaskCompletion(
                    body: outcome.body, filePath: outcome.download?.path, value: result.value, error: error,
                    serializer: (serializer as? any WrappingSerializer)?.wrapped ?? serializer,
                    metrics: outcome.metrics))
            return {
                completion(task, response, result.value, error)
                report?()
            }
        }
    }
}

extension ResponseSerializer {
    /// Whether this is one of this module's serializers whose value is the body or the head, so that making it takes no
    /// work.
    fileprivate var returnsBody: Bool {
        if Self.self == DataResponseSerializer.self || Self.self == HeadSerializer.self { return true }
        // A serializer that wraps another one, such as one with a manager's settings, has the same output.
        guard Output.self == Data.self else { return false }
        return (self as? any WrappingSerializer)?.wrapped is DataResponseSerializer
    }
}

/// Validates the response and returns its head.
private struct HeadSerializer: ManagedSerializer, WrappingSerializer {
    var validation = ResponseValidation.default

    var wrapped: any ResponseSerializer { DataResponseSerializer(validation: validation) }

    func with(_ settings: ResponseSettings) -> HeadSerializer { HeadSerializer(validation: settings.validation) }

    func serialize(_ response: HTTPResponse, body: Data) throws -> HTTPResponse {
        _ = try wrapped.serialize(response, body: body)
        return response
    }
}

extension SerializedResult {
    /// Serializes the outcome of a transfer; a failed transfer has an error only. The error is a ``SessionError``.
    fileprivate init(
        _ outcome: CoreOutcome, _ serializer: some ResponseSerializer<Output>, _ settings: ResponseSettings
    ) {
        do throws(SessionError) {
            let response = try outcome.dataResponse(settings)
            self = serializer.result(for: response.head, body: response.body)
            guard let error else { return }
            var refusal = SessionError(serializing: error, of: response).decoded(by: settings.decoder)
            if let value { refusal.parsedBody = value }
            self.error = refusal
        } catch {
            self.init(error: error)
        }
    }
}

extension HTTPBody {
    fileprivate var taskKind: SessionTask.Kind {
        switch content {
        case .none, .data, .json, .jsonParameters, .invalid: .data
        case .file, .stream, .form: .upload
        }
    }
}
