/// A 1xx response (RFC 9110 15.2), which arrives before the final one, such as 103 (Early Hints, RFC 8297).
///
/// ```swift
/// manager.informationalHandler = { response in
///     if response.status == 103 { print(response.headers.values(named: "Link")) }
/// }
/// ```
///
/// At most ``SessionConfiguration/Limits/maximumInformationalResponses`` of them are accepted for each final response.
public struct InformationalResponse: Hashable, Sendable {
    /// The status code, from 100 to 199.
    public var status: Int
    /// The reason phrase; empty over HTTP/2.
    public var reason: String
    /// The fields.
    public var headers: HTTPHeaders

    /// Creates a response, for tests.
    public init(status: Int, reason: String = "", headers: HTTPHeaders = [:]) {
        self.status = status
        self.reason = reason
        self.headers = headers
    }
}

/// Called with each 1xx response on the session's network thread. Must not block, because other transfers of the
/// session wait meanwhile.
public typealias InformationalHandler = @Sendable (InformationalResponse) -> Void
