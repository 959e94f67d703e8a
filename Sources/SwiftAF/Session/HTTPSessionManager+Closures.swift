import Dispatch
import FoundationEssentials

// AFNetworking's form. Closures are called on the completion queue; every task made here is started, but for
// `dataTask`.
extension HTTPSessionManager {
    /// Called when a request succeeded.
    public typealias Success<Output> = @Sendable (DataTask, Output) -> Void
    /// Called when a request failed; without a task if none could be made.
    public typealias Failure = @Sendable (DataTask?, SessionError) -> Void
    /// Called with snapshots, at most ten times a second and once at the end, before the completion.
    public typealias ProgressHandler = @Sendable (TransferProgress) -> Void

    /// Makes a task for a request as it is; it must be resumed. The request serializer is not asked.
    ///
    /// - Parameters:
    ///   - serializer: Makes the value.
    ///   - completionHandler: Called once on the completion queue: response, value and error. A refused response may
    ///     give a value and an error.
    /// - Returns: The task. If it can't be sent its error comes when it is resumed.
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
    ///   - serializer: Makes the value that success is given.
    ///   - failure: Called for every failure. If the body of a refused response could be parsed, its value is the
    ///     error's ``SessionError/parsedBody``.
    /// - Returns: The task, which is running; nil if the parameters could not be serialized.
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

    /// Sends what `makeRequest` makes; if it throws there is no task, and its error goes to `failure`.
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
    ///   - type: What success is given: any `Decodable`, ``JSONValue``, `Data` or `String`, by the rule of
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

    /// Gets JSON. Parameters go into the query.
    @discardableResult
    public func get(
        _ url: String, parameters: Parameters? = nil, headers: HTTPHeaders = [:], progress: ProgressHandler? = nil,
        success: Success<JSONValue>?, failure: Failure?
    ) -> DataTask? {
        request(
            .get, url, parameters: parameters, headers: headers, as: JSONValue.self, progress: progress,
            success: success, failure: failure)
    }

    /// Asks for the head of a response. Parameters go into the query.
    @discardableResult
    public func head(
        _ url: String, parameters: Parameters? = nil, headers: HTTPHeaders = [:],
        success: Success<HTTPResponse>?, failure: Failure?
    ) -> DataTask? {
        request(
            .head, url, parameters: parameters, headers: headers, with: HeadSerializer(), success: success,
            failure: failure)
    }

    /// Posts parameters and gets JSON.
    @discardableResult
    public func post(
        _ url: String, parameters: Parameters? = nil, headers: HTTPHeaders = [:], progress: ProgressHandler? = nil,
        success: Success<JSONValue>?, failure: Failure?
    ) -> DataTask? {
        request(
            .post, url, parameters: parameters, headers: headers, as: JSONValue.self, progress: progress,
            success: success, failure: failure)
    }

    /// Puts parameters and gets JSON.
    @discardableResult
    public func put(
        _ url: String, parameters: Parameters? = nil, headers: HTTPHeaders = [:], progress: ProgressHandler? = nil,
        success: Success<JSONValue>?, failure: Failure?
    ) -> DataTask? {
        request(
            .put, url, parameters: parameters, headers: headers, as: JSONValue.self, progress: progress,
            success: success, failure: failure)
    }

    /// Patches with parameters and gets JSON.
    @discardableResult
    public func patch(
        _ url: String, parameters: Parameters? = nil, headers: HTTPHeaders = [:], progress: ProgressHandler? = nil,
        success: Success<JSONValue>?, failure: Failure?
    ) -> DataTask? {
        request(
            .patch, url, parameters: parameters, headers: headers, as: JSONValue.self, progress: progress,
            success: success, failure: failure)
    }

    /// Deletes and gets JSON. Parameters go into the query.
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

// The same for a type that is named.
extension HTTPSessionManager {
    /// Gets a value. See ``request(_:_:parameters:headers:as:progress:success:failure:)``.
    @discardableResult
    public func get<Value: Decodable & Sendable>(
        _ url: String, parameters: Parameters? = nil, headers: HTTPHeaders = [:], as type: Value.Type,
        progress: ProgressHandler? = nil, success: Success<Value>?, failure: Failure?
    ) -> DataTask? {
        request(
            .get, url, parameters: parameters, headers: headers, as: type, progress: progress, success: success,
            failure: failure)
    }

    /// Posts parameters and gets a value. See ``request(_:_:parameters:headers:as:progress:success:failure:)``.
    @discardableResult
    public func post<Value: Decodable & Sendable>(
        _ url: String, parameters: Parameters? = nil, headers: HTTPHeaders = [:], as type: Value.Type,
        progress: ProgressHandler? = nil, success: Success<Value>?, failure: Failure?
    ) -> DataTask? {
        request(
            .post, url, parameters: parameters, headers: headers, as: type, progress: progress, success: success,
            failure: failure)
    }

    /// Puts parameters and gets a value. See ``request(_:_:parameters:headers:as:progress:success:failure:)``.
    @discardableResult
    public func put<Value: Decodable & Sendable>(
        _ url: String, parameters: Parameters? = nil, headers: HTTPHeaders = [:], as type: Value.Type,
        progress: ProgressHandler? = nil, success: Success<Value>?, failure: Failure?
    ) -> DataTask? {
        request(
            .put, url, parameters: parameters, headers: headers, as: type, progress: progress, success: success,
            failure: failure)
    }

    /// Patches with parameters and gets a value. See ``request(_:_:parameters:headers:as:progress:success:failure:)``.
    @discardableResult
    public func patch<Value: Decodable & Sendable>(
        _ url: String, parameters: Parameters? = nil, headers: HTTPHeaders = [:], as type: Value.Type,
        progress: ProgressHandler? = nil, success: Success<Value>?, failure: Failure?
    ) -> DataTask? {
        request(
            .patch, url, parameters: parameters, headers: headers, as: type, progress: progress, success: success,
            failure: failure)
    }

    /// Deletes and gets a value. See ``request(_:_:parameters:headers:as:progress:success:failure:)``.
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
            // Nothing is kept for observers if there are none.
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

/// The head alone, if it is acceptable.
private struct HeadSerializer: WrappingSerializer {
    var wrapped: any ResponseSerializer { DataResponseSerializer() }

    func serialize(_ response: HTTPResponse, body: Data) throws -> HTTPResponse {
        _ = try wrapped.serialize(response, body: body)
        return response
    }
}

extension SerializedResult {
    /// What a serializer makes of a transfer that may have failed; its error is a ``SessionError``.
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
