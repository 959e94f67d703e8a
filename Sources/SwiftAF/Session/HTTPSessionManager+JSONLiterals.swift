public import FoundationEssentials

// Overloads for a JSON literal of mixed values, such as `json: ["name": name, "age": age]`, whose type in Swift isn't
// `Encodable`, and for a variable of type `Parameters`. The manager's encoder writes the values, as with any other
// `json:`; members keep their order. Callers see no difference to the other calls with `json:`, so these overloads are
// hidden from the documentation, and disfavoured so that an `Encodable` value selects the others.

// Awaited calls.
extension HTTPSessionManager {
    /// The call with a JSON literal of mixed values.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    nonisolated(nonsending) public func post<Value: Decodable>(
        _ url: some URLConvertible, parameters: Parameters? = nil, json: Parameters?,
        headers: HTTPHeaders = [:], as type: Value.Type = Value.self,
        configure: ((inout HTTPRequest) -> Void)? = nil, progress: ProgressHandler? = nil
    ) async throws(SessionError) -> Value {
        try await prepared(
            .post, url.urlText, parameters: parameters, body: json.jsonBody, headers: headers,
            configure: configure, progress: progress
        ).awaitedValue()
    }

    /// The call with a JSON literal of mixed values.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    @discardableResult
    nonisolated(nonsending) public func post(
        _ url: some URLConvertible, parameters: Parameters? = nil, json: Parameters?,
        headers: HTTPHeaders = [:],
        configure: ((inout HTTPRequest) -> Void)? = nil, progress: ProgressHandler? = nil
    ) async throws(SessionError) -> Response<Data> {
        try await post(
            url, parameters: parameters, body: json.jsonBody, headers: headers, configure: configure,
            progress: progress)
    }

    /// The call with a JSON literal of mixed values.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    nonisolated(nonsending) public func put<Value: Decodable>(
        _ url: some URLConvertible, parameters: Parameters? = nil, json: Parameters?,
        headers: HTTPHeaders = [:], as type: Value.Type = Value.self,
        configure: ((inout HTTPRequest) -> Void)? = nil, progress: ProgressHandler? = nil
    ) async throws(SessionError) -> Value {
        try await prepared(
            .put, url.urlText, parameters: parameters, body: json.jsonBody, headers: headers,
            configure: configure, progress: progress
        ).awaitedValue()
    }

    /// The call with a JSON literal of mixed values.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    @discardableResult
    nonisolated(nonsending) public func put(
        _ url: some URLConvertible, parameters: Parameters? = nil, json: Parameters?,
        headers: HTTPHeaders = [:],
        configure: ((inout HTTPRequest) -> Void)? = nil, progress: ProgressHandler? = nil
    ) async throws(SessionError) -> Response<Data> {
        try await put(
            url, parameters: parameters, body: json.jsonBody, headers: headers, configure: configure,
            progress: progress)
    }

    /// The call with a JSON literal of mixed values.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    nonisolated(nonsending) public func patch<Value: Decodable>(
        _ url: some URLConvertible, parameters: Parameters? = nil, json: Parameters?,
        headers: HTTPHeaders = [:], as type: Value.Type = Value.self,
        configure: ((inout HTTPRequest) -> Void)? = nil, progress: ProgressHandler? = nil
    ) async throws(SessionError) -> Value {
        try await prepared(
            .patch, url.urlText, parameters: parameters, body: json.jsonBody, headers: headers,
            configure: configure, progress: progress
        ).awaitedValue()
    }

    /// The call with a JSON literal of mixed values.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    @discardableResult
    nonisolated(nonsending) public func patch(
        _ url: some URLConvertible, parameters: Parameters? = nil, json: Parameters?,
        headers: HTTPHeaders = [:],
        configure: ((inout HTTPRequest) -> Void)? = nil, progress: ProgressHandler? = nil
    ) async throws(SessionError) -> Response<Data> {
        try await patch(
            url, parameters: parameters, body: json.jsonBody, headers: headers, configure: configure,
            progress: progress)
    }

    /// The call with a JSON literal of mixed values.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    nonisolated(nonsending) public func delete<Value: Decodable>(
        _ url: some URLConvertible, parameters: Parameters? = nil, json: Parameters?,
        headers: HTTPHeaders = [:], as type: Value.Type = Value.self,
        configure: ((inout HTTPRequest) -> Void)? = nil, progress: ProgressHandler? = nil
    ) async throws(SessionError) -> Value {
        try await prepared(
            .delete, url.urlText, parameters: parameters, body: json.jsonBody, headers: headers,
            configure: configure, progress: progress
        ).awaitedValue()
    }

    /// The call with a JSON literal of mixed values.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    @discardableResult
    nonisolated(nonsending) public func delete(
        _ url: some URLConvertible, parameters: Parameters? = nil, json: Parameters?,
        headers: HTTPHeaders = [:],
        configure: ((inout HTTPRequest) -> Void)? = nil, progress: ProgressHandler? = nil
    ) async throws(SessionError) -> Response<Data> {
        try await delete(
            url, parameters: parameters, body: json.jsonBody, headers: headers, configure: configure,
            progress: progress)
    }

    /// The call with a JSON literal of mixed values.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    nonisolated(nonsending) public func request<Value: Decodable>(
        _ method: HTTPMethod, _ url: some URLConvertible, parameters: Parameters? = nil, json: Parameters?,
        headers: HTTPHeaders = [:], as type: Value.Type = Value.self,
        configure: ((inout HTTPRequest) -> Void)? = nil, progress: ProgressHandler? = nil
    ) async throws(SessionError) -> Value {
        try await prepared(
            method, url.urlText, parameters: parameters, body: json.jsonBody, headers: headers,
            configure: configure, progress: progress
        ).awaitedValue()
    }

    /// The call with a JSON literal of mixed values.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    @discardableResult
    nonisolated(nonsending) public func request(
        _ method: HTTPMethod, _ url: some URLConvertible, parameters: Parameters? = nil, json: Parameters?,
        headers: HTTPHeaders = [:],
        configure: ((inout HTTPRequest) -> Void)? = nil, progress: ProgressHandler? = nil
    ) async throws(SessionError) -> Response<Data> {
        try await request(
            method, url, parameters: parameters, body: json.jsonBody, headers: headers,
            configure: configure,
            progress: progress)
    }

    /// The call with a JSON literal of mixed values.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    nonisolated(nonsending) public func response(
        _ method: HTTPMethod, _ url: some URLConvertible, parameters: Parameters? = nil, json: Parameters?,
        headers: HTTPHeaders = [:],
        configure: ((inout HTTPRequest) -> Void)? = nil, progress: ProgressHandler? = nil
    ) async throws(SessionError) -> Response<Data> {
        try await prepared(
            method, url.urlText, parameters: parameters, body: json.jsonBody, headers: headers, configure: configure,
            progress: progress
        ).awaitedResponse()
    }

    /// The call with a JSON literal of mixed values.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    public func makeRequest(
        _ method: HTTPMethod, _ url: some URLConvertible, parameters: Parameters? = nil, json: Parameters?,
        headers: HTTPHeaders = [:]
    ) throws(SessionError) -> HTTPRequest {
        try makeRequest(method, url, parameters: parameters, body: json.jsonBody, headers: headers)
    }
}

