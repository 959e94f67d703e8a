import Dispatch
import FoundationEssentials

// AFNetworking's API with closures. Closures are called on the completion queue. Every task is started, except those of
// `dataTask`.
extension HTTPSessionManager {
    /// Called when a request succeeded.
    public typealias Success<Output> = @Sendable (DataTask, Output) -> Void
    /// Called when a request failed; the task is nil if the request couldn't be built.
    public typealias Failure = @Sendable (DataTask?, SessionError) -> Void
    /// Called with the progress, at most ten times a second and once at the end, before the completion.
    public typealias ProgressHandler = @Sendable (TransferProgress) -> Void

    /// Makes a task for a request, without the request serializer. Call ``SessionTask/resume()`` to start it.
    ///
    /// - Parameters:
    ///   - serializer: Validates the response and makes the value.
    ///   - completionHandler: Called once on the completion queue with response, value and error. A refused response
    ///     may have both a value and an error.
    /// - Returns: The task. If the request is invalid, the error is reported when the task is resumed.
    public func dataTask<Serializer: ResponseSerializer>(
        for request: HTTPRequest,
        with serializer: Serializer = JSONResponseSerializer(),
        progress: ProgressHandler? = nil,
        completionHandler: @escaping @Sendable (HTTPResponse?, Serializer.Output?, SessionError?) -> Void
    ) -> DataTask {
        makeTask(request, serializer, progress, snapshot) { _, response, value, error in
            completionHandler(response, value, error)
        }
    }

    /// Serializes, sends and parses a request with any method.
    ///
    /// - Parameters:
    ///   - serializer: Validates the response and makes the value for `success`.
    ///   - failure: Called with every error. If the body of a refused response could be parsed, the value is
    ///     ``SessionError/parsedBody``.
    /// - Returns: The running task; nil if the parameters couldn't be serialized.
    @discardableResult
    public func request<Output>(
        _ method: HTTPMethod, _ url: String, parameters: Parameters? = nil, headers: HTTPHeaders = [:],
        with serializer: some ResponseSerializer<Output>, progress: ProgressHandler? = nil,
        success: Success<Output>?, failure: Failure?
    ) -> DataTask? {
        let snapshot = snapshot
        return start(serializer, progress, success, failure, snapshot) { () throws(SessionError) in
            try serialize(method, url, parameters, headers, snapshot)
        }
    }

    /// Sends the request of `makeRequest`; if that throws, returns nil and passes the error to `failure`.
    func start<Output>(
        _ serializer: some ResponseSerializer<Output>, _ progress: ProgressHandler?, _ success: Success<Output>?,
        _ failure: Failure?, _ snapshot: Snapshot, _ makeRequest: () throws(SessionError) -> HTTPRequest
    ) -> DataTask? {
        let request: HTTPRequest
        do throws(SessionError) {
            request = try makeRequest()
        } catch {
            CompletionTarget(snapshot.settings).queue.async { failure?(nil, error) }
            return nil
        }
        let task = makeTask(request, serializer, progress, snapshot) { task, _, value, error in
            if let error {
                failure?(task, error)
            } else if let value {
                success?(task, value)
            }
        }
        task.resume()
        return task
    }

    /// Serializes and sends a request with any method, and decodes the response's body.
    ///
    /// - Parameters:
    ///   - type: The type of the value: any `Decodable`, ``JSONValue``, `Data` or `String`; see
    ///     ``responseSerializer``.
    @discardableResult
    public func request<Value: Decodable & Sendable>(
        _ method: HTTPMethod, _ url: String, parameters: Parameters? = nil, headers: HTTPHeaders = [:],
        as type: Value.Type, progress: ProgressHandler? = nil, success: Success<Value>?, failure: Failure?
    ) -> DataTask? {
        request(
            method, url, parameters: parameters, headers: headers,
            with: StandardSerializer<Value>(preferring: responseSerializer), progress: progress, success: success,
            failure: failure)
    }

