public import FoundationEssentials

extension HTTPSessionManager {
    /// Sends a request as it is and gives the response, whatever its status.
    ///
    /// The request serializer is not asked; ``SessionConfiguration/headers`` and the User-Agent fill gaps. A relative
    /// URL is resolved.
    ///
    /// - Parameter progress: Called on the network's thread with snapshots, at most ten times a second and once at
    ///   the end. Must not block.
    public func response(
        for request: HTTPRequest, progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(SessionError) -> DataResponse {
        try await prepare(request, snapshot, progress: progress).response()
    }

    /// Serializes and sends a request and gives the response, whatever its status.
    public func response(
        _ method: HTTPMethod, _ url: String, parameters: Parameters? = nil, headers: HTTPHeaders = [:]
    ) async throws(SessionError) -> DataResponse {
        let snapshot = snapshot
        return try await prepare(serialize(method, url, parameters, headers, snapshot), snapshot).response()
    }

    /// Sends a request as it is and gives the body of a response with a status of 200 to 299.
    ///
    /// - Throws: ``SessionError/Code/status`` for another status, with the response and its body.
    public func data(for request: HTTPRequest) async throws(SessionError) -> Data {
        try await response(for: request).serialized(by: DataResponseSerializer())
    }

    /// Sends a request with any method and gives what the response's body is decoded as.
    public func request<Value: Decodable & Sendable>(
        _ method: HTTPMethod, _ url: String, parameters: Parameters? = nil, headers: HTTPHeaders = [:],
        as type: Value.Type = Value.self
    ) async throws(SessionError) -> Value {
        let snapshot = snapshot
        let request = try prepare(serialize(method, url, parameters, headers, snapshot), snapshot)
        let serializer = StandardSerializer<Value>(preferring: snapshot.settings.responseSerializer)
        return try await request.response().serialized(by: serializer)
    }

    /// Gets a value. `Value` may be any `Decodable`, ``JSONValue``, `Data` or `String`.
    ///
    /// - Parameters:
    ///   - url: Absolute, or relative to ``baseURL``.
    ///   - parameters: Added to the URL's query.
    ///   - headers: Replace those of the request serializer.
    public func get<Value: Decodable & Sendable>(
        _ url: String, parameters: Parameters? = nil, headers: HTTPHeaders = [:], as type: Value.Type = Value.self
    ) async throws(SessionError) -> Value {
        try await request(.get, url, parameters: parameters, headers: headers)
    }

    /// Asks for the head of a response with an acceptable status.
    public func head(
        _ url: String, parameters: Parameters? = nil, headers: HTTPHeaders = [:]
    ) async throws(SessionError) -> HTTPResponse {
        let response = try await response(.head, url, parameters: parameters, headers: headers)
        _ = try response.serialized(by: DataResponseSerializer())
        return response.response
    }

    /// Posts parameters and gives what the response's body is decoded as.
    public func post<Value: Decodable & Sendable>(
        _ url: String, parameters: Parameters? = nil, headers: HTTPHeaders = [:], as type: Value.Type = Value.self
    ) async throws(SessionError) -> Value {
        try await request(.post, url, parameters: parameters, headers: headers)
    }

    /// Puts parameters and gives what the response's body is decoded as.
    public func put<Value: Decodable & Sendable>(
        _ url: String, parameters: Parameters? = nil, headers: HTTPHeaders = [:], as type: Value.Type = Value.self
    ) async throws(SessionError) -> Value {
        try await request(.put, url, parameters: parameters, headers: headers)
    }

    /// Patches with parameters and gives what the response's body is decoded as.
    public func patch<Value: Decodable & Sendable>(
        _ url: String, parameters: Parameters? = nil, headers: HTTPHeaders = [:], as type: Value.Type = Value.self
    ) async throws(SessionError) -> Value {
        try await request(.patch, url, parameters: parameters, headers: headers)
    }

    /// Deletes and gives what the response's body is decoded as. Parameters go into the query.
    public func delete<Value: Decodable & Sendable>(
        _ url: String, parameters: Parameters? = nil, headers: HTTPHeaders = [:], as type: Value.Type = Value.self
    ) async throws(SessionError) -> Value {
        try await request(.delete, url, parameters: parameters, headers: headers)
    }

    /// Sends a request as it is and gives the response as soon as its head is there, whatever its status. The body
    /// is read from ``StreamedResponse/bytes``, no faster than it is taken.
    public func stream(
        _ request: HTTPRequest, progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(SessionError) -> StreamedResponse {
        try await StreamTransfer.open(try prepare(request, snapshot, sink: .events, progress: progress))
    }
}

extension CoreOutcome {
    /// The response of a transfer that did not fail; observers hear of its file, if it has one.
    func answer() throws(SessionError) -> DataResponse {
        reportFile(of: nil)
        return try dataResponse()
    }

    /// The response of a transfer that did not fail.
    func dataResponse() throws(SessionError) -> DataResponse {
        if let failure { throw failure }
        guard let response else { throw SessionError(.unknown, message: "the transfer ended without a response") }
        var answer = DataResponse(response: response, body: body, filePath: filePath)
        answer.sharedTrust = trust
        return answer
    }
}