// Calls with closures.
extension HTTPSessionManager {
    /// The call with a JSON literal of mixed values.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    @discardableResult
    public func post<Serializer: ResponseSerializer>(
        _ url: some URLConvertible, parameters: Parameters? = nil, json: Parameters?,
        headers: HTTPHeaders = [:], with serializer: Serializer = ValueResponseSerializer<JSONValue>(),
        configure: ((inout HTTPRequest) -> Void)? = nil, progress: ProgressHandler? = nil,
        success: @escaping Success<Serializer.Output>, failure: Failure? = nil
    ) -> DataTask? {
        post(
            url, parameters: parameters, body: json.jsonBody, headers: headers, with: serializer,
            configure: configure, progress: progress, success: success, failure: failure)
    }

    /// The call with a JSON literal of mixed values.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    @discardableResult
    public func put<Serializer: ResponseSerializer>(
        _ url: some URLConvertible, parameters: Parameters? = nil, json: Parameters?,
        headers: HTTPHeaders = [:], with serializer: Serializer = ValueResponseSerializer<JSONValue>(),
        configure: ((inout HTTPRequest) -> Void)? = nil, progress: ProgressHandler? = nil,
        success: @escaping Success<Serializer.Output>, failure: Failure? = nil
    ) -> DataTask? {
        put(
            url, parameters: parameters, body: json.jsonBody, headers: headers, with: serializer,
            configure: configure, progress: progress, success: success, failure: failure)
    }

    /// The call with a JSON literal of mixed values.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    @discardableResult
    public func patch<Serializer: ResponseSerializer>(
        _ url: some URLConvertible, parameters: Parameters? = nil, json: Parameters?,
        headers: HTTPHeaders = [:], with serializer: Serializer = ValueResponseSerializer<JSONValue>(),
        configure: ((inout HTTPRequest) -> Void)? = nil, progress: ProgressHandler? = nil,
        success: @escaping Success<Serializer.Output>, failure: Failure? = nil
    ) -> DataTask? {
        patch(
            url, parameters: parameters, body: json.jsonBody, headers: headers, with: serializer,
            configure: configure, progress: progress, success: success, failure: failure)
    }

    /// The call with a JSON literal of mixed values.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    @discardableResult
    public func delete<Serializer: ResponseSerializer>(
        _ url: some URLConvertible, parameters: Parameters? = nil, json: Parameters?,
        headers: HTTPHeaders = [:], with serializer: Serializer = ValueResponseSerializer<JSONValue>(),
        configure: ((inout HTTPRequest) -> Void)? = nil, progress: ProgressHandler? = nil,
        success: @escaping Success<Serializer.Output>, failure: Failure? = nil
    ) -> DataTask? {
        delete(
            url, parameters: parameters, body: json.jsonBody, headers: headers, with: serializer,
            configure: configure, progress: progress, success: success, failure: failure)
    }

    /// The call with a JSON literal of mixed values.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    @discardableResult
    public func request<Serializer: ResponseSerializer>(
        _ method: HTTPMethod, _ url: some URLConvertible, parameters: Parameters? = nil, json: Parameters?,
        headers: HTTPHeaders = [:], with serializer: Serializer = ValueResponseSerializer<JSONValue>(),
        configure: ((inout HTTPRequest) -> Void)? = nil, progress: ProgressHandler? = nil,
        success: @escaping Success<Serializer.Output>, failure: Failure? = nil
    ) -> DataTask? {
        request(
            method, url, parameters: parameters, body: json.jsonBody, headers: headers, with: serializer,
            configure: configure, progress: progress, success: success, failure: failure)
    }
}

extension Parameters? {
    /// The body of an argument `json:`; nil without one.
    fileprivate var jsonBody: HTTPBody? { unlessNull.map { .json($0) } }
}
