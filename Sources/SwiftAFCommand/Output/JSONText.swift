import FoundationEssentials
import SwiftAF

/// JSON text that is kept unchanged: digits of numbers, escapes in strings, and the order and repetition of members.
/// Only ``compact`` and ``pretty`` change the white space between tokens.
struct JSONText: Sendable, Hashable {
    /// Valid JSON (RFC 8259) in UTF-8.
    let bytes: [UInt8]

    /// Creates text from bytes; throws if they aren't valid JSON.
    init(_ bytes: [UInt8]) throws(JSONParseError) {
        _ = try JSONValue(parsing: bytes)
        self.bytes = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
    }

    private init(valid bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Returns a quoted string.
    static func string(_ text: String) -> JSONText {
        // A string can always be encoded, so this never fails.
        let quoted = try? JSONValue.string(text).text(options: .withoutEscapingSlashes)
        return JSONText(valid: Array((quoted ?? "\"\"").utf8))
    }

    /// Returns an object with these members, in order.
    static func object(_ members: [(name: String, value: JSONText)]) -> JSONText {
        // Each value is copied once: it may be a large file.
        var bytes = [UInt8(ascii: "{")]
        bytes.reserveCapacity(members.reduce(2) { $0 + $1.name.utf8.count + $1.value.bytes.count + 4 })
        for (index, member) in members.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes += string(member.name).bytes
            bytes.append(UInt8(ascii: ":"))
            bytes += member.value.bytes
        }
        bytes.append(UInt8(ascii: "}"))
        return JSONText(valid: bytes)
    }

    static let null = JSONText(valid: Array("null".utf8))

    /// Returns an array.
    static func array(_ elements: [JSONText]) -> JSONText {
        var bytes = [UInt8(ascii: "[")]
        bytes.reserveCapacity(elements.reduce(2) { $0 + $1.bytes.count + 1 })
        for (index, element) in elements.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes += element.bytes
        }
        bytes.append(UInt8(ascii: "]"))
        return JSONText(valid: bytes)
    }

    /// Encodes a value created by this program.
    static func value(_ value: JSONValue) throws(JSONValue.WritingError) -> JSONText {
        JSONText(valid: Array(try value.text(options: .withoutEscapingSlashes).utf8))
    }

    /// How deeply arrays and objects are nested; zero without any.
    var depth: Int {
        // A string isn't searched: it may be a large file.
        guard bytes.first != UInt8(ascii: "\"") else { return 0 }
        var (depth, deepest) = (0, 0)
        for token in tokens {
            switch token.first {
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            default: break
            }
            deepest = max(deepest, depth)
        }
        return deepest
    }

    /// The value of a form's field: the content of a string; the text of anything else as it is written, without the
    /// white space around it.
    var textInForm: [UInt8] {
        if let string = (try? JSONValue(parsing: bytes))?.string { return Array(string.utf8) }
        let end = bytes.lastIndex { !Self.isBlank($0) }.map { $0 + 1 } ?? 0
        return Array(bytes[..<end].drop(while: Self.isBlank))
    }

    // MARK: White space

    /// The same JSON with the unsafe characters escaped that JSON allows in strings: DEL, those from U+0080 to U+009F,
    /// and those that change the order of text. A terminal would obey them.
    var escapingUnsafe: JSONText { JSONText(valid: Self.escapingUnsafe(bytes)) }

    /// Escapes unsafe characters in JSON, of one or of several values.
    static func escapingUnsafe(_ bytes: [UInt8]) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count)
        for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
            if scalar.value >= 0x7F, ASCII.isUnsafe(scalar) {
                // All of them have at most four digits.
                let digits = String(scalar.value, radix: 16)
                text += "\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)".utf8
            } else {
                text += scalar.utf8
            }
        }
        return text
    }

    /// The text without white space between tokens.
    var compact: JSONText { JSONText(valid: Array(tokens.joined())) }

    /// The text with one line per member and element, indented by two spaces per level.
    var pretty: JSONText { JSONText(valid: pretty { token, _ in Array(token) }) }

    /// Returns the text with one line per member and element.
    ///
    /// - Parameter mark: Returns what is written for a token; `isKey` is whether it is the name of a member.
    func pretty(_ mark: (_ token: ArraySlice<UInt8>, _ isKey: Bool) -> [UInt8]) -> [UInt8] {
        var text: [UInt8] = []
        var depth = 0
        var isEmptySoFar = false
        func breakLine() {
            text.append(UInt8(ascii: "\n"))
            text += repeatElement(UInt8(ascii: " "), count: 2 * depth)
        }
        var tokens = tokens
        var next = tokens.next()
        while let token = next {
            next = tokens.next()
            let first = token.first
            let closes = first == UInt8(ascii: "}") || first == UInt8(ascii: "]")
            if closes { depth -= 1 }
            // Keep the brackets of an empty container together.
            if isEmptySoFar != closes { breakLine() }
            isEmptySoFar = first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
            text += mark(token, next?.first == UInt8(ascii: ":"))
            if isEmptySoFar { depth += 1 }
            if first == UInt8(ascii: ",") { breakLine() }
            if first == UInt8(ascii: ":") { text.append(UInt8(ascii: " ")) }
        }
        return text
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    }

    private var tokens: Tokens { Tokens(rest: bytes[...]) }

    /// The tokens of valid JSON text, in order.
    private struct Tokens: Sequence, IteratorProtocol {
        var rest: ArraySlice<UInt8>

        mutating func next() -> ArraySlice<UInt8>? {
            rest = rest.drop(while: JSONText.isBlank)
            guard let first = rest.first else { return nil }
            let end: Int
            switch first {
            case UInt8(ascii: "\""): end = endOfString
            case UInt8(ascii: "{"), UInt8(ascii: "}"), UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: ","),
                UInt8(ascii: ":"):
                end = rest.startIndex + 1
            default:
                end = rest.firstIndex { JSONText.isBlank($0) || ",]}:".utf8.contains($0) } ?? rest.endIndex
            }
            defer { rest = rest[end...] }
            return rest[..<end]
        }

        private var endOfString: Int {
            var place = rest.startIndex + 1
            while place < rest.endIndex, rest[place] != UInt8(ascii: "\"") {
                place += rest[place] == UInt8(ascii: "\\") ? 2 : 1
            }
            return Swift.min(place + 1, rest.endIndex)
        }
    }
}
