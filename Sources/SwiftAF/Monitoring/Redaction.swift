/// Decides what is hidden in logs, shell commands and archives.
public struct Redaction: Sendable, Hashable {
    /// Whether values of secret fields are hidden (``HTTPHeaders/Field/isSecret``). Default: true.
    public var hidesCredentials = true
    /// The names of further fields to hide, case-insensitive. Default: none.
    public var headers: Set<String> = []
    /// The names of query items to hide, case-insensitive. Default: common names of secrets, such as `access_token`,
    /// `api_key` and `password`.
    public var queryItems: Set<String> = [
        "access_token", "api_key", "apikey", "auth", "client_secret", "code", "id_token", "key", "password",
        "refresh_token", "secret", "sig", "signature", "token", "X-Amz-Credential", "X-Amz-Security-Token",
        "X-Amz-Signature",
    ]

    /// Creates a redaction that hides the same as ``standard``.
    public init() {}

    /// Hides credentials and common names of secrets.
    public static let standard = Redaction()

    /// Hides nothing, not even user information in URLs.
    public static let none: Redaction = {
        var redaction = Redaction()
        redaction.hidesCredentials = false
        redaction.queryItems = []
        return redaction
    }()

    /// The replacement of hidden values.
    static let placeholder = "<hidden>"

    /// Whether the value of a field is hidden.
    public func hides(_ field: HTTPHeaders.Field) -> Bool {
        if hidesCredentials, field.isSecret { return true }
        return headers.contains { field.isNamed($0) }
    }

    /// Returns the redacted value of a field. URLs in it are redacted in any field: `Location`, but also `Link`,
    /// `Refresh` and custom fields.
    public func value(of field: HTTPHeaders.Field) -> String {
        if hides(field) { return Self.placeholder }
        return Self.fieldsWithURL.contains { field.isNamed($0) } ? url(field.value) : text(field.value)
    }

    /// The fields whose value is one URL (RFC 9110).
    private static let fieldsWithURL = [
        HTTPHeaders.Name.location, HTTPHeaders.Name.referer, "Content-Location",
    ]

    /// Returns a URL without user information, and with secret query items hidden.
    public func url(_ url: String) -> String {
        let parts = URLText(url)
        var text = parts.beginning(userInfo: hidesCredentials ? nil : parts.userInfo)
        // Without an authority, a password can be part of the path, as in "user:secret@host".
        let hidesPath = hidesCredentials && parts.host == nil && parts.path.utf8.contains(UInt8(ascii: "@"))
        text += hidesPath ? Substring(Self.placeholder) : parts.path
        if let query = parts.query { text += "?" + self.query(query) }
        if let fragment = parts.fragment { text += "#" + (hidesCredentials ? self.query(fragment) : fragment) }
        return text
    }

    /// Returns a text in which all URLs are redacted.
    private func text(_ text: String) -> String {
        let open = hidesCredentials ? Self.withoutUserInfo(text) : text
        var shown = ""
        var rest = Substring(open).utf8
        while !rest.isEmpty {
            let word = rest.prefix { !Self.urlEnds.contains($0) }
            // A word without a query or a fragment has no secrets, and stays unchanged.
            let hasItems = word.contains { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }
            shown += hasItems ? url(String(Substring(word))) : String(Substring(word))
            rest = rest[word.endIndex...]
            let ends = rest.prefix { Self.urlEnds.contains($0) }
            shown += String(Substring(ends))
            rest = rest[ends.endIndex...]
        }
        return shown
    }

    /// The bytes that end a URL in a text, because no URL contains them.
    private static let urlEnds = Array(" \t\r\n\"<>".utf8)

    /// Returns a text without the user information in everything that resembles a URL with an authority.
    private static func withoutUserInfo(_ text: String) -> String {
        let end = urlEnds + "/?#".utf8
        var shown: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let slashes = rest.firstRange(of: "//".utf8) {
            let start = rest[slashes.lowerBound...].firstIndex { $0 != UInt8(ascii: "/") } ?? rest.endIndex
            shown += rest[..<start]
            rest = rest[start...]
            let authority = rest.prefix { !end.contains($0) }
            if let mark = authority.lastIndex(of: UInt8(ascii: "@")) { rest = rest[(mark + 1)...] }
        }
        return String(decoding: shown + rest, as: UTF8.self)
    }

    /// Whether the value of a query item is hidden. The name may be percent-encoded, and nested, as in
    /// `user[password]`: the value is hidden if a part of the name is in the list.
    func hidesQueryItem(_ name: Substring) -> Bool {
        if queryItems.contains(where: { ASCII.equalIgnoringCase($0, name) }) { return true }
        guard name.utf8.contains(where: { $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: "[") }) else { return false }
        let decoded = String(decoding: Self.percentDecoded(name), as: UTF8.self)
        return decoded.utf8.split(whereSeparator: { "[]".utf8.contains($0) }).contains { part in
            queryItems.contains { ASCII.equalIgnoringCase($0, Substring(part)) }
        } || queryItems.contains { ASCII.equalIgnoringCase($0, decoded) }
    }

    /// Returns the percent-decoded bytes of a text. Invalid escapes stay unchanged.
    private static func percentDecoded(_ text: Substring) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let high = rest.first.flatMap(hexDigit),
                let low = rest.dropFirst().first.flatMap(hexDigit)
            {
                bytes.append(high << 4 | low)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return bytes
    }

    private static func hexDigit(_ byte: UInt8) -> UInt8? {
        Character(UnicodeScalar(byte)).hexDigitValue.map(UInt8.init)
    }

    /// Works on bytes, as ``URLText`` does: an `&` next to a combining character isn't the `Character` `&`.
    private func query(_ query: Substring) -> Substring {
        guard !queryItems.isEmpty else { return query }
        let items = query.utf8.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false).map { item in
            guard let mark = item.firstIndex(of: UInt8(ascii: "=")), hidesQueryItem(Substring(item[..<mark])) else {
                return Substring(item)
            }
            return Substring(item[...mark]) + "hidden"
        }
        return Substring(items.joined(separator: "&"))
    }
}