    /// Sends a GET request and parses the response as JSON. Parameters are added to the query.
    @discardableResult
    public func get(
        _ url: String, parameters: Parameters? = nil, headers: HTTPHeaders = [:], progress: ProgressHandler? = nil,
        success: Success<JSONValue>?, failure: Failure?
    ) -> DataTask? {
        request(
            .get, url, parameters: parameters, headers: headers, as: JSONValue.self, progress: progress,
            success: success, failure: failure)
    }

    /// Sends a HEAD request. Parameters are added to the query.
    @discardableResult
    public func head(
        _ url: String, parameters: Parameters? = nil, headers: HTTPHeaders = [:],
        success: Success<HTTPResponse>?, failure: Failure?
    ) -> DataTask? {
        request(
            .head, url, parameters: parameters, headers: headers, with: HeadSerializer(), success: success,
            failure: failure)
    }

    /// Sends parameters with POST and parses the response as JSON.
    @discardableResult
    public func post(
        _ url: String, parameters: Parameters? = nil, headers: HTTPHeaders = [:], progress: ProgressHandler? = nil,
        success: Success<JSONValue>?, failure: Failure?
    ) -> DataTask? {
        request(
            .post, url, parameters: parameters, headers: headers, as: JSONValue.self, progress: progress,
            success: success, failure: failure)
    }

    /// Sends parameters with PUT and parses the response as JSON.
    @discardableResult
    public func put(
        _ url: String, parameters: Parameters? = nil, headers: HTTPHeaders = [:], progress: ProgressHandler? = nil,
        success: Success<JSONValue>?, failure: Failure?
    ) -> DataTask? {
        request(
            .put, url, parameters: parameters, headers: headers, as: JSONValue.self, progress: progress,
            success: success, failure: failure)
    }

    /// Sends parameters with PATCH and parses the response as JSON.
    @discardableResult
    public func patch(
        _ url: String, parameters: Parameters? = nil, headers: HTTPHeaders = [:], progress: ProgressHandler? = nil,
        success: Success<JSONValue>?, failure: Failure?
    ) -> DataTask? {
        request(
            .patch, url, parameters: parameters, headers: headers, as: JSONValue.self, progress: progress,
            success: success, failure: failure)
    }

    /// Sends a DELETE request and parses the response as JSON. Parameters are added to the query.
    @discardableResult
    public func delete(
        _ url: String, parameters: Parameters? = nil, headers: HTTPHeaders = [:], progress: ProgressHandler? = nil,
        success: Success<JSONValue>?, failure: Failure?
    ) -> DataTask? {
        request(
            .delete, url, parameters: parameters, headers: headers, as: JSONValue.self, progress: progress,
            success: success, failure: failure)
    }
}

// The same, for a given type.
extension HTTPSessionManager {
    /// Sends a GET request and decodes the response; see
    /// ``request(_:_:parameters:headers:as:progress:success:failure:)``.
    @discardableResult
    public func get<Value: Decodable & Sendable>(
        _ url: String, parameters: Parameters? = nil, headers: HTTPHeaders = [:], as type: Value.Type,
        progress: ProgressHandler? = nil, success: Success<Value>?, failure: Failure?
    ) -> DataTask? {
        request(
            .get, url, parameters: parameters, headers: headers, as: type, progress: progress, success: success,
            failure: failure)
    }

    /// Sends parameters with POST and decodes the response; see
    /// ``request(_:_:parameters:headers:as:progress:success:failure:)``.
    @discardableResult
    public func post<Value: Decodable & Sendable>(
        _ url: String, parameters: Parameters? = nil, headers: HTTPHeaders = [:], as type: Value.Type,
        progress: ProgressHandler? = nil, success: Success<Value>?, failure: Failure?
    ) -> DataTask? {
        request(
            .post, url, parameters: parameters, headers: headers, as: type, progress: progress, success: success,
            failure: failure)
    }

