extension HTTPRequest {
    /// Checks the request before anything is sent.
    ///
    /// - Throws: ``SessionError/Code/invalidInput`` with a message that names the invalid part: a method or a header
    ///   name that isn't a token, the method CONNECT, a URL with control characters, without a host or with a scheme
    ///   other than http and https, a control character other than a tab in a value, a header that the library computes
    ///   itself, or an option out of range. ``SessionError/Code/unsupported`` if ``httpVersion`` has an unknown name.
    public func validate() throws(SessionError) {
        guard method.isValid else {
            let shown = ASCII.printable(method.rawValue, limit: 40)
            throw invalid("invalid method '\(shown)': expected a token such as GET, without spaces")
        }
        guard method.rawValue != "CONNECT" else {
            throw invalid("the method can't be CONNECT: tunnels through proxies are opened automatically")
        }
        try CoreURL.check(url)
        for field in headers.fields { try validate(field) }
        for name in headers.suppressedDefaults {
            guard CoreField.isToken(name) else { throw invalid("the name of a suppressed header is not a token") }
            try validate(HTTPHeaders.Field(name: name, value: ""))
        }
        if let fault = body.length?.fault(below: 0, "the body's length") { throw invalid(fault) }
        if let fault = body.filePath?.pathFault("the path of the body's file") { throw invalid(fault) }
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
        if let priority, !(0...1).contains(priority.rawValue) {
            throw invalid("the priority is \(priority.rawValue): expected 0 to 1")
        }
        if mainDocumentURL?.containsNUL == true { throw invalid("the main document's URL contains NUL") }
        if unixSocket?.containsNUL == true { throw invalid("the path of the socket contains NUL") }
        // Checked here although the core checks it later, so that this function finds everything that its documentation
        // lists.
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

// `fault` describes the first setting that is out of range; nil if all are valid.

extension HTTPRequest.Timeouts {
    var fault: String? {
        connect?.faultIfNegative("the connect timeout") ?? idle?.faultIfNegative("the idle timeout")
            ?? total?.faultIfNegative("the total timeout")
    }
}

extension HTTPRequest.Limits {
    fileprivate var fault: String? {
        maximumBodySize?.fault(below: 0, "the body limit")
            ?? maximumHeaderBytes?.fault(below: 0, "the header size limit")
            ?? maximumHeaderCount?.fault(below: 0, "the header count limit")
    }
}

extension HTTPRequest.RateLimit {
    var fault: String? {
        sendBytesPerSecond?.fault(below: 0, "the rate limit of sending")
            ?? receiveBytesPerSecond?.fault(below: 0, "the rate limit of receiving")
    }
}

extension RedirectPolicy {
    var fault: String? { maximumCount.fault(below: 0, "the redirect limit") }
}

// Checks of one value. They return a description of the fault, with the accepted range; nil if the value is valid.

extension BinaryInteger {
    func fault(below minimum: Self, _ name: String) -> String? {
        self < minimum ? "\(name) is \(self): expected \(minimum) or more" : nil
    }
}

extension Duration {
    func faultIfNegative(_ name: String) -> String? {
        self < .zero ? "\(name) is \(fractionalSeconds) s: expected 0 or more" : nil
    }
}
