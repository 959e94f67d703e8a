/// The parts of a URL as text, split after RFC 3986, appendix B. Splitting never fails and changes nothing,
/// so it also serves URLs that a stricter parser refuses.
///
/// All of it works on bytes: to `Character`, a delimiter followed by a combining mark is no delimiter, and
/// what would then not be recognized as a query or a password would not be hidden either.
struct URLText: Sendable {
    /// Without the colon, case kept.
    private(set) var scheme: Substring?
    /// Before the `@`, possibly with a password.
    private(set) var userInfo: Substring?
    /// Without brackets around an IPv6 address.
    private(set) var host: Substring?
    /// What follows the host's colon; may be empty.
    private(set) var portText: Substring?
    private(set) var path: Substring
    /// Without the question mark.
    private(set) var query: Substring?
    /// Without the number sign.
    private(set) var fragment: Substring?

    init(_ url: String) {
        var rest = Substring(url)
        if let (before, after) = Self.split(rest, atFirst: "#") { (rest, fragment) = (before, after) }
        if let (before, after) = Self.split(rest, atFirst: "?") { (rest, query) = (before, after) }
        if let (before, after) = Self.split(rest, atFirst: ":"), Self.isScheme(before) {
            (scheme, rest) = (before, after)
        }
        path = rest
        if rest.utf8.starts(with: "//".utf8) {
            rest = Substring(rest.utf8.dropFirst(2))
            let end = rest.utf8.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
            path = rest[end...]
            splitAuthority(rest[..<end])
        }
    }

    /// The port as a number, nil if there is none or it is not one.
    var port: Int? {
        guard let portText, !portText.isEmpty, portText.utf8.allSatisfy(Self.isDigit),
            let port = Int(portText), port <= 65535
        else { return nil }
        return port
    }

    /// The URL without user information, query, fragment and control characters: what may appear in logs.
    var redacted: String {
        var text = ""
        if let scheme { text += "\(scheme):" }
        if let host {
            text += host.utf8.contains(UInt8(ascii: ":")) ? "//[\(host)]" : "//\(host)"
            if let portText { text += ":\(portText)" }
            text += path
        } else {
            // Without an authority a password can sit in what looks like a path, as in "user:secret@host".
            text += path.utf8.contains(UInt8(ascii: "@")) ? "…" : path
        }
        if query != nil { text += "?…" }
        return ASCII.printable(text)
    }

    /// The URL without user information and fragment: what is asked of a server.
    var address: String {
        var text = scheme.map { "\($0):" } ?? ""
        if let host {
            text += host.utf8.contains(UInt8(ascii: ":")) ? "//[\(host)]" : "//\(host)"
            if let portText { text += ":\(portText)" }
        }
        text += path
        if let query { text += "?\(query)" }
        return text
    }

    private mutating func splitAuthority(_ authority: Substring) {
        var hostAndPort = authority
        if let at = authority.utf8.lastIndex(of: UInt8(ascii: "@")) {
            userInfo = authority[..<at]
            hostAndPort = Substring(authority.utf8[at...].dropFirst())
        }
        if hostAndPort.utf8.first == UInt8(ascii: "["), let (inside, tail) = Self.split(hostAndPort, atFirst: "]") {
            host = Substring(inside.utf8.dropFirst())
            portText = tail.utf8.first == UInt8(ascii: ":") ? Substring(tail.utf8.dropFirst()) : nil
        } else if let (before, after) = Self.split(hostAndPort, atFirst: ":") {
            (host, portText) = (before, after)
        } else {
            host = hostAndPort
        }
    }

    private static func split(_ text: Substring, atFirst mark: Unicode.Scalar) -> (Substring, Substring)? {
        guard let index = text.utf8.firstIndex(of: UInt8(ascii: mark)) else { return nil }
        return (text[..<index], Substring(text.utf8[index...].dropFirst()))
    }

    private static func isScheme(_ text: Substring) -> Bool {
        guard let first = text.utf8.first, isLetter(first) else { return false }
        return text.utf8.allSatisfy { byte in
            isLetter(byte) || isDigit(byte) || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-")
                || byte == UInt8(ascii: ".")
        }
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (byte | 0x20) &- 0x61 < 26
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        byte &- 0x30 < 10
    }
}
