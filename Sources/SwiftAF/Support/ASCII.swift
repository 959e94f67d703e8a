/// Byte classes of HTTP's grammar, in one place.
enum ASCII {
    /// A byte that no header value may be sent with: controls but tabs (RFC 9110, section 5.5).
    static func isForbiddenInField(_ byte: UInt8) -> Bool {
        isControl(byte) && byte != 0x09
    }

    /// C0 controls and DEL.
    static func isControl(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == 0x7F
    }

    /// A decimal digit.
    @inline(__always)
    static func isDigit(_ byte: UInt8) -> Bool {
        byte &- UInt8(ascii: "0") < 10
    }

    /// Optional white space of HTTP: a space or a tab.
    static func isBlank(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09
    }

    /// `byte` in lower case if it is an ASCII capital, else unchanged.
    @inline(__always)
    static func lowercased(_ byte: UInt8) -> UInt8 {
        byte &- 0x41 < 26 ? byte | 0x20 : byte
    }

    /// Whether two strings are the same but for the case of ASCII letters.
    static func equalIgnoringCase(_ left: String, _ right: some StringProtocol) -> Bool {
        let (left, right) = (left.utf8, right.utf8)
        guard left.count == right.count else { return false }
        return left.elementsEqual(right) { lowercased($0) == lowercased($1) }
    }

    /// The same of bytes.
    static func equalIgnoringCase(
        _ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>
    ) -> Bool {
        guard left.count == right.count else { return false }
        for index in left.indices where lowercased(left[index]) != lowercased(right[index]) { return false }
        return true
    }

    /// `text` with its ASCII capitals in lower case. Unlike `lowercased()` it leaves all else alone.
    static func lowercased(_ text: some StringProtocol) -> String {
        String(decoding: text.utf8.map(lowercased), as: UTF8.self)
    }

    /// `text` without spaces and tabs at either end. Works on bytes: a blank before a combining mark is one too.
    static func trimmingBlanks(_ text: Substring) -> Substring {
        let bytes = text.utf8
        guard let first = bytes.firstIndex(where: { !isBlank($0) }),
            let last = bytes.lastIndex(where: { !isBlank($0) })
        else { return "" }
        return Substring(bytes[first...last])
    }

    /// Text of a peer or a user made fit for messages: control characters, which could forge log lines or drive
    /// a terminal, are replaced, and after `limit` characters it ends in an ellipsis.
    static func printable(_ text: some StringProtocol, limit: Int = .max) -> String {
        var result = String.UnicodeScalarView()
        for (index, scalar) in text.unicodeScalars.enumerated() {
            guard index < limit else {
                result.append("…")
                break
            }
            result.append(scalar.properties.generalCategory == .control ? "\u{FFFD}" : scalar)
        }
        return String(result)
    }
}
