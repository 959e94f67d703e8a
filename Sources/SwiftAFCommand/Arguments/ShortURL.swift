import SwiftAF

/// Completes the URLs that people type: without a scheme, or as a port of this machine.
///
/// Searches delimiters among bytes, because one followed by a combining mark is another `Character`.
enum ShortURL {
    /// Returns the URL with its scheme: `http` for loopback hosts, `https` for others. `:8080/path` is a port of
    /// localhost. Text that already has a scheme, or that doesn't look like a host, is returned unchanged.
    ///
    /// - Parameter isURL: Whether the text must be a URL, such as the word after a command: a single word is then a
    ///   host.
    static func complete(_ text: String, isURL: Bool = false) -> String {
        guard !hasScheme(text), looksLikeHost(text) || (isURL && isWord(text)) else { return text }
        if text.utf8.first == UInt8(ascii: ":") {
            let rest = text.utf8.dropFirst()
            return "http://localhost" + (rest.first.map(ASCII.isDigit) == true ? text : String(Substring(rest)))
        }
        return (isLoopback(host(of: text)) ? "http://" : "https://") + text
    }

    /// Whether a word on the command line is a URL rather than the name of a command. A single word without a dot, a
    /// port or a path isn't: it would hide misspelled commands.
    static func looksLikeHost(_ text: String) -> Bool {
        if hasScheme(text) { return true }
        guard let first = text.utf8.first, !"./@?#".utf8.contains(first) else { return false }
        if first == UInt8(ascii: ":") { return isPortOrPath(text.utf8.dropFirst()) }
        let authority = authority(of: text)
        guard !authority.contains(UInt8(ascii: " ")) else { return false }
        let name = host(of: text)
        let behindUser = authority.firstIndex(of: UInt8(ascii: "@")).map { authority[$0...].dropFirst() } ?? authority
        if !isBracketed(name), let colon = behindUser.firstIndex(of: UInt8(ascii: ":")) {
            return isPortOrPath(behindUser[colon...].dropFirst()) && !name.isEmpty
        }
        return isUnmistakable(name) || authority.endIndex < text.endIndex
    }

    /// Whether a text is a host of one word, such as `intranet`. One behind a password isn't: that would be sent to it.
    private static func isWord(_ text: String) -> Bool {
        !text.isEmpty && text.allSatisfy { $0.isLetter || $0.isNumber || "-_".contains($0) }
    }

    /// Whether a word is a URL with a port, although it could be a header such as `X:1/2`: its host is an address or a
    /// name with a dot, or localhost.
    static func hasPort(_ text: String) -> Bool {
        guard !hasScheme(text), looksLikeHost(text) else { return false }
        let authority = authority(of: text)
        // What looks like a host has nothing but a port behind a colon, or a user before it: `From:a@b.org` is a
        // header.
        guard authority.contains(UInt8(ascii: ":")), !authority.contains(UInt8(ascii: "@")) else { return false }
        return isUnmistakable(host(of: text))
    }

    /// Whether a name in lower case can only be a host.
    private static func isUnmistakable(_ name: String) -> Bool {
        name == "localhost" || name.utf8.contains(UInt8(ascii: ".")) || isBracketed(name)
    }

    private static func isBracketed(_ name: String) -> Bool { name.utf8.first == UInt8(ascii: "[") }

    private static func hasScheme(_ text: String) -> Bool {
        schemeEnd(of: text.utf8) != nil
    }

    /// Returns the scheme of a text with `://`, in lower case; nil without one.
    static func scheme(of text: String) -> String? { scheme(of: text.utf8) }

    static func scheme(of text: some BidirectionalCollection<UInt8>) -> String? {
        guard let end = schemeEnd(of: text) else { return nil }
        return String(decoding: text[..<end].dropLast("://".utf8.count), as: UTF8.self).lowercased()
    }

    /// Returns the position after `://`; nil without a scheme. A query or a path may contain another URL, so only what
    /// stands before the first slash, `?` or `#` counts. Compares bytes: a search for a string costs more at the start
    /// than all of the rest of the command line (Benchmarks/first-byte).
    static func schemeEnd<Text: BidirectionalCollection<UInt8>>(of text: Text) -> Text.Index? {
        guard let slash = text.firstIndex(where: { "/?#".utf8.contains($0) }), slash > text.startIndex,
            text[text.index(before: slash)] == UInt8(ascii: ":"), text[slash...].starts(with: "//".utf8)
        else { return nil }
        return text.index(slash, offsetBy: 2)
    }

    /// Whether the text after a colon is a port, optionally followed by a path.
    private static func isPortOrPath(_ text: Substring.UTF8View) -> Bool {
        let digits = text.prefix(while: ASCII.isDigit)
        guard let next = text[digits.endIndex...].first else { return !digits.isEmpty }
        return "/?#".utf8.contains(next)
    }

    /// Returns the text before the path, the query and the fragment.
    private static func authority(of text: String) -> Substring.UTF8View {
        text.utf8.prefix { !"/?#".utf8.contains($0) }
    }

    private static func host(of text: String) -> String {
        var authority = authority(of: text)
        if let mark = authority.lastIndex(of: UInt8(ascii: "@")) { authority = authority[mark...].dropFirst() }
        if authority.first == UInt8(ascii: "["), let end = authority.firstIndex(of: UInt8(ascii: "]")) {
            return Substring(authority[...end]).lowercased()
        }
        return Substring(authority.prefix { $0 != UInt8(ascii: ":") }).lowercased()
    }

    private static func isLoopback(_ host: String) -> Bool {
        let name = host.utf8.last == UInt8(ascii: ".") ? String(host.dropLast()) : host
        if name == "localhost" || name.hasSuffix(".localhost") { return true }
        return IPAddress.isLoopback(name)
    }
}
