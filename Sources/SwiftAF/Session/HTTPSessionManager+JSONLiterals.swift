public import FoundationEssentials

// JSON literals of mixed values, such as `json: ["name": name, "age": age]`. Swift has no type for them that is `Encodable`;
// such a literal can be ``Parameters``, though. Callers see no difference to the other calls with `json:`, so the
// documentation shows both as one call.
extension HTTPSessionManager {
    /// The call with a JSON literal of mixed values.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    public func post<Value: Decodable>(
        _ url: some URLConvertible, json: Parameters, headers: HTTPHeaders = [:],
        as type: Value.Type = Value.self, isolation: isolated (any Actor)? = #isolation,
        configure: ((inout HTTPRequest) -> Void)? = nil, progress: ProgressHandler? = nil
    ) async throws(SessionError) -> Value {
        try await post(
            url, body: .json(json), headers: headers, as: type, configure: configure, progress: progress)
    }

    /// The call with a JSON literal of mixed values.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    @discardableResult
    public func post(
        _ url: some URLConvertible, json: Parameters, headers: HTTPHeaders = [:],
        isolation: isolated (any Actor)? = #isolation, configure: ((inout HTTPRequest) -> Void)? = nil,
        progress: ProgressHandler? = nil
    ) async throws(SessionError) -> Response<Data> {
        try await post(url, body: .json(json), headers: headers, configure: configure, progress: progress)
    }

    /// The call with a JSON literal of mixed values.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    public func put<Value: Decodable>(
        _ url: some URLConvertible, json: Parameters, headers: HTTPHeaders = [:],
        as type: Value.Type = Value.self, isolation: isolated (any Actor)? = #isolation,
        configure: ((inout HTTPRequest) -> Void)? = nil, progress: ProgressHandler? = nil
    ) async throws(SessionError) -> Value {
        try await put(
            url, body: .json(json), headers: headers, as: type, configure: configure, progress: progress)
    }

    /// The call with a JSON literal of mixed values.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    @discardableResult
    public func put(
        _ url: some URLConvertible, json: Parameters, headers: HTTPHeaders = [:],
        isolation: isolated (any Actor)? = #isolation, configure: ((inout HTTPRequest) -> Void)? = nil,
        progress: ProgressHandler? = nil
    ) async throws(SessionError) -> Response<Data> {
        try await put(url, body: .json(json), headers: headers, configure: configure, progress: progress)
    }

    /// The call with a JSON literal of mixed values.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    public func patch<Value: Decodable>(
        _ url: some URLConvertible, json: Parameters, headers: HTTPHeaders = [:],
        as type: Value.Type = Value.self, isolation: isolated (any Actor)? = #isolation,
        configure: ((inout HTTPRequest) -> Void)? = nil, progress: ProgressHandler? = nil
    ) async throws(SessionError) -> Value {
        try await patch(
            url, body: .json(json), headers: headers, as: type, configure: configure, progress: progress)
    }

    /// The call with a JSON literal of mixed values.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    @discardableResult
    public func patch(
        _ url: some URLConvertible, json: Parameters, headers: HTTPHeaders = [:],
        isolation: isolated (any Actor)? = #isolation, configure: ((inout HTTPRequest) -> Void)? = nil,
        progress: ProgressHandler? = nil
    ) async throws(SessionError) -> Response<Data> {
        try await patch(url, body: .json(json), headers: headers, configure: configure, progress: progress)
    }

    /// The call with a JSON literal of mixed values.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    public func request<Value: Decodable>(
        _ method: HTTPMethod, _ url: some URLConvertible, json: Parameters, headers: HTTPHeaders = [:],
        as type: Value.Type = Value.self, isolation: isolated (any Actor)? = #isolation,
        configure: ((inout HTTPRequest) -> Void)? = nil, progress: ProgressHandler? = nil
    ) async throws(SessionError) -> Value {
        try await request(
            method, url, body: .json(json), headers: headers, as: type, configure: configure, progress: progress)
    }

    /// The call with a JSON literal of mixed values.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    @discardableResult
    public func request(
        _ method: HTTPMethod, _ url: some URLConvertible, json: Parameters, headers: HTTPHeaders = [:],
        isolation: isolated (any Actor)? = #isolation, configure: ((inout HTTPRequest) -> Void)? = nil,
        progress: ProgressHandler? = nil
    ) async throws(SessionError) -> Response<Data> {
        try await request(method, url, body: .json(json), headers: headers, configure: configure, progress: progress)
    }
}
