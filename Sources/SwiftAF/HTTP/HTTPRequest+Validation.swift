extension HTTPRequest {
    /// Checks the request before anything is sent.
    ///
    /// - Throws: ``SessionError/Code/invalidInput`` with a message that names the invalid part: a method or a header
    ///   name that isn't a token, a URL with control characters, without a host or with a scheme other than http and
    ///   https, a control character other than a tab in a value, a header that the library computes itself, or an
    ///   option out of range.
    public func validate() throws(SessionError) {
        guard method.isValid else { throw invalid("the method is not a token") }
        try CoreURL.check(url)
        for field in headers.fields { try validate(field) }
        for name in headers.suppressedDefaults where !CoreField.isToken(name) {
            throw invalid("the name of a removed header is not a token")
        }
        if let length = body.length, length < 0 { throw invalid("the body's length is negative") }
        if let path = body.filePath, path.isEmpty || path.utf8.contains(0) {
            throw invalid("the body's file path is empty or contains NUL")
        }
        if hasSettings { try validateSettings() }
    }

    private func validate(_ field: HTTPHeaders.Field) throws(SessionError) {
        do {
            try CoreField.check(field)
        } catch {
            throw invalid(error.message)
        }
    }

    private func validateSettings() throws(SessionError) {
        try validate(timeouts.connect, "connect")
        try validate(timeouts.idle, "idle")
        try validate(timeouts.total, "total")
        if let size = limits.maximumBodySize, size < 0 { throw invalid("the body limit is negative") }
        if let bytes = limits.maximumHeaderBytes, bytes < 0 { throw invalid("the header size limit is negative") }
        if let count = limits.maximumHeaderCount, count < 0 { throw invalid("the header count limit is negative") }
        if let rate = rateLimit.sendBytesPerSecond, rate < 0 { throw invalid("the rate limit of sending is negative") }
        if let rate = rateLimit.receiveBytesPerSecond, rate < 0 {
            throw invalid("the rate limit of receiving is negative")
        }
        if let redirects = redirectPolicy?.maximumCount, redirects < 0 {
            throw invalid("the redirect limit is negative")
        }
        if let priority, !(0...1).contains(priority) { throw invalid("the priority is not between 0 and 1") }
        if let url = mainDocumentURL, url.utf8.contains(0) { throw invalid("the main document's URL contains NUL") }
        if let path = unixSocket, path.utf8.contains(0) { throw invalid("the path of the socket contains NUL") }
        if case .url(let url) = proxy, url.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
            throw invalid("the proxy's URL contains a control character")
        }
        try httpVersion?.validate()
        if let fault = credential?.fault ?? proxyCredential?.fault { throw invalid(fault) }
    }

    private func validate(_ timeout: Duration?, _ name: String) throws(SessionError) {
        if let timeout, timeout < .zero { throw invalid("the \(name) timeout is negative") }
    }

    private func invalid(_ message: String) -> SessionError {
        SessionError(.invalidInput, message: message, url: url)
    }
}
