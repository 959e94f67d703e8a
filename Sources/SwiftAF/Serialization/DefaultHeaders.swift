import FoundationEssentials

/// The default headers that a manager adds to requests that lack them.
public enum DefaultHeaders {
    /// Accept-Language and User-Agent, computed once from the environment of the process.
    public static let all: HTTPHeaders = [
        "Accept-Language": acceptLanguage, "User-Agent": userAgent(),
    ]

    /// Accept-Language with the user's languages.
    static let acceptLanguage = acceptLanguage(languages(in: ProcessInfo.processInfo.environment))

    /// Returns an Accept-Language value: up to six languages in order of preference with decreasing weights, such as
    /// `de-DE;q=1, en;q=0.9`.
    public static func acceptLanguage(_ languages: [String]) -> String {
        languages.prefix(6).enumerated()
            .map { index, language in "\(language);q=\(index == 0 ? "1" : "0.\(10 - index)")" }
            .joined(separator: ", ")
    }

    /// Returns a User-Agent value: `program/version (Linux; system) SwiftAF/0.1.0`.
    ///
    /// Invalid characters are left out: in names everything except letters, digits and a few signs, in the system
    /// everything that isn't ASCII.
    ///
    /// - Parameters:
    ///   - program: The program's name; nil uses the name of the executable.
    ///   - version: The program's version, which can't be read from an executable on Linux; nil for none.
    public static func userAgent(program: String? = nil, version: String? = nil) -> String {
        let process = ProcessInfo.processInfo
        return userAgent(
            program: program ?? process.processName, version: version, system: process.operatingSystemVersionString)
    }

    static func userAgent(program: String, version: String?, system: String) -> String {
        let comment = "(Linux; \(String(decoding: system.utf8.filter(isCommentByte), as: UTF8.self)))"
        let name = token(program)
        guard !name.isEmpty else { return "\(library) \(comment)" }
        let version = token(version ?? "")
        return "\(name)\(version.isEmpty ? "" : "/")\(version) \(comment) \(library)"
    }

    /// The library's name and version.
    static let library = "SwiftAF/\(LibraryVersions.ofCore)"

    private static func token(_ text: String) -> String {
        String(text.unicodeScalars.filter { CoreField.isToken(String($0)) }.map(Character.init))
    }

    /// Returns the user's languages as language tags, in gettext's order with `LANGUAGE` first; English if none is set.
    static func languages(in environment: [String: String]) -> [String] {
        let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
        let names = (environment["LANGUAGE"] ?? "").split(separator: ":").map(String.init) + [locale ?? ""]
        var tags: [String] = []
        for tag in names.compactMap(languageTag) where !tags.contains(tag) { tags.append(tag) }
        return tags.isEmpty ? ["en"] : tags
    }

    /// Converts a locale such as `de_DE.UTF-8@euro` to `de-DE`; nil for names that aren't a language, such as `C` and
    /// `POSIX`.
    private static func languageTag(_ locale: String) -> String? {
        let name = locale.prefix { $0 != "." && $0 != "@" }
        let parts = name.split(separator: "_", omittingEmptySubsequences: false)
        guard let language = parts.first, (2...3).contains(language.utf8.count),
            parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy { ASCII.isLetter($0) || ASCII.isDigit($0) } })
        else { return nil }
        return parts.joined(separator: "-")
    }

    /// Whether a byte is printable ASCII that needs no escape inside a header comment (RFC 9110 5.6.5).
    private static func isCommentByte(_ byte: UInt8) -> Bool {
        (0x20..<0x7F).contains(byte) && ![UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "\\")].contains(byte)
    }
}
