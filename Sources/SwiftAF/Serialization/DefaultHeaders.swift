import FoundationEssentials

/// The headers that request serializers add where a request has none.
public enum DefaultHeaders {
    /// Accept-Language and User-Agent, made once from the environment of the process.
    public static let all: HTTPHeaders = [
        HTTPHeaders.Name.acceptLanguage: acceptLanguage(languages(in: ProcessInfo.processInfo.environment)),
        HTTPHeaders.Name.userAgent: userAgent(),
    ]

    /// The languages in order of preference with falling weights: `de-DE;q=1, en;q=0.9`. At most six.
    public static func acceptLanguage(_ languages: [String]) -> String {
        languages.prefix(6).enumerated()
            .map { index, language in "\(language);q=\(index == 0 ? "1" : "0.\(10 - index)")" }
            .joined(separator: ", ")
    }

    /// What a client says about itself: `program/version (Linux; system) SwiftAF/0.1.0`.
    ///
    /// What can't stand in the header is left out: of names all but letters, digits and a few signs, of the system
    /// all that is not ASCII.
    ///
    /// - Parameters:
    ///   - program: The program's name; nil for that of the executable.
    ///   - version: The program's version, which an executable on Linux doesn't tell; nil for none.
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

    /// This library's name and version.
    static let library = "SwiftAF/0.1.0"

    private static func token(_ text: String) -> String {
        String(text.unicodeScalars.filter { CoreField.isToken(String($0)) }.map(Character.init))
    }

    /// The user's languages as gettext finds them, `LANGUAGE` first, as language tags; English if none is set.
    static func languages(in environment: [String: String]) -> [String] {
        let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
        let names = (environment["LANGUAGE"] ?? "").split(separator: ":").map(String.init) + [locale ?? ""]
        var tags: [String] = []
        for tag in names.compactMap(languageTag) where !tags.contains(tag) { tags.append(tag) }
        return tags.isEmpty ? ["en"] : tags
    }

    /// `de-DE` for `de_DE.UTF-8@euro`; nil for names that are no language, such as `C` and `POSIX`.
    private static func languageTag(_ locale: String) -> String? {
        let name = locale.prefix { $0 != "." && $0 != "@" }
        let parts = name.split(separator: "_", omittingEmptySubsequences: false)
        guard let language = parts.first, (2...3).contains(language.utf8.count),
            parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(isAlphanumeric) })
        else { return nil }
        return parts.joined(separator: "-")
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        (byte | 0x20) &- 0x61 < 26 || byte &- 0x30 < 10
    }

    /// Printable ASCII that needs no escape inside a header comment.
    private static func isCommentByte(_ byte: UInt8) -> Bool {
        (0x20..<0x7F).contains(byte) && ![UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "\\")].contains(byte)
    }
}
