public import FoundationEssentials

// Calls that return a value. Its type is that of the variable, or `as:`. The response is validated and decoded.
extension HTTPSessionManager {
    /// Sends a GET request and decodes the response.
    ///
    /// ```swift
    /// let user: User = try await manager.get("users/7")
    /// let users = try await manager.get("users", parameters: ["page": page], as: [User].self)
    /// let slow: Report = try await manager.get("report", configure: { $0.timeouts.total = .seconds(90) })
    /// ```
    ///
    /// - Parameters:
    ///   - url: An absolute URL, or one relative to ``baseURL``: a `String` or a `URL`.
    ///   - parameters: Added to the query.
    ///   - headers: Replace the fields of ``headers`` with the same names.
    ///   - type: The type of the value: any `Decodable`, ``JSONValue``, `Data` or `String`. An optional type is nil,
    ///     and an ``EmptyResponse`` such as ``Empty`` has its empty value, if the response has no body. Decoded on
    ///     one of Swift's shared threads, or where the caller runs if the conformance of the type belongs to an actor.
    ///   - configure: Changes the request before its parameters are added, such as its time limits. Called before the
    ///     request is sent, where the caller runs.
    ///   - progress: Called on the session's network thread, at most ten times a second and once at the end. Must not
    ///     block.
    /// - Throws: ``SessionError/Code/status`` or ``SessionError/Code/contentType`` if ``validation`` doesn't accept the
    ///   response, ``SessionError/Code/serialization`` if the value can't be decoded, or the error of the transfer.
    nonisolated(nonsending) public func get<Value: Decodable>(
        _ url: some URLConvertible, parameters: Parameters? = nil, headers: HTTPHeaders = [:],
        as type: Value.Type = Value.self, configure: ((inout HTTPRequest) -> Void)? = nil,
        progress: ProgressHandler? = nil
    ) async throws(SessionError) -> Value {
        try await prepared(
            .get, url.urlText, parameters: parameters, headers: headers, configure: configure, progress: progress
        ).awaitedValue()
    }

    /// Sends a POST request and decodes the response.
    ///
    /// ```swift
    /// let user: User = try await manager.post("users", json: NewUser(name: "Ada"))
    /// let session: Session = try await manager.post("login", parameters: ["name": name, "password": password])
    /// let film: Film = try await manager.post("films", body: .file("/tmp/film.mkv"), progress: { print($0.sent) })
    /// ```
    ///
    /// - Parameters:
    ///   - url: An absolute URL, or one relative to ``baseURL``: a `String` or a `URL`.
    ///   - parameters: Written by ``requestSerializer``, by default as a form. With a multipart `body`, they are its
    ///     first fields.
    ///   - json: A value that ``encoder`` writes as the body, before the request is sent and where the caller runs.
    ///     `post`, `put`, `patch` and `request` also take a literal of mixed values, `["name": name, "age": age]`, and
    ///     ``Parameters``. Nil and ``Parameters/null`` are as if it were left out; a nil optional that a generic
    ///     function passes as its `some Encodable` is a value, written as `null`. A `String` or `Data` is encoded like
    ///     any value: JSON that is text or bytes already is a `body` with Content-Type `application/json`. Without any
    ///     body, ``HTTPRequestSerializer`` makes POST, PUT and PATCH an empty form.
    ///   - body: The body. Only one of `parameters`, `json` and `body` can be the body; otherwise the call fails with
    ///     ``SessionError/Code/invalidInput``.
    ///   - headers: Header fields, which replace those of ``headers`` with the same names.
    ///   - type: The type of the value.
    ///   - configure: Changes the request before its parameters are added. Called at once.
    ///   - progress: Called on the session's network thread with the bytes sent and received.
    ///
    /// The other parameters and the errors are those of ``get(_:parameters:headers:as:configure:progress:)``.
    nonisolated(nonsending) public func post<Value: Decodable>(
        _ url: some URLConvertible, parameters: Parameters? = nil, json: (any Encodable)? = nil,
        body: HTTPBody? = nil,
        headers: HTTPHeaders = [:], as type: Value.Type = Value.self,
        configure: ((inout HTTPRequest) -> Void)? = nil,
        progress: ProgressHandler? = nil
    ) async throws(SessionError) -> Value {
        try await prepared(
            .post, url.urlText, parameters: parameters, json: json, body: body, headers: headers, configure: configure,
            progress: progress
        ).awaitedValue()
    }

