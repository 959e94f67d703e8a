public import FoundationEssentials

extension RequestSerializer {
    /// Creates a request with a multipart form: the parameters as its first fields, then the parts of
    /// `constructingBody`.
    ///
    /// Parameters have the order of a query, with unescaped names and values; data is sent as raw bytes, null within
    /// the parameters as an empty part. Without any parts, the result is the serializer's request without parameters,
    /// which is an empty URL-encoded form for ``HTTPRequestSerializer``.
    ///
    /// - Parameters:
    ///   - method: A method with a body.
    ///   - url: The URL of the request.
    ///   - parameters: The first fields of the form.
    ///   - constructingBody: Adds parts. It may catch the error of an invalid part; the form is then unchanged.
    /// - Throws: ``SessionError/Code/invalidInput`` for GET and HEAD, which have no body; the errors of
    ///   `constructingBody`.
    public func multipartFormRequest(
        _ method: HTTPMethod = .post, _ url: some URLConvertible, parameters: Parameters? = nil,
        constructingBody: (inout MultipartFormData) throws -> Void = { _ in }
    ) throws -> HTTPRequest {
        guard method != .get, method != .head else {
            throw SessionError(
                .invalidInput, message: "\(method) has no body, so it can't send a form", url: url.urlText)
        }
        var request = try serialize(HTTPRequest(method, url.urlText), parameters: nil)
        var form = MultipartFormData()
        if let parameters = parameters.unlessNull { try form.append(parameters, encoder: parameterEncoder) }
        try constructingBody(&form)
        guard !form.isEmpty else { return request }
        request.body = .multipart(form)
        request.headers.set(name: .contentType, value: form.contentType.description)
        return request
    }
}

extension HTTPRequest {
    /// Writes the request's form to a file and returns a request that sends the file instead.
    ///
    /// The file is created or replaced once it is complete. The caller must delete it.
    ///
    /// - Throws: ``SessionError/Code/invalidInput`` if the body isn't a form; the errors of
    ///   ``MultipartFormData/write(to:)-(String)``.
    public func writeMultipart(to path: String) async throws(SessionError) -> HTTPRequest {
        guard case .form(let form) = body.content else {
            throw SessionError(.invalidInput, message: "the request's body isn't a form", url: url)
        }
        do throws(SessionError) {
            try await CoreFormSpool.write(form, to: path)
        } catch var error {
            error.url = url
            throw error
        }
        var request = self
        request.body = .file(path)
        request.headers.fillGap(name: .contentType, value: MultipartFormData(form).contentType.description)
        return request
    }

    /// Writes the request's form to the file of a file URL, like ``writeMultipart(to:)-(String)``.
    ///
    /// - Throws: ``SessionError/Code/invalidInput`` if it isn't a file URL; otherwise as with a path.
    public func writeMultipart(to file: URL) async throws(SessionError) -> HTTPRequest {
        try await writeMultipart(to: file.filePath(of: "form"))
    }
}
