extension HTTPRequest {
    /// Refuses what must not reach the wire, before anything is sent.
    ///
    /// - Throws: ``SessionError`` with code ``SessionError/Code/invalidInput`` whose message names the part that
    ///   was wrong: a method that is no token, a URL with control characters, without host or with another scheme
    ///   than http and https, a header name that is no token, a line break or NUL in a value, a header that the
    ///   library computes itself, or an option out of its range.
    public func validate() throws(SessionError) {
        guard method.isValid else { throw invalid("the method is not a token") }
        try validateURL()
        for field in headers.fields { try validate(field) }
        for name in headers.removedDefaults where !ASCII.isToken(name) {
            throw invalid("the name of a removed header is not a token")
        }
        try validateOptions()
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
            let isHTTPS = bytes.starts(with: "https://".utf8)
            guard isHTTPS || bytes.starts(with: "http://".utf8) else { return false }
            var rest = bytes[(isHTTPS ? 8 : 7)...]
            let host = rest.prefix { $0 &- 0x30 < 10 || ($0 | 0x20) &- 0x61 < 26 || $0 == 0x2D || $0 == 0x2E }
            rest = rest[host.endIndex...]
            if rest.first == UInt8(ascii: ":") {
                let port = rest.dropFirst().prefix { $0 &- 0x30 < 10 }
                guard port.count < 5 || (port.count == 5 && port.lexicographicallyPrecedes("65536".utf8)) else {
                    return false
                }
                rest = rest[port.endIndex...]
            }
            guard let mark = rest.first else { return !host.isEmpty }
            let endsHost = mark == UInt8(ascii: "/") || mark == UInt8(ascii: "?") || mark == UInt8(ascii: "#")
            return !host.isEmpty && endsHost && !rest.contains(where: ASCII.isControl)
        }
    }

    private func validate(_ field: HTTPHeaders.Field) throws(SessionError) {
        guard ASCII.isToken(field.name) else { throw invalid("a header name is not a token") }
        guard !field.value.utf8.contains(where: ASCII.isLineBreakOrNul) else {
            throw invalid("the value of header \(field.name) contains a line break or NUL")
        }
        if field.isNamed(HTTPHeaders.Name.contentLength) || field.isNamed(HTTPHeaders.Name.transferEncoding) {
            throw invalid("header \(field.name) is computed from the body and can't be set")
        }
    }

    private func validateOptions() throws(SessionError) {
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
        if let length = body.length, length < 0 { throw invalid("the body's length is negative") }
        if let path = body.filePath, path.isEmpty || path.utf8.contains(0) {
            throw invalid("the body's file path is empty or contains NUL")
        }
    }

    private func validate(_ timeout: Duration?, _ name: String) throws(SessionError) {
        if let timeout, timeout < .zero { throw invalid("the \(name) timeout is negative") }
    }

    private func invalid(_ message: String) -> SessionError {
        SessionError(.invalidInput, message: message, url: url)
    }
}