    /// Sends a PUT request and decodes the response; see
    /// ``post(_:parameters:json:body:headers:as:configure:progress:)``.
    nonisolated(nonsending) public func put<Value: Decodable>(
        _ url: some URLConvertible, parameters: Parameters? = nil, json: (any Encodable)? = nil,
        body: HTTPBody? = nil,
        headers: HTTPHeaders = [:], as type: Value.Type = Value.self,
        configure: ((inout HTTPRequest) -> Void)? = nil,
        progress: ProgressHandler? = nil
    ) async throws(SessionError) -> Value {
        try await prepared(
            .put, url.urlText, parameters: parameters, json: json, body: body, headers: headers, configure: configure,
            progress: progress
        ).awaitedValue()
    }

    /// Sends a PATCH request and decodes the response; see
    /// ``post(_:parameters:json:body:headers:as:configure:progress:)``.
    nonisolated(nonsending) public func patch<Value: Decodable>(
        _ url: some URLConvertible, parameters: Parameters? = nil, json: (any Encodable)? = nil,
        body: HTTPBody? = nil,
        headers: HTTPHeaders = [:], as type: Value.Type = Value.self,
        configure: ((inout HTTPRequest) -> Void)? = nil,
        progress: ProgressHandler? = nil
    ) async throws(SessionError) -> Value {
        try await prepared(
            .patch, url.urlText, parameters: parameters, json: json, body: body, headers: headers, configure: configure,
            progress: progress
        ).awaitedValue()
    }

    /// Sends a DELETE request and decodes the response. Parameters are added to the query. See
    /// ``post(_:parameters:json:body:headers:as:configure:progress:)``.
    nonisolated(nonsending) public func delete<Value: Decodable>(
        _ url: some URLConvertible, parameters: Parameters? = nil, json: (any Encodable)? = nil,
        body: HTTPBody? = nil,
        headers: HTTPHeaders = [:], as type: Value.Type = Value.self,
        configure: ((inout HTTPRequest) -> Void)? = nil,
        progress: ProgressHandler? = nil
    ) async throws(SessionError) -> Value {
        try await prepared(
            .delete, url.urlText, parameters: parameters, json: json, body: body, headers: headers,
            configure: configure, progress: progress
        ).awaitedValue()
    }

    /// Sends a request with any method and decodes the response; see
    /// ``post(_:parameters:json:body:headers:as:configure:progress:)``.
    nonisolated(nonsending) public func request<Value: Decodable>(
        _ method: HTTPMethod, _ url: some URLConvertible, parameters: Parameters? = nil,
        json: (any Encodable)? = nil,
        body: HTTPBody? = nil, headers: HTTPHeaders = [:], as type: Value.Type = Value.self,
        configure: ((inout HTTPRequest) -> Void)? = nil,
        progress: ProgressHandler? = nil
    ) async throws(SessionError) -> Value {
        try await prepared(
            method, url.urlText, parameters: parameters, json: json, body: body, headers: headers, configure: configure,
            progress: progress
        ).awaitedValue()
    }
}

// Calls without a value: the response is validated, and returned with its body.
extension HTTPSessionManager {
    /// Sends a GET request and returns the response, if it is acceptable.
    ///
    /// ```swift
    /// let response = try await manager.get("users/7")
    /// print(response.headers["ETag"] ?? "none", response.body.count)
    /// let user = try response.value(as: User.self)
    /// ```
    ///
    /// The parameters are those of ``get(_:parameters:headers:as:configure:progress:)``.
    ///
    /// - Throws: ``SessionError/Code/status`` or ``SessionError/Code/contentType`` if ``validation`` doesn't accept the
    ///   response, or the error of the transfer.
    ///   ``response(_:_:parameters:json:body:headers:configure:progress:)`` returns every response.
    @discardableResult
    nonisolated(nonsending) public func get(
        _ url: some URLConvertible, parameters: Parameters? = nil, headers: HTTPHeaders = [:],
        configure: ((inout HTTPRequest) -> Void)? = nil,
        progress: ProgressHandler? = nil
    ) async throws(SessionError) -> Response<Data> {
        try await prepared(
            .get, url.urlText, parameters: parameters, headers: headers, configure: configure, progress: progress
        ).awaitedResponse(isChecked: true)
    }

