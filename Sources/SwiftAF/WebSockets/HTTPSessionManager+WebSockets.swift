import FoundationEssentials

extension HTTPSessionManager {
    /// Opens a WebSocket. Returns when the handshake is complete.
    ///
    /// ```swift
    /// let socket = try await manager.webSocket("wss://example.org/chat", protocols: ["v2.chat"])
    /// try await socket.send("hello")
    /// for try await message in socket {
    ///     print(message)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - url: A ws, wss, http or https URL, or one relative to ``baseURL``.
    ///   - protocols: The subprotocols to offer, in the order of preference.
    ///   - parameters: Added to the query.
    ///   - headers: Replace the fields of ``headers`` with the same names.
    ///   - options: Limits, times and compression.
    ///   - configure: Changes the request of the handshake before its parameters are added. Called at once, where the
    ///     caller runs.
    /// - Throws: ``SessionError/Code/status`` or ``SessionError/Code/authentication`` if the server refuses, with the
    ///   response and up to 64 KiB of its body, if received within ``WebSocket/Options/closeTimeout``;
    ///   ``SessionError/Code/protocol`` if its 101 breaks a rule, or the error of the connection.
    nonisolated(nonsending) public func webSocket(
        _ url: some URLConvertible, protocols: [String] = [], parameters: Parameters? = nil, headers: HTTPHeaders = [:],
        options: WebSocket.Options = .init(),
        configure: ((inout HTTPRequest) -> Void)? = nil
    ) async throws(SessionError) -> WebSocket {
        let snapshot = snapshot
        // The scheme is converted before the origin is compared with that of the base URL, which decides about secret
        // fields and credentials.
        let draft = draft(
            .get, try CoreURL.fromWebSocket(url.urlText), headers: headers, snapshot, configure: configure)
        let request = try serialize(draft, parameters, snapshot)
        // Caught and thrown again, so that the caller's actor is resumed before the error is thrown: see
        // AwaitedTransfer.
        do throws(SessionError) { return try await open(request, protocols, options, snapshot) } catch { throw error }
    }

    /// Opens a WebSocket with a request, which describes the handshake: URL, headers, credentials, proxy, cookies. Its
    /// method must be GET, without a body.
    ///
    /// The session's trust policy, proxies, cookies, HSTS and credentials apply, and so do interceptors, to which a
    /// refusal is a response. ``redirectHandler``, ``authenticationChallengeHandler``, ``credentialStorage`` and
    /// ``HTTPRequest/informationalHandler`` decide as for other requests. A redirect handler may lead to a ws URL, and
    /// needn't repeat the fields of the handshake; a redirect that it stops is a refusal. The total time limit applies
    /// to the handshake. The idle limit, size limits of bodies, rate limits and ``responseHandler`` don't apply. Event
    /// monitors are notified of the handshake, with its redirects, challenges and traces.
    public func webSocket(
        _ request: HTTPRequest, protocols: [String] = [], options: WebSocket.Options = .init()
    ) async throws(SessionError) -> WebSocket {
        try await open(request, protocols, options, snapshot)
    }

    private func open(
        _ request: HTTPRequest, _ protocols: [String], _ options: WebSocket.Options, _ snapshot: Snapshot
    ) async throws(SessionError) -> WebSocket {
        var request = request
        request.url = try CoreURL.fromWebSocket(request.url)
        let core = try prepare(request, snapshot, sink: .callback)
        let decoder = snapshot.settings.responses.decoder
        return try await WebSocketHandshake(protocols: protocols, options: options, decoder: decoder).perform(core)
    }
}
