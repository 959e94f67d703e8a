import Foundation

/// Estimates the memory that `JSONSerialization` needs for the objects of a text, which can be hundreds of times as
/// large as the text: on Linux the smallest dictionary with a member takes 3 KB.
///
/// The numbers were measured, and are right to a factor of two.
struct JSONCost {
    private static let dictionary = 2560
    private static let emptyDictionary = 128
    private static let member = 192
    private static let array = 384
    private static let element = 72
    /// The memory for each byte of the text, including its strings.
    private static let byte = 2

    private enum Place {
        case outside
        /// After the bracket that opens a container. Blanks may follow.
        case opened(UInt8)
        case string
        case escape
    }

    private var place = Place.outside
    private let knowsStrings: Bool
    private(set) var bytes: Int

    /// Returns whether the objects of a text take more than `limit` bytes.
    ///
    /// - Parameter isStrict: Whether the text is read as JSON, not as JSON5, which has other strings and comments.
    static func exceeds(_ limit: Int, _ text: Data, isStrict: Bool) -> Bool {
        text.withUnsafeBytes { text in
            // In UTF-16 and UTF-32, which are recognised by NUL bytes, brackets within strings are counted, too.
            var cost = JSONCost(knowsStrings: isStrict && !text.contains(0), size: text.count)
            return cost.bytes > limit || text.contains { cost.read($0) > limit }
        }
    }

    private init(knowsStrings: Bool, size: Int) {
        self.knowsStrings = knowsStrings
        bytes = size * Self.byte
    }

    /// Reads a byte, and returns the cost so far.
    private mutating func read(_ byte: UInt8) -> Int {
        switch place {
        case .outside: readOutside(byte)
        case .opened(let bracket):
            switch byte {
            case 0x00, 0x09, 0x0A, 0x0D, 0x20: break
            case UInt8(ascii: "}") where bracket == UInt8(ascii: "{"):
                bytes += Self.emptyDictionary
                place = .outside
            case UInt8(ascii: "]") where bracket == UInt8(ascii: "["):
                place = .outside
            default:
                bytes += bracket == UInt8(ascii: "{") ? Self.dictionary : Self.array
                place = .outside
                readOutside(byte)
            }
        case .string:
            if byte == UInt8(ascii: "\\") { place = .escape }
            if byte == UInt8(ascii: "\"") { place = .outside }
        case .escape: place = .string
        }
        return bytes
    }

    private mutating func readOutside(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "{"), UInt8(ascii: "["): place = .opened(byte)
        case UInt8(ascii: "\"") where knowsStrings: place = .string
        case UInt8(ascii: ":"): bytes += Self.member
        case UInt8(ascii: ","): bytes += Self.element
        default: break
        }
    }
}
