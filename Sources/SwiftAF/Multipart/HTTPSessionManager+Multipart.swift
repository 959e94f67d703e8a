import Dispatch
import FoundationEssentials

extension HTTPSessionManager {
    /// Sends a multipart form with POST and decodes the response.
    ///
    /// ```swift
    /// let photo: Photo = try await manager.post("photos", parameters: ["album": 7]) { form in
    ///     try form.append(file: "/pictures/engine.jpg", name: "image")
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - url: An absolute URL, or one relative to ``baseURL``.
    ///   - parameters: The first fields of the form; see
    ///     ``RequestSerializer/multipartFormRequest(_:_:parameters:constructingBody:)``.
    ///   - headers: Replace the request serializer's fields of the same names, including Content-Type.
    ///   - constructingBody: Adds the parts. Called synchronously.
    ///   - progress: Called on the network's thread with snapshots, at most ten times a second and once at the end.
    ///     Must not block.
    /// - Throws: ``SessionError``; other errors of `constructingBody` are its ``SessionError/underlying`` error.
    public func post<Value: Decodable & Sendable>(
        _ url: String, parameters: Parameters? = nil, headers: HTTPHeaders = [:], as type: Value.Type = Value.self,
        progress: (@Sendable (TransferProgress) -> Void)? = nil,
        constructingBody: (inout MultipartFormData) throws -> Void
    ) async throws(SessionError) -> Value {
        let snapshot = snapshot
        let form = try multipartRequest(.post, url, parameters, headers, snapshot, constructingBody)
        let request = try prepare(form, snapshot, progress: progress)
        let serializer = StandardSerializer<Value>(preferring: snapshot.settings.responseSerializer)
        return try await request.response().serialized(by: serializer)
    }

    /// Sends a multipart form with POST and parses the response as JSON. `constructingBody` is called synchronously,
    /// the other closures on the completion queue.
    ///
    /// - Returns: The running task; nil if the form couldn't be built.
    @discardableResult
    public func post(
        _ url: String, parameters: Parameters? = nil, headers: HTTPHeaders = [:],
        constructingBody: (inout MultipartFormData) throws -> Void, progress: ProgressHandler? = nil,
        success: Success<JSONValue>?, failure: Failure?
    ) -> UploadTask? {
        post(
            url, parameters: parameters, headers: headers, constructingBody: constructingBody,
            with: StandardSerializer<JSONValue>(preferring: responseSerializer), progress: progress, success: success,
            failure: failure)
    }

    /// Sends a multipart form with POST and serializes the response.
    ///
    /// - Parameter serializer: Validates the response and makes the value for `success`.
    @discardableResult
    public func post<Output>(
        _ url: String, parameters: Parameters? = nil, headers: HTTPHeaders = [:],
        constructingBody: (inout MultipartFormData) throws -> Void, with serializer: some ResponseSerializer<Output>,
        progress: ProgressHandler? = nil, success: Success<Output>?, failure: Failure?
    ) -> UploadTask? {
        let snapshot = snapshot
        return start(serializer, progress, success, failure, snapshot) { () throws(SessionError) in
            try multipartRequest(.post, url, parameters, headers, snapshot, constructingBody)
        }
    }

    private func multipartRequest(
        _ method: HTTPMethod, _ url: String, _ parameters: Parameters?, _ headers: HTTPHeaders, _ snapshot: Snapshot,
        _ constructingBody: (inout MultipartFormData) throws -> Void
    ) throws(SessionError) -> HTTPRequest {
        let url = resolve(url)
        do {
            var request = try snapshot.settings.requestSerializer.multipartFormRequest(
                method, url, parameters: parameters, constructingBody: constructingBody)
            if !headers.isEmpty || !headers.removedDefaults.isEmpty { request.headers.merge(headers) }
            return request
        } catch {
            throw SessionError(serializingRequest: error, url: url)
        }
    }
}
