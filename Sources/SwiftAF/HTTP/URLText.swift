/// The parts of a URL as text (RFC 3986, appendix B), as the core splits it. Splitting never fails and changes nothing, so
/// it also serves URLs that a request refuses.
///
/// All of it works on bytes: to `Character`, a delimiter followed by a combining mark is no delimiter, and
/// what would then not be recognized as a query or a password would not be hidden either.
package struct URLText: Sendable {
    /// All of it.
    let text: String
    /// Without the colon, case kept.
    let scheme: Substring?
    /// Before the `@`, possibly with a password.
    let userInfo: Substring?
    /// Without brackets around an IPv6 address.
    let host: Substring?
    /// What follows the host's colon; may be empty.
    let portText: Substring?
    /// The port, or the default of the scheme; nil if there is neither, or if the text isn't a port.
    let port: Int?
    let path: Substring
    /// Without the question mark.
    let query: Substring?
    /// Without the number sign.
    let fragment: Substring?

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

    /// The text without user information, for people to read. What only looks like an authority loses it, too.
    package var withoutUserInfo: String {
        guard host == nil else {
            guard let userInfo else { return text }
            // After the user information comes its "@".
            return text[..<userInfo.startIndex] + String(Substring(text.utf8[userInfo.endIndex...].dropFirst()))
        }
        // With something in front that isn't a scheme.
        guard let slashes = text.utf8.firstRange(of: "//".utf8)?.lowerBound, slashes > text.startIndex else {
            return text
        }
        return text[..<slashes] + URLText(String(text[slashes...])).withoutUserInfo
    }

    /// What follows the last slash of the path, still encoded; empty if there is no slash.
    package var lastSegment: Substring {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "" }
        return path[path.utf8.index(after: slash)...]
    }

    /// The text without its fragment.
    package var withoutFragment: Substring {
        guard let fragment else { return text[...] }
        return text[..<text.utf8.index(before: fragment.startIndex)]
    }
}
