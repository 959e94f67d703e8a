import FoundationEssentials

extension HTTPSessionManager {
    /// Opens a WebSocket. Returns when the handshake is complete.
    ///
    /// ```swift
    /// let socket = try await manager.webSocket("wss://example.org/chat", protocols: ["v2.chat"])
    /// ```
    ///
    /// - Parameters:
    ///   - url: A ws, wss, http or https URL, or one relative to ``baseURL``.
    ///   - protocols: The subprotocols to offer, before those of `options`.
    ///   - parameters: Added to the URL's query.
    ///   - headers: Headers that override those of the request serializer.
    ///   - options: Limits and times.
    /// - Throws: ``SessionError``: why the server refused, or why there is no connection.
    public func webSocket(
        _ url: String, protocols: [String] = [], parameters: Parameters? = nil, headers: HTTPHeaders = [:],
        options: WebSocket.Options = .init()
    ) async throws(SessionError) -> WebSocket {
        var options = options
        options.protocols = protocols + options.protocols
        let draft = HTTPRequest(Self.httpURL(url), headers: headers)
        let request = try serialize(draft, parameters, snapshot)
        return try await webSocket(request, options: options)
    }

    /// Opens a WebSocket with a request, which describes the handshake: URL, headers, credentials, proxy, cookies. Its
    /// method must be GET, without a body.
    ///
    /// The session's trust policy, proxies, cookies, HSTS and credentials apply. Time limits other than the one to
    /// connect don't, nor do rate limits, interceptors, event monitors, and the handlers of redirects and challenges.
    public func webSocket(
        _ request: HTTPRequest, options: WebSocket.Options = .init()
    ) async throws(SessionError) -> WebSocket {
        var request = request
        request.url = Self.httpURL(request.url)
        guard !Task.isCancelled else { throw SessionError(.cancelled, url: request.url) }
        let core = CoreWebSocket(try prepare(request, snapshot), options)
        return WebSocket(core, try await core.open())
    }

    /// Returns the http or https URL of a ws or wss one; others unchanged.
    private static func httpURL(_ url: String) -> String {
        let scheme = url.prefix { $0 != ":" }
        switch scheme.lowercased() {
        case "ws": return "http" + url.dropFirst(scheme.count)
        case "wss": return "https" + url.dropFirst(scheme.count)
        default: return url
        }
    }
}
