extension HTTPRequest {
    /// Checks the request before anything is sent.
    ///
    /// - Throws: ``SessionError`` with code ``SessionError/Code/invalidInput`` whose message names the part that
    ///   was wrong: a method that is no token, a URL with control characters, without host or with another scheme
    ///   than http and https, a header name that is no token, a control character other than a tab in a value, a header
    ///   that the library computes itself, or an option out of its range.
    public func validate() throws(SessionError) {
        guard method.isValid else { throw invalid("the method is not a token") }
        try validateURL()
        for field in headers.fields { try validate(field) }
        for name in headers.removedDefaults where !ASCII.isToken(name) {
            throw invalid("the name of a removed header is not a token")
        }
        if let length = body.length, length < 0 { throw invalid("the body's length is negative") }
        if let path = body.filePath, path.isEmpty || path.utf8.contains(0) {
            throw invalid("the body's file path is empty or contains NUL")
        }
        if hasSettings { try validateSettings() }
    }

    private func validateURL() throws(SessionError) {
        guard !Self.isPlainURL(url) else { return }
        guard !url.utf8.contains(where: ASCII.isControl) else {
            throw invalid("the URL contains a control character")
        }
        let parts = URLText(url)
        guard let scheme = parts.scheme else { throw invalid("the URL has no scheme") }
        guard ["http", "https"].contains(ASCII.lowercased(scheme)) else {
            throw invalid("the URL's scheme is neither http nor https")
        }
        guard let host = parts.host, !host.isEmpty else { throw invalid("the URL has no host") }
        if let portText = parts.portText, !portText.isEmpty, parts.port == nil {
            throw invalid("the URL's port is not a number from 0 to 65535")
        }
    }

    /// Whether the URL is one of the usual kind, seen in one pass: scheme, a host that is a name, perhaps a port, and
    /// no control character. Of others it takes parsing to know.
    private static func isPlainURL(_ url: String) -> Bool {
        var url = url
        return url.withUTF8 { bytes in
            guard let start = sizeOfScheme(bytes) else { return false }
            var next = start
            while next < bytes.count, isPlainHost(bytes[next]) { next += 1 }
            guard next > start else { return false }
            if next < bytes.count, bytes[next] == UInt8(ascii: ":") {
                next += 1
                var port = 0
                while next < bytes.count, bytes[next] &- 0x30 < 10, port <= 65_535 {
                    port = port * 10 + Int(bytes[next] &- 0x30)
                    next += 1
                }
                guard port <= 65_535 else { return false }
            }
            guard next < bytes.count else { return true }
            let mark = bytes[next]
            guard mark == UInt8(ascii: "/") || mark == UInt8(ascii: "?") || mark == UInt8(ascii: "#") else {
                return false
            }
            while next < bytes.count {
                if ASCII.isControl(bytes[next]) { return false }
                next += 1
            }
            return true
        }
    }

    /// The bytes of `http://` or `https://`, nil if it begins with neither.
    private static func sizeOfScheme(_ bytes: UnsafeBufferPointer<UInt8>) -> Int? {
        guard bytes.count > 8, bytes[0] == UInt8(ascii: "h"), bytes[1] == UInt8(ascii: "t"),
            bytes[2] == UInt8(ascii: "t"), bytes[3] == UInt8(ascii: "p")
        else { return nil }
        let colon = bytes[4] == UInt8(ascii: "s") ? 5 : 4
        let slash = UInt8(ascii: "/")
        guard bytes[colon] == UInt8(ascii: ":"), bytes[colon + 1] == slash, bytes[colon + 2] == slash else {
            return nil
        }
        return colon + 3
    }

    private static func isPlainHost(_ byte: UInt8) -> Bool {
        byte &- 0x30 < 10 || (byte | 0x20) &- 0x61 < 26 || byte == 0x2D || byte == 0x2E
    }

    private func validate(_ field: HTTPHeaders.Field) throws(SessionError) {
        guard ASCII.isToken(field.name) else { throw invalid("a header name is not a token") }
        guard !field.value.utf8.contains(where: ASCII.isForbiddenInField) else {
            throw invalid("the value of header \(field.name) contains a control character")
        }
        if field.isNamed(HTTPHeaders.Name.contentLength) || field.isNamed(HTTPHeaders.Name.transferEncoding) {
            throw invalid("header \(field.name) is computed from the body and can't be set")
        }
    }

    private func validateSettings() throws(SessionError) {
        try validate(timeouts.connect, "connect")
        try validate(timeouts.idle, "idle")
        try validate(timeouts.total, "total")
        if let size = limits.maximumBodySize, size < 0 { throw invalid("the body limit is negative") }
        if let bytes = limits.maximumHeaderBytes, bytes < 0 { throw invalid("the header size limit is negative") }
        if let count = limits.maximumHeaderCount, count < 0 { throw invalid("the header count limit is negative") }
        if let rate = rateLimit.sending, rate < 0 { throw invalid("the rate limit of sending is negative") }
        if let rate = rateLimit.receiving, rate < 0 { throw invalid("the rate limit of receiving is negative") }
        if let redirects = redirectPolicy?.maximumCount, redirects < 0 {
            throw invalid("the redirect limit is negative")
        }
        if let priority, !(0...1).contains(priority) { throw invalid("the priority is not between 0 and 1") }
        if let url = mainDocumentURL, url.utf8.contains(0) { throw invalid("the main document's URL contains NUL") }
        if let path = unixSocket, path.utf8.contains(0) { throw invalid("the path of the socket contains NUL") }
        if let fault = credential?.fault ?? proxyCredential?.fault { throw invalid(fault) }
    }

    private func validate(_ timeout: Duration?, _ name: String) throws(SessionError) {
        if let timeout, timeout < .zero { throw invalid("the \(name) timeout is negative") }
    }

    private func invalid(_ message: String) -> SessionError {
        SessionError(.invalidInput, message: message, url: url)
    }
}
