/// Classes of bytes in HTTP's grammar, and operations on texts that treat ASCII only.
package enum ASCII {
    /// Whether a byte is forbidden in header values: control characters except tab (RFC 9110 5.5).
    static func isForbiddenInField(_ byte: UInt8) -> Bool {
        isControl(byte) && byte != 0x09
    }

    /// Whether a byte is a C0 control character or DEL.
    static func isControl(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == 0x7F
    }

    /// Whether a byte is a decimal digit.
    @inline(__always)
    package static func isDigit(_ byte: UInt8) -> Bool {
        byte &- UInt8(ascii: "0") < 10
    }

    /// Whether a byte is a letter.
    @inline(__always)
    package static func isLetter(_ byte: UInt8) -> Bool {
        (byte | 0x20) &- UInt8(ascii: "a") < 26
    }

    /// Whether a text is a number without a sign: one or more decimal digits (`1*DIGIT`).
    package static func isNumber(_ text: some StringProtocol) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy(isDigit)
    }

    /// Whether a byte is HTTP's optional white space (RFC 9110 5.6.3): a space or a tab.
    static func isBlank(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09
    }

    /// Returns the byte in lower case if it is an ASCII capital, otherwise unchanged.
    @inline(__always)
    static func lowercased(_ byte: UInt8) -> UInt8 {
        byte &- 0x41 < 26 ? byte | 0x20 : byte
    }

    /// Compares strings, ignoring the case of ASCII letters only.
    package static func equalIgnoringCase(_ left: String, _ right: some StringProtocol) -> Bool {
        let (left, right) = (left.utf8, right.utf8)
        guard left.count == right.count else { return false }
        // The fast path for contiguous bytes, which native strings have, takes a third of the time (measured by the row
        // `json_64` of Benchmarks/run).
        let areEqual = left.withContiguousStorageIfAvailable { left in
            right.withContiguousStorageIfAvailable { right in equalIgnoringCase(left, right) }
        }
        return (areEqual ?? nil) ?? left.elementsEqual(right) { lowercased($0) == lowercased($1) }
    }

    /// Compares bytes, ignoring the case of ASCII letters only.
    static func equalIgnoringCase(
        _ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>
    ) -> Bool {
        guard left.count == right.count else { return false }
        for index in left.indices where lowercased(left[index]) != lowercased(right[index]) { return false }
        return true
    }

    /// Returns the text with ASCII capitals in lower case. Unlike `lowercased()`, it doesn't change other characters.
    package static func lowercased(_ text: some StringProtocol) -> String {
        String(decoding: text.utf8.map(lowercased), as: UTF8.self)
    }

    /// Removes leading and trailing spaces and tabs. Works on bytes, so that a blank before a combining mark is
    /// removed, too.
    static func trimmingBlanks(_ text: Substring) -> Substring {
        let bytes = text.utf8
        guard let first = bytes.firstIndex(where: { !isBlank($0) }),
            let last = bytes.lastIndex(where: { !isBlank($0) })
        else { return "" }
        return Substring(bytes[first...last])
    }

    /// Makes the text of a peer or a user safe for messages: replaces its unsafe characters (``isUnsafe(_:)``). A text
    /// longer than `limit` characters is truncated, with an ellipsis.
    package static func printable(_ text: some StringProtocol, limit: Int = .max) -> String {
        var result = String.UnicodeScalarView()
        for (index, scalar) in text.unicodeScalars.enumerated() {
            guard index < limit else {
                result.append("…")
                break
            }
            result.append(isUnsafe(scalar) ? "\u{FFFD}" : scalar)
        }
        return String(result)
    }

    /// Whether a character from a peer could forge or reorder lines, or control a terminal: control characters,
    /// separators of lines and paragraphs, and the marks, embeddings, overrides and isolates that change the direction
    /// of text (Unicode's property Bidi_Control).
    package static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case ..<0x20, 0x7F..<0xA0: true
        case 0x061C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}

extension StringProtocol {
    /// Whether the text contains NUL, where a C string would end. The core can't detect that, so Swift must refuse such
    /// a text.
    var containsNUL: Bool { utf8.contains(0) }

    /// Returns why the text can't be the path of a file; nil if it can. `name` describes the path in the result.
    func pathFault(_ name: String) -> String? {
        if isEmpty { return "\(name) is empty" }
        return containsNUL ? "\(name) contains NUL" : nil
    }
}