    /// Sends a HEAD request and returns the response, if it is acceptable. Parameters are added to the query.
    @discardableResult
    nonisolated(nonsending) public func head(
        _ url: some URLConvertible, parameters: Parameters? = nil, headers: HTTPHeaders = [:],
        configure: ((inout HTTPRequest) -> Void)? = nil
    ) async throws(SessionError) -> Response<Data> {
        try await prepared(.head, url.urlText, parameters: parameters, headers: headers, configure: configure)
            .awaitedResponse(isChecked: true)
    }

    /// Sends a POST request and returns the response, if it is acceptable.
    ///
    /// ```swift
    /// try await manager.post("users", json: NewUser(name: "Ada"))
    /// ```
    ///
    /// The parameters are those of ``post(_:parameters:json:body:headers:as:configure:progress:)``, the
    /// errors those of ``get(_:parameters:headers:configure:progress:)``.
    @discardableResult
    nonisolated(nonsending) public func post(
        _ url: some URLConvertible, parameters: Parameters? = nil, json: (any Encodable)? = nil,
        body: HTTPBody? = nil,
        headers: HTTPHeaders = [:],
        configure: ((inout HTTPRequest) -> Void)? = nil,
        progress: ProgressHandler? = nil
    ) async throws(SessionError) -> Response<Data> {
        try await prepared(
            .post, url.urlText, parameters: parameters, json: json, body: body, headers: headers, configure: configure,
            progress: progress
        ).awaitedResponse(isChecked: true)
    }

    /// Sends a PUT request and returns the response, if it is acceptable; see
    /// ``post(_:parameters:json:body:headers:configure:progress:)``.
    @discardableResult
    nonisolated(nonsending) public func put(
        _ url: some URLConvertible, parameters: Parameters? = nil, json: (any Encodable)? = nil,
        body: HTTPBody? = nil,
        headers: HTTPHeaders = [:],
        configure: ((inout HTTPRequest) -> Void)? = nil,
        progress: ProgressHandler? = nil
    ) async throws(SessionError) -> Response<Data> {
        try await prepared(
            .put, url.urlText, parameters: parameters, json: json, body: body, headers: headers, configure: configure,
            progress: progress
        ).awaitedResponse(isChecked: true)
    }

    /// Sends a PATCH request and returns the response, if it is acceptable; see
    /// ``post(_:parameters:json:body:headers:configure:progress:)``.
    @discardableResult
    nonisolated(nonsending) public func patch(
        _ url: some URLConvertible, parameters: Parameters? = nil, json: (any Encodable)? = nil,
        body: HTTPBody? = nil,
        headers: HTTPHeaders = [:],
        configure: ((inout HTTPRequest) -> Void)? = nil,
        progress: ProgressHandler? = nil
    ) async throws(SessionError) -> Response<Data> {
        try await prepared(
            .patch, url.urlText, parameters: parameters, json: json, body: body, headers: headers, configure: configure,
            progress: progress
        ).awaitedResponse(isChecked: true)
    }

    /// Sends a DELETE request and returns the response, if it is acceptable. Parameters are added to the query. See
    /// ``post(_:parameters:json:body:headers:configure:progress:)``.
    @discardableResult
    nonisolated(nonsending) public func delete(
        _ url: some URLConvertible, parameters: Parameters? = nil, json: (any Encodable)? = nil,
        body: HTTPBody? = nil,
        headers: HTTPHeaders = [:],
        configure: ((inout HTTPRequest) -> Void)? = nil,
        progress: ProgressHandler? = nil
    ) async throws(SessionError) -> Response<Data> {
        try await prepared(
            .delete, url.urlText, parameters: parameters, json: json, body: body, headers: headers,
            configure: configure, progress: progress
        ).awaitedResponse(isChecked: true)
    }

