/// Completes the URLs that people type: without a scheme, or as a port of this machine.
enum ShortURL {
    /// Returns the URL with its scheme: `http` for loopback hosts, `https` for others. `:8080/path` is a port of
    /// localhost. Text that already has a scheme, or that doesn't look like a host, is returned unchanged.
    ///
    /// - Parameter isURL: Whether the text must be a URL, as that behind a command is: a single word is then a host.
    static func complete(_ text: String, isURL: Bool = false) -> String {
        guard !hasScheme(text), looksLikeHost(text) || (isURL && isWord(text)) else { return text }
        if text.hasPrefix(":") {
            let hasPort = text.dropFirst().first?.isASCII == true && text.dropFirst().first?.isNumber == true
            return "http://localhost" + (hasPort ? text : String(text.dropFirst()))
        }
        return (isLoopback(host(of: text)) ? "http://" : "https://") + text
    }

    /// Whether a word on the command line is a URL rather than the name of a command. A single word without a dot, a
    /// port or a path isn't: it would hide misspelled commands.
    static func looksLikeHost(_ text: String) -> Bool {
        if hasScheme(text) { return true }
        guard let first = text.unicodeScalars.first, !"./@?#".unicodeScalars.contains(first) else { return false }
        if first == ":" { return isPortOrPath(text.dropFirst()) }
        let authority = text.prefix { !"/?#".contains($0) }
        guard !authority.contains(" ") else { return false }
        let name = host(of: text)
        let afterHost = authority.drop { $0 != "@" }.isEmpty ? authority : authority.drop { $0 != "@" }.dropFirst()
        if !name.hasPrefix("["), let colon = afterHost.firstIndex(of: ":") {
            return isPortOrPath(afterHost[afterHost.index(after: colon)...]) && !name.isEmpty
        }
        return name == "localhost" || name.contains(".") || name.hasPrefix("[") || authority.count < text.count
    }

    /// Whether a text is a host of one word, such as `intranet`. One behind a password isn't: that would be sent to it.
    private static func isWord(_ text: String) -> Bool {
        !text.isEmpty && text.allSatisfy { $0.isLetter || $0.isNumber || "-_".contains($0) }
    }

    /// Whether a word is a URL with a port, although it could be a header such as `X:1/2`: its host is an address or a
    /// name with a dot, or localhost.
    static func hasPort(_ text: String) -> Bool {
        guard !hasScheme(text), looksLikeHost(text) else { return false }
        let authority = text.prefix { !"/?#".contains($0) }
        let name = host(of: text)
        // What looks like a host has nothing but a port behind a colon, or a user before it: `From:a@b.org` is a
        // header.
        guard authority.contains(":"), !authority.contains("@") else { return false }
        return name == "localhost" || name.contains(".") || name.hasPrefix("[")
    }

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
    private static func isPortOrPath(_ text: Substring) -> Bool {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let rest = text.dropFirst(digits.count)
        return rest.isEmpty ? !digits.isEmpty : "/?#".contains(rest[rest.startIndex])
    }

    private static func host(of text: String) -> String {
        var authority = text.prefix { !"/?#".contains($0) }
        if let at = authority.lastIndex(of: "@") { authority = authority[authority.index(after: at)...] }
        if authority.hasPrefix("["), let end = authority.firstIndex(of: "]") {
            return String(authority[...end]).lowercased()
        }
        return String(authority.prefix { $0 != ":" }).lowercased()
    }

    private static func isLoopback(_ host: String) -> Bool {
        let name = host.hasSuffix(".") ? String(host.dropLast()) : host
        if name == "localhost" || name.hasSuffix(".localhost") { return true }
        return IPAddress.isLoopback(name)
    }
}