    /// Sends parameters with PUT and decodes the response; see
    /// ``request(_:_:parameters:headers:as:progress:success:failure:)``.
    @discardableResult
    public func put<Value: Decodable & Sendable>(
        _ url: String, parameters: Parameters? = nil, headers: HTTPHeaders = [:], as type: Value.Type,
        progress: ProgressHandler? = nil, success: Success<Value>?, failure: Failure?
    ) -> DataTask? {
        request(
            .put, url, parameters: parameters, headers: headers, as: type, progress: progress, success: success,
            failure: failure)
    }

    /// Sends parameters with PATCH and decodes the response; see
    /// ``request(_:_:parameters:headers:as:progress:success:failure:)``.
    @discardableResult
    public func patch<Value: Decodable & Sendable>(
        _ url: String, parameters: Parameters? = nil, headers: HTTPHeaders = [:], as type: Value.Type,
        progress: ProgressHandler? = nil, success: Success<Value>?, failure: Failure?
    ) -> DataTask? {
        request(
            .patch, url, parameters: parameters, headers: headers, as: type, progress: progress, success: success,
            failure: failure)
    }

    /// Sends a DELETE request and decodes the response; see
    /// ``request(_:_:parameters:headers:as:progress:success:failure:)``.
    @discardableResult
    public func delete<Value: Decodable & Sendable>(
        _ url: String, parameters: Parameters? = nil, headers: HTTPHeaders = [:], as type: Value.Type,
        progress: ProgressHandler? = nil, success: Success<Value>?, failure: Failure?
    ) -> DataTask? {
        request(
            .delete, url, parameters: parameters, headers: headers, as: type, progress: progress, success: success,
            failure: failure)
    }
}

extension HTTPSessionManager {
    private func makeTask<Output>(
        _ request: HTTPRequest, _ serializer: some ResponseSerializer<Output>, _ progress: ProgressHandler?,
        _ snapshot: Snapshot,
        _ completion: @escaping @Sendable (SessionTask, HTTPResponse?, Output?, SessionError?) -> Void
    ) -> SessionTask {
        let target = CompletionTarget(snapshot.settings)
        let prepared = Result { () throws(SessionError) in
            try prepare(request, snapshot, progress: target.reporting(to: progress))
        }
        let monitors = snapshot.settings.handlers.monitors
        return makeTask(request, request.body.taskKind, prepared, monitors, target) { task, outcome in
            outcome.reportFile(of: task)
            let result = SerializedResult(outcome, serializer)
            let error = result.error as? SessionError
            let response = outcome.response
            // Built only if there are observers.
            let observed =
                !ProcessEvents.isObserved
                ? nil
                : TaskCompletion(
                    body: outcome.body, filePath: outcome.download?.path, value: result.value, error: error,
                    serializer: (serializer as? any WrappingSerializer)?.wrapped ?? serializer,
                    metrics: outcome.metrics)
            return {
                completion(task, response, result.value, error)
                if let observed { ProcessEvents.report(.taskCompleted(task, observed)) }
            }
        }
    }
}

/// Validates the response and returns its head.
private struct HeadSerializer: WrappingSerializer {
    var wrapped: any ResponseSerializer { DataResponseSerializer() }

    func serialize(_ response: HTTPResponse, body: Data) throws -> HTTPResponse {
        _ = try wrapped.serialize(response, body: body)
        return response
    }
}

extension SerializedResult {
    /// The result of a serializer, or of a failed transfer; the error is a ``SessionError``.
    fileprivate init(_ outcome: CoreOutcome, _ serializer: some ResponseSerializer<Output>) {
        do throws(SessionError) {
            let response = try outcome.dataResponse()
            self = serializer.result(for: response.response, body: response.body)
            guard let error else { return }
            var refusal = SessionError(serializing: error, of: response)
            refusal.parsedBody = value
            self.error = refusal
        } catch {
            self.init(error: error)
        }
    }
}

extension HTTPBody {
    fileprivate var taskKind: SessionTask.Kind {
        switch content {
        case .none, .data: .data
        case .file, .stream, .form: .upload
        }
    }
}