    /// Sends a request with any method and returns the response, if it is acceptable; see
    /// ``post(_:parameters:json:body:headers:configure:progress:)``.
    @discardableResult
    nonisolated(nonsending) public func request(
        _ method: HTTPMethod, _ url: some URLConvertible, parameters: Parameters? = nil,
        json: (any Encodable)? = nil,
        body: HTTPBody? = nil, headers: HTTPHeaders = [:],
        configure: ((inout HTTPRequest) -> Void)? = nil,
        progress: ProgressHandler? = nil
    ) async throws(SessionError) -> Response<Data> {
        try await prepared(
            method, url.urlText, parameters: parameters, json: json, body: body, headers: headers, configure: configure,
            progress: progress
        ).awaitedResponse(isChecked: true)
    }

    /// Sends a request with any method and returns the response, whatever its status.
    ///
    /// ```swift
    /// let response = try await manager.response(.get, "users/7")
    /// if response.status == 404 { … }
    /// let user = try response.value(as: User.self)      // checks the status
    /// ```
    ///
    /// The parameters are those of ``post(_:parameters:json:body:headers:as:configure:progress:)``.
    nonisolated(nonsending) public func response(
        _ method: HTTPMethod, _ url: some URLConvertible, parameters: Parameters? = nil,
        json: (any Encodable)? = nil,
        body: HTTPBody? = nil, headers: HTTPHeaders = [:],
        configure: ((inout HTTPRequest) -> Void)? = nil,
        progress: ProgressHandler? = nil
    ) async throws(SessionError) -> Response<Data> {
        try await prepared(
            method, url.urlText, parameters: parameters, json: json, body: body, headers: headers, configure: configure,
            progress: progress
        ).awaitedResponse()
    }
}

// Calls that only build a request, and calls with a request that is already built.
extension HTTPSessionManager {
    /// Builds a request without sending it. It has the absolute URL, the manager's headers and the parameters, as the
    /// other calls send it.
    ///
    /// ```swift
    /// var request = try manager.makeRequest(.get, "search", parameters: ["q": text])
    /// request.priority = 1
    /// let response = try await manager.response(for: request)
    /// ```
    ///
    /// The parameters are those of ``post(_:parameters:json:body:headers:as:configure:progress:)``.
    ///
    /// - Throws: ``SessionError/Code/invalidInput`` for a body given twice, ``SessionError/Code/serialization`` if
    ///   parameters or body can't be encoded.
    public func makeRequest(
        _ method: HTTPMethod, _ url: some URLConvertible, parameters: Parameters? = nil,
        json: (any Encodable)? = nil,
        body: HTTPBody? = nil, headers: HTTPHeaders = [:]
    ) throws(SessionError) -> HTTPRequest {
        try serialize(
            draft(method, url.urlText, headers: headers, json: json, body: body, snapshot), parameters, snapshot)
    }

    /// Sends a request and returns the response, whatever its status.
    ///
    /// The request is sent as it is, without the request serializer: a relative URL is resolved against ``baseURL``,
    /// and fields of ``headers`` are added that it lacks.
    ///
    /// - Parameters:
    ///   - request: The request, or the URL of a GET request.
    ///   - progress: Called on the session's network thread, at most ten times a second and once at the end. Must not
    ///     block.
    public func response<Source: RequestConvertible>(
        for request: Source, progress: ProgressHandler? = nil
    ) async throws(SessionError) -> Response<Data> {
        try await prepared(request, progress).response()
    }

