/// Reads the value of a header field byte by byte: its tokens and quoted strings.
struct FieldScanner {
    private var rest: Substring.UTF8View

    init(_ text: String) {
        rest = Substring(text).utf8
    }

    var isAtEnd: Bool { rest.isEmpty }
    /// Whether a quoted string begins here.
    var isAtQuote: Bool { rest.first == UInt8(ascii: "\"") }

    mutating func skipBlanks() {
        rest = rest.drop(while: ASCII.isBlank)
    }

    mutating func skip(_ mark: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: mark) else { return false }
        rest = rest.dropFirst()
        return true
    }

    /// Reads the longest token at this position. Returns nil if no token begins here.
    mutating func token() -> String? {
        let token = CoreField.token(atStartOf: Substring(rest))
        guard !token.isEmpty else { return nil }
        rest = rest.dropFirst(token.utf8.count)
        return String(token)
    }

    /// Reads the bytes up to one of the delimiters, or to the end, without the blanks around them.
    mutating func text(upTo delimiters: StaticString) -> Substring {
        let text = rest.prefix { byte in !delimiters.withUTF8Buffer { $0.contains(byte) } }
        rest = rest[text.endIndex...]
        return ASCII.trimmingBlanks(Substring(text))
    }

    /// Reads a token or a quoted string; nil if neither begins here, or if the string isn't terminated.
    mutating func value() -> String? {
        guard skip("\"") else { return token() }
        var bytes: [UInt8] = []
        while let byte = rest.first {
            rest = rest.dropFirst()
            if byte == UInt8(ascii: "\"") { return String(decoding: bytes, as: UTF8.self) }
            guard byte == UInt8(ascii: "\\") else {
                bytes.append(byte)
                continue
            }
            guard let escaped = rest.first else { return nil }
            rest = rest.dropFirst()
            bytes.append(escaped)
        }
        return nil
    }
}
