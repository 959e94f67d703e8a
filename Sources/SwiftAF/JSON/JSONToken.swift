/// A value of a JSON text in a ``JSONTape``. It has 16 bytes only, because a text of 1 KiB has about a hundred tokens.
struct JSONToken {
    enum Kind: UInt8 {
        case null, bool
        /// A number that is stored in the token, as ``JSONNumber/Digits``.
        case digits
        /// Any other number, which is in the text.
        case number
        /// A string or the key of a member, which is in the text.
        case string
        case array, object
    }

    /// From the lowest bit: four bits for the kind, one for the flag, three unused, 56 for the detail.
    private let head: UInt64
    private let body: UInt64

    private init(_ kind: Kind, flag: Bool = false, detail: UInt64 = 0, body: UInt64 = 0) {
        head = UInt64(kind.rawValue) | (flag ? 0x10 : 0) | detail << 8
        self.body = body
    }

    @inline(__always)
    var kind: Kind { Kind(rawValue: UInt8(truncatingIfNeeded: head & 0xF)) ?? .null }
    /// For a boolean, its value; for a string, whether it contains escapes.
    var flag: Bool { head & 0x10 != 0 }
    private var detail: UInt64 { head >> 8 }

    static let null = JSONToken(.null)

    static func bool(_ value: Bool) -> JSONToken { JSONToken(.bool, flag: value) }

    static func digits(_ digits: JSONNumber.Digits) -> JSONToken {
        JSONToken(.digits, flag: digits.isNegative, detail: UInt64(digits.scale), body: digits.mantissa)
    }

    var digits: JSONNumber.Digits {
        JSONNumber.Digits(mantissa: body, scale: UInt8(truncatingIfNeeded: detail), isNegative: flag)
    }

    /// Creates the token of a number or a string, with its place in the text, without the quotes of a string.
    static func text(_ kind: Kind, from start: Int, count: Int, isEscaped: Bool = false) -> JSONToken {
        JSONToken(
            kind, flag: isEscaped, detail: UInt64(truncatingIfNeeded: start), body: UInt64(truncatingIfNeeded: count))
    }

    /// The offset of a number or a string in the text.
    var start: Int { Int(truncatingIfNeeded: detail) }
    /// The size of a number or a string in bytes.
    var size: Int { Int(truncatingIfNeeded: body) }

    /// Creates the token of an array or an object, with the number of its elements or members. Their tokens are between
    /// this one and the position `end`.
    static func container(_ kind: Kind, count: Int, end: Int) -> JSONToken {
        JSONToken(kind, detail: UInt64(truncatingIfNeeded: count), body: UInt64(truncatingIfNeeded: end))
    }

    /// The number of elements or members.
    var count: Int { Int(truncatingIfNeeded: detail) }

    /// The position of the next token that isn't part of this one, which is at `position`.
    @inline(__always)
    func end(at position: Int) -> Int {
        head & 0xF >= UInt64(Kind.array.rawValue) ? Int(truncatingIfNeeded: body) : position &+ 1
    }
}
