public import FoundationEssentials

extension HTTPSessionManager {
    /// Sends a request and returns the response, whatever its status.
    ///
    /// The request serializer isn't used. Missing fields are added from ``SessionConfiguration/headers``, and a
    /// relative URL is resolved against ``baseURL``.
    ///
    /// - Parameter progress: Called on the session's network thread, at most ten times a second and once at the end.
    ///   Must not block.
    public func response(
        for request: HTTPRequest, progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(SessionError) -> DataResponse {
        try await prepare(request, snapshot, progress: progress).response()
    }

    /// Builds a request with the request serializer, sends it, and returns the response, whatever its status.
    public func response(
        _ method: HTTPMethod, _ url: String, parameters: Parameters? = nil, headers: HTTPHeaders = [:]
    ) async throws(SessionError) -> DataResponse {
        let snapshot = snapshot
        return try await prepare(serialize(method, url, parameters, headers, snapshot), snapshot).response()
    }

    /// Sends a request and returns the body of a response with status 200 to 299.
    ///
    /// - Throws: ``SessionError/Code/status`` for any other status; the error has the response and its body.
    public func data(for request: HTTPRequest) async throws(SessionError) -> Data {
        try await response(for: request).serialized(by: DataResponseSerializer())
    }

    /// Sends a request with any method and decodes the response.
    public func request<Value: Decodable & Sendable>(
        _ method: HTTPMethod, _ url: String, parameters: Parameters? = nil, headers: HTTPHeaders = [:],
        as type: Value.Type = Value.self
    ) async throws(SessionError) -> Value {
        let snapshot = snapshot
        let request = try prepare(serialize(method, url, parameters, headers, snapshot), snapshot)
        let serializer = StandardSerializer<Value>(preferring: snapshot.settings.responseSerializer)
        return try await request.response().serialized(by: serializer)
    }

    /// Sends a GET request and decodes the response as any `Decodable`, ``JSONValue``, `Data` or `String`.
    ///
    /// - Parameters:
    ///   - url: An absolute URL, or one relative to ``baseURL``.
    ///   - parameters: Added to the query.
    ///   - headers: Replace the request serializer's fields of the same names.
    public func get<Value: Decodable & Sendable>(
        _ url: String, parameters: Parameters? = nil, headers: HTTPHeaders = [:], as type: Value.Type = Value.self
    ) async throws(SessionError) -> Value {
        try await request(.get, url, parameters: parameters, headers: headers)
    }

    /// Sends a HEAD request and returns the head of a response with status 200 to 299.
    public func head(
        _ url: String, parameters: Parameters? = nil, headers: HTTPHeaders = [:]
    ) async throws(SessionError) -> HTTPResponse {
        let response = try await response(.head, url, parameters: parameters, headers: headers)
        _ = try response.serialized(by: DataResponseSerializer())
        return response.response
    }

    /// Sends parameters with POST and decodes the response.
    public func post<Value: Decodable & Sendable>(
        _ url: String, parameters: Parameters? = nil, headers: HTTPHeaders = [:], as type: Value.Type = Value.self
    ) async throws(SessionError) -> Value {
        try await request(.post, url, parameters: parameters, headers: headers)
    }

    /// Sends parameters with PUT and decodes the response.
    public func put<Value: Decodable & Sendable>(
        _ url: String, parameters: Parameters? = nil, headers: HTTPHeaders = [:], as type: Value.Type = Value.self
    ) async throws(SessionError) -> Value {
        try await request(.put, url, parameters: parameters, headers: headers)
    }

    /// Sends parameters with PATCH and decodes the response.
    public func patch<Value: Decodable & Sendable>(
        _ url: String, parameters: Parameters? = nil, headers: HTTPHeaders = [:], as type: Value.Type = Value.self
    ) async throws(SessionError) -> Value {
        try await request(.patch, url, parameters: parameters, headers: headers)
    }

    /// Sends a DELETE request and decodes the response. Parameters are added to the query.
    public func delete<Value: Decodable & Sendable>(
        _ url: String, parameters: Parameters? = nil, headers: HTTPHeaders = [:], as type: Value.Type = Value.self
    ) async throws(SessionError) -> Value {
        try await request(.delete, url, parameters: parameters, headers: headers)
    }

    /// Sends a request and returns the response when its head has arrived, whatever its status. Read the body from
    /// ``StreamedResponse/bytes``; it is received no faster than you read.
    public func stream(
        _ request: HTTPRequest, progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(SessionError) -> StreamedResponse {
        try await StreamTransfer.open(try prepare(request, snapshot, sink: .events, progress: progress))
    }
}

extension CoreOutcome {
    /// The response, or the transfer's error; reports its file to observers.
    func answer() throws(SessionError) -> DataResponse {
        reportFile(of: nil)
        return try dataResponse()
    }

    /// The response, or the transfer's error.
    func dataResponse() throws(SessionError) -> DataResponse {
        if let failure { throw failure }
        guard let response else { throw SessionError(.unknown, message: "the transfer ended without a response") }
        var answer = DataResponse(response: response, body: body, filePath: filePath)
        answer.sharedTrust = trust
        return answer
    }
}
