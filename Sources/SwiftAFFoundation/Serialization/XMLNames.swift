import Foundation
import SwiftAF

/// Collects the values of `xml:id` in a document. When libxml2 builds a tree, it prints a value that isn't a name, or
/// that is repeated, to the standard error, including line breaks.
struct XMLNames {
    private var all: Set<String> = []

    mutating func add(_ value: String) throws(SessionError) {
        // libxml2 ignores blanks around a name.
        let name = value.trimmingCharacters(in: CharacterSet(charactersIn: " \t\r\n"))
        guard Self.isName(name) else { throw XMLCost.error("the value of an attribute xml:id isn't a name") }
        guard all.insert(name).inserted else { throw XMLCost.error("two elements have the same xml:id") }
    }

    /// Returns whether a value is a name without a colon (XML 1.0, 5th edition, section 2.3). libxml2 accepts fewer
    /// letters; the values that it prints for that reason are single words.
    private static func isName(_ name: String) -> Bool {
        guard let first = name.unicodeScalars.first, isNameStart(first) else { return false }
        return name.unicodeScalars.allSatisfy { isNameStart($0) || isOtherNameCharacter($0) }
    }

    private static func isNameStart(_ character: Unicode.Scalar) -> Bool {
        switch character {
        case "A"..."Z", "_", "a"..."z", "\u{C0}"..."\u{D6}", "\u{D8}"..."\u{F6}", "\u{F8}"..."\u{2FF}",
            "\u{370}"..."\u{37D}", "\u{37F}"..."\u{1FFF}", "\u{200C}"..."\u{200D}", "\u{2070}"..."\u{218F}",
            "\u{2C00}"..."\u{2FEF}", "\u{3001}"..."\u{D7FF}", "\u{F900}"..."\u{FDCF}", "\u{FDF0}"..."\u{FFFD}",
            "\u{10000}"..."\u{EFFFF}":
            true
        default: false
        }
    }

    private static func isOtherNameCharacter(_ character: Unicode.Scalar) -> Bool {
        switch character {
        case "-", ".", "0"..."9", "\u{B7}", "\u{300}"..."\u{36F}", "\u{203F}"..."\u{2040}": true
        default: false
        }
    }
}
