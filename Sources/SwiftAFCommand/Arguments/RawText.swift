import SwiftAF

/// An argument as passed by the system: bytes, usually UTF-8.
struct RawText: Sendable, Hashable, ExpressibleByStringLiteral {
    let bytes: [UInt8]

    init(_ bytes: some Sequence<UInt8>) {
        self.bytes = Array(bytes)
    }

    init(_ text: String) {
        bytes = Array(text.utf8)
    }

    init(stringLiteral text: String) {
        self.init(text)
    }

    /// The text; nil if the bytes aren't UTF-8.
    var text: String? {
        // Decodes with replacements and compares: `String(validating:as:)` needs types that the runtime has to make
        // first, which costs 0.05 ms at the start (Benchmarks/first-byte).
        let text = String(decoding: bytes, as: UTF8.self)
        return text.utf8.elementsEqual(bytes) ? text : nil
    }

    /// The text for messages. Invalid UTF-8 is replaced.
    var shown: String { String(decoding: bytes, as: UTF8.self) }

    /// Returns the text, or throws if the bytes aren't UTF-8.
    ///
    /// - Parameter subject: The name for the error message, such as "the URL".
    func text(of subject: @autoclosure () -> String) throws(UsageError) -> String {
        guard let text else { throw UsageError("\(subject()) is not UTF-8") }
        return text
    }

    /// Returns the text for the query of a URL as it is, or throws if the bytes aren't UTF-8. Only number signs are
    /// encoded: the rest would be a fragment, which isn't sent.
    func queryText(of subject: @autoclosure () -> String) throws(UsageError) -> String {
        let text = try text(of: subject())
        let mark = UInt8(ascii: "#")
        guard text.utf8.contains(mark) else { return text }
        return String(decoding: text.utf8.flatMap { $0 == mark ? Array("%23".utf8) : [$0] }, as: UTF8.self)
    }

    /// The bytes, percent-encoded for a query, a form or a segment of a path.
    var percentEncoded: String { ParameterEncoder.escape(bytes) }

    /// The path with the home folder in place of a `~/` at its beginning. Shells do that only at the beginning of a
    /// word, not behind `@`.
    func expandingHome(_ environment: @autoclosure () -> [String: String]) -> RawText {
        guard hasPrefix("~/"), let home = UserFolders.home(environment()) else { return self }
        return RawText(home.utf8 + bytes.dropFirst())
    }

    func hasPrefix(_ prefix: StaticString) -> Bool {
        bytes.starts(with: UnsafeBufferPointer(start: prefix.utf8Start, count: prefix.utf8CodeUnitCount))
    }

    /// Calls a function with the bytes, terminated by NUL, for a system call. Arguments never contain NUL themselves.
    func withCString<Result>(_ use: (UnsafePointer<CChar>) -> Result) -> Result {
        (bytes.map { CChar(bitPattern: $0) } + [0]).withUnsafeBufferPointer { buffer in
            // `baseAddress` is never nil here: the array has at least one element.
            buffer.baseAddress.map(use) ?? use([0])
        }
    }
}
