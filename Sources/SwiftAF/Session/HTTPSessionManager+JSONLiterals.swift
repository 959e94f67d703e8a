public import FoundationEssentials

/// A JSON literal of mixed values, such as `json: ["name": name, "age": age]`, for which Swift has no type that is
/// `Encodable`. The manager's encoder writes its values, like those of any other `json:`; the members keep their order.
///
/// Callers see no difference to the other calls with `json:`, so the documentation shows both as one call.
@_documentation(visibility: internal)
public struct MixedJSON: ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral {
    private enum Content {
        case members([(String, Any?)])
        case elements([Any?])
    }

    private let content: Content

    public init(dictionaryLiteral members: (String, Any?)...) {
        content = .members(members)
    }

    public init(arrayLiteral elements: Any?...) {
        content = .elements(elements)
    }

    func body(by encoder: any DataEncoder) -> HTTPBody {
        switch content {
        case .members(let members):
            .json(Parameters(members.map { ($0, Parameters.make(of: $1, at: $0, by: encoder)) }))
        case .elements(let elements): .json(Parameters.make(of: elements, at: nil, by: encoder))
        }
    }
}

extension HTTPSessionManager {
    /// The call with a JSON literal of mixed values.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    public func post<Value: Decodable>(
        _ url: some URLConvertible, json: MixedJSON, headers: HTTPHeaders = [:],
        as type: Value.Type = Value.self, isolation: isolated (any Actor)? = #isolation,
        configure: ((inout HTTPRequest) -> Void)? = nil, progress: ProgressHandler? = nil
    ) async throws(SessionError) -> Value {
        try await post(
            url, body: json.body(by: encoder), headers: headers, as: type, configure: configure, progress: progress)
    }

    /// The call with a JSON literal of mixed values.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    @discardableResult
    public func post(
        _ url: some URLConvertible, json: MixedJSON, headers: HTTPHeaders = [:],
        isolation: isolated (any Actor)? = #isolation, configure: ((inout HTTPRequest) -> Void)? = nil,
        progress: ProgressHandler? = nil
    ) async throws(SessionError) -> Response<Data> {
        try await post(url, body: json.body(by: encoder), headers: headers, configure: configure, progress: progress)
    }

    /// The call with a JSON literal of mixed values.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    public func put<Value: Decodable>(
        _ url: some URLConvertible, json: MixedJSON, headers: HTTPHeaders = [:],
        as type: Value.Type = Value.self, isolation: isolated (any Actor)? = #isolation,
        configure: ((inout HTTPRequest) -> Void)? = nil, progress: ProgressHandler? = nil
    ) async throws(SessionError) -> Value {
        try await put(
            url, body: json.body(by: encoder), headers: headers, as: type, configure: configure, progress: progress)
    }

    /// The call with a JSON literal of mixed values.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    @discardableResult
    public func put(
        _ url: some URLConvertible, json: MixedJSON, headers: HTTPHeaders = [:],
        isolation: isolated (any Actor)? = #isolation, configure: ((inout HTTPRequest) -> Void)? = nil,
        progress: ProgressHandler? = nil
    ) async throws(SessionError) -> Response<Data> {
        try await put(url, body: json.body(by: encoder), headers: headers, configure: configure, progress: progress)
    }

    /// The call with a JSON literal of mixed values.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    public func patch<Value: Decodable>(
        _ url: some URLConvertible, json: MixedJSON, headers: HTTPHeaders = [:],
        as type: Value.Type = Value.self, isolation: isolated (any Actor)? = #isolation,
        configure: ((inout HTTPRequest) -> Void)? = nil, progress: ProgressHandler? = nil
    ) async throws(SessionError) -> Value {
        try await patch(
            url, body: json.body(by: encoder), headers: headers, as: type, configure: configure, progress: progress)
    }

    /// The call with a JSON literal of mixed values.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    @discardableResult
    public func patch(
        _ url: some URLConvertible, json: MixedJSON, headers: HTTPHeaders = [:],
        isolation: isolated (any Actor)? = #isolation, configure: ((inout HTTPRequest) -> Void)? = nil,
        progress: ProgressHandler? = nil
    ) async throws(SessionError) -> Response<Data> {
        try await patch(url, body: json.body(by: encoder), headers: headers, configure: configure, progress: progress)
    }

    /// The call with a JSON literal of mixed values.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    public func request<Value: Decodable>(
        _ method: HTTPMethod, _ url: some URLConvertible, json: MixedJSON, headers: HTTPHeaders = [:],
        as type: Value.Type = Value.self, isolation: isolated (any Actor)? = #isolation,
        configure: ((inout HTTPRequest) -> Void)? = nil, progress: ProgressHandler? = nil
    ) async throws(SessionError) -> Value {
        try await request(
            method, url, body: json.body(by: encoder), headers: headers, as: type, configure: configure,
            progress: progress)
    }

    /// The call with a JSON literal of mixed values.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    @discardableResult
    public func request(
        _ method: HTTPMethod, _ url: some URLConvertible, json: MixedJSON, headers: HTTPHeaders = [:],
        isolation: isolated (any Actor)? = #isolation, configure: ((inout HTTPRequest) -> Void)? = nil,
        progress: ProgressHandler? = nil
    ) async throws(SessionError) -> Response<Data> {
        try await request(
            method, url, body: json.body(by: encoder), headers: headers, configure: configure, progress: progress)
    }
}
