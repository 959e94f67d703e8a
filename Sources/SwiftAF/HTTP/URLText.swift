/// The parts of a URL as text (RFC 3986, appendix B), split by the core. Splitting never fails and changes nothing, so
/// it also works for URLs that are invalid for a request.
///
/// Works on bytes, because a delimiter followed by a combining mark is another `Character`: a query or a password
/// behind it wouldn't be recognised, and wouldn't be redacted.
package struct URLText: Sendable {
    /// The whole text.
    let text: String
    /// The scheme without the colon, in its original case.
    package let scheme: Substring?
    /// The part before the `@`, which may contain a password.
    let userInfo: Substring?
    /// The host, without brackets around an IPv6 address.
    package let host: Substring?
    /// The text after the host's colon; may be empty.
    package let portText: Substring?
    /// The port, or else the default of the scheme; nil if there is neither, or if the text isn't a valid port.
    let port: Int?
    let path: Substring
    /// The query without the question mark.
    let query: Substring?
    /// The fragment without the number sign.
    let fragment: Substring?

    /// The URL for logs: without user information, query, fragment and control characters.
    var redacted: String {
        var text = beginning()
        // Without an authority, a password can be part of the path, as in "user:secret@host".
        text += host == nil && path.utf8.contains(UInt8(ascii: "@")) ? "…" : path
        if query != nil { text += "?…" }
        return ASCII.printable(text)
    }

    /// The URL without user information and fragment, as it is requested from the server.
    var address: String {
        let query = query.map { "?\($0)" } ?? ""
        return beginning() + path + query
    }

    /// Returns the text before the path, with the given user information instead of its own.
    func beginning(userInfo: Substring? = nil) -> String {
        var text = scheme.map { "\($0):" } ?? ""
        guard let host else { return text }
        text += "//"
        if let userInfo { text += "\(userInfo)@" }
        text += host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
        if let portText { text += ":\(portText)" }
        return text
    }

    /// The text without user information, for display. It is also removed from a text that only resembles an authority.
    package var withoutUserInfo: String {
        guard host == nil else {
            guard let userInfo else { return text }
            // Skips the "@" after the user information.
            return text[..<userInfo.startIndex] + String(Substring(text.utf8[userInfo.endIndex...].dropFirst()))
        }
        // Without a host there may still be slashes with user information, after something that isn't a scheme.
        guard let slashes = text.utf8.firstRange(of: "//".utf8)?.lowerBound, slashes > text.startIndex else {
            return text
        }
        return text[..<slashes] + URLText(String(text[slashes...])).withoutUserInfo
    }

    /// The part after the last slash of the path, still percent-encoded; empty if there is no slash.
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