    /// Sends a request and returns the response when its head has arrived, whatever its status:
    /// ``StreamedResponse/validated(by:)`` checks it. Read the body from ``StreamedResponse/bytes``; it is received no
    /// faster than you read.
    ///
    /// ```swift
    /// let log = try await manager.stream("log", parameters: ["since": day], headers: ["Accept": "text/plain"])
    /// for try await line in try await log.validated().lines { print(line) }
    /// ```
    ///
    /// - Parameters:
    ///   - request: The URL of a GET request, or a request, which may have a body (`HTTPBody.json(_:encoder:)`).
    ///   - parameters: Added by ``requestSerializer``, which isn't called if they are nil.
    ///   - headers: Replace the fields of the request and of ``headers`` with the same names.
    ///   - configure: Changes the request before its parameters are added. Called at once.
    ///   - progress: Called on the session's network thread with the bytes sent and received.
    nonisolated(nonsending) public func stream<Source: RequestConvertible>(
        _ request: Source, parameters: Parameters? = nil, headers: HTTPHeaders = [:],
        configure: ((inout HTTPRequest) -> Void)? = nil, progress: ProgressHandler? = nil
    ) async throws(SessionError) -> StreamedResponse {
        let (request, settings) = try preparedStream(request, parameters, headers, configure, progress)
        // Caught and thrown again, so that the caller's actor is resumed before the error is thrown: see
        // AwaitedTransfer.
        do throws(SessionError) {
            var response = try await StreamTransfer.open(request)
            response.settings = settings
            return response
        } catch {
            throw error
        }
    }
}

// Not inlined into the async functions: their frames live while they wait, and would include each value that is used
// before the wait (measured by the row `waiting` of Benchmarks/run).
extension HTTPSessionManager {
    @inline(never)
    func prepared(
        _ method: HTTPMethod, _ url: String, parameters: Parameters?, json: (any Encodable)? = nil,
        body: HTTPBody? = nil, headers: HTTPHeaders, configure: ((inout HTTPRequest) -> Void)?,
        progress: ProgressHandler? = nil
    ) throws(SessionError) -> AwaitedTransfer {
        let snapshot = snapshot
        let draft = draft(
            method, url, headers: headers, json: json, body: body, snapshot, configure: configure)
        let request = try serialize(draft, parameters, snapshot)
        return AwaitedTransfer(try prepare(request, snapshot, progress: progress), snapshot.settings.responses)
    }

    @inline(never)
    private func preparedStream<Source: RequestConvertible>(
        _ source: Source, _ parameters: Parameters?, _ headers: HTTPHeaders,
        _ configure: ((inout HTTPRequest) -> Void)?, _ progress: ProgressHandler?
    ) throws(SessionError) -> (CoreRequest, ResponseSettings) {
        let snapshot = snapshot
        var request = Source.request(of: source)
        request.headers.merge(headers)
        configure?(&request)
        if let parameters = parameters.unlessNull { request = try serialize(request, parameters, snapshot) }
        return (try prepare(request, snapshot, sink: .callback, progress: progress), snapshot.settings.responses)
    }

    @inline(never)
    private func prepared<Source: RequestConvertible>(
        _ source: Source, _ progress: ProgressHandler?
    ) throws(SessionError) -> AwaitedTransfer {
        let snapshot = snapshot
        let request = try prepare(Source.request(of: source), snapshot, progress: progress)
        return AwaitedTransfer(request, snapshot.settings.responses)
    }
}

extension HTTPSessionManager {
    /// Returns a request without its parameters. `json` is encoded here, where the caller runs, because its conformance
    /// may belong to an actor.
    // Not inlined, because each kind of request calls it.
    @inline(never)
    func draft(
        _ method: HTTPMethod, _ url: String, headers: HTTPHeaders, json: (any Encodable)? = nil,
        body: HTTPBody? = nil, _ snapshot: Snapshot, configure: ((inout HTTPRequest) -> Void)? = nil
    ) -> HTTPRequest {
        var request = HTTPRequest(method, url, headers: headers, body: body ?? .none)
        if let json {
            request.body =
                body == nil
                ? .json(encoding: json, encoder: snapshot.settings.handlers.encoder)
                : HTTPBody(.invalid(HTTPRequest.secondBody(url)))
        }
        configure?(&request)
        return request
    }
}

extension HTTPRequest {
    /// The error of a request whose body is given twice.
    package static func secondBody(_ url: String) -> SessionError {
        SessionError(
            .invalidInput,
            message:
                "the request has two bodies: give one of parameters, json and body; a query is written into the URL",
            url: url)
    }
}
