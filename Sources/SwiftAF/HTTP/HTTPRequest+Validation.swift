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
        for name in headers.suppressedDefaults {
            guard CoreField.isToken(name) else { throw invalid("the name of a removed header is not a token") }
            try validate(HTTPHeaders.Field(name: name, value: ""))
        }
        if let length = body.length, length < 0 { throw invalid("the body's length is negative") }
        if let path = body.filePath, path.isEmpty || path.containsNUL {
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
        if let fault = timeouts.fault ?? limits.fault ?? rateLimit.fault ?? redirectPolicy?.fault {
            throw invalid(fault)
        }
        if let priority, !(0...1).contains(priority.rawValue) { throw invalid("the priority is not between 0 and 1") }
        if mainDocumentURL?.containsNUL == true { throw invalid("the main document's URL contains NUL") }
        if unixSocket?.containsNUL == true { throw invalid("the path of the socket contains NUL") }
        // Here as well as in the core, so that this function finds all that its documentation names.
        if case .url(let url) = proxy, url.utf8.contains(where: ASCII.isControl) {
            throw invalid("the proxy's URL contains a control character")
        }
        try httpVersion?.validate()
        if let fault = credential?.fault ?? proxyCredential?.fault { throw invalid(fault) }
    }

    private func invalid(_ message: String) -> SessionError {
        SessionError(.invalidInput, message: message, url: url)
    }
}

// What is out of range in options that requests and sessions have; nil if nothing is.

extension HTTPRequest.Timeouts {
    var fault: String? {
        if let connect, connect < .zero { return "the connect timeout is negative" }
        if let idle, idle < .zero { return "the idle timeout is negative" }
        if let total, total < .zero { return "the total timeout is negative" }
        return nil
    }
}

extension HTTPRequest.Limits {
    fileprivate var fault: String? {
        if let maximumBodySize, maximumBodySize < 0 { return "the body limit is negative" }
        if let maximumHeaderBytes, maximumHeaderBytes < 0 { return "the header size limit is negative" }
        if let maximumHeaderCount, maximumHeaderCount < 0 { return "the header count limit is negative" }
        return nil
    }
}

extension HTTPRequest.RateLimit {
    var fault: String? {
        if let sendBytesPerSecond, sendBytesPerSecond < 0 { return "the rate limit of sending is negative" }
        if let receiveBytesPerSecond, receiveBytesPerSecond < 0 { return "the rate limit of receiving is negative" }
        return nil
    }
}

extension RedirectPolicy {
    var fault: String? { maximumCount < 0 ? "the redirect limit is negative" : nil }
}
