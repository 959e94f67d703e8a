public import FoundationEssentials

/// A JSON number that keeps its digits: it is written as it was read.
///
/// ```swift
/// let id = try JSONValue(parsing: "12345678901234567890").number
/// id?.exactly(as: UInt64.self)     // 12345678901234567890
/// id?.exactly(as: Int64.self)      // nil: it doesn't fit
/// id?.double                       // 1.2345678901234567e19, the nearest
/// ```
///
/// RFC 8259 (section 6) doesn't limit size and precision. Nothing is rounded before a type is requested: integer types
/// and `Decimal` get the exact value or nil, `Double` and `Float` the nearest value, or nil if out of range.
///
/// Numbers are equal if their values are: `1`, `1.0` and `10e-1`. Their ``text`` differs.
public struct JSONNumber: Sendable {
    enum Storage: Sendable {
        /// A number without an exponent whose digits fit; the common case.
        case digits(Digits)
        /// Any other text.
        case text(String)
        /// A `Double` from the program, which may be infinite or NaN.
        case binary(Double)
    }

    /// ±`mantissa` with a decimal point before its last `scale` digits. `0.10` has the mantissa 10 and the scale 2.
    struct Digits: Sendable {
        var mantissa: UInt64
        var scale: UInt8
        var isNegative: Bool
    }

    let storage: Storage

    init(_ storage: Storage) {
        self.storage = storage
    }

    /// Creates a number from an integer of any width.
    public init(_ value: some BinaryInteger) {
        if let mantissa = UInt64(exactly: value.magnitude) {
            storage = .digits(Digits(mantissa: mantissa, scale: 0, isNegative: value < 0))
        } else {
            storage = .text(String(value))
        }
    }

    /// Creates a number from a `Double`, with the fewest digits that parse as the same value. Infinities and NaN can be
    /// stored but not written, because JSON doesn't have them.
    public init(_ value: Double) {
        storage = .binary(value)
    }

    /// Creates a number with all digits of a `Decimal`; nil for NaN.
    public init?(_ value: Decimal) {
        self.init(value.description)
    }

    /// Parses a number; nil unless the text is exactly a number of RFC 8259 (section 6).
    public init?(_ text: String) {
        // Checked because the parser would accept white space and a byte order mark around the number.
        guard let first = text.utf8.first, first == UInt8(ascii: "-") || ASCII.isDigit(first),
            let last = text.utf8.last, ASCII.isDigit(last),
            case .number(let number) = try? JSONValue(parsing: text)
        else { return nil }
        self = number
    }

    /// Whether the number is neither infinite nor NaN.
    public var isFinite: Bool {
        if case .binary(let value) = storage { value.isFinite } else { true }
    }

    /// The number as JSON text, with the digits that were parsed. For infinities and NaN, which JSON can't express:
    /// `inf`, `-inf` and `nan`.
    public var text: String {
        switch storage {
        case .digits(let digits):
            var bytes: [UInt8] = []
            digits.append(to: &bytes)
            return String(decoding: bytes, as: UTF8.self)
        case .text(let text): return text
        case .binary(let value): return value.description
        }
    }
}

// MARK: - Values

extension JSONNumber {
    /// Returns the value as an integer of any width; nil if it has a fraction or doesn't fit. `1.0` and `1e2` are
    /// integers.
    public func exactly<Integer: FixedWidthInteger>(as type: Integer.Type = Integer.self) -> Integer? {
        switch storage {
        case .digits(let digits): return digits.integer()
        // From 2^53 on, the shortest text may be another integer than the bits. The text decides, because it is what is
        // written.
        // Through `Int64`, because the conversion of a `Double` is compiled again for each type.
        case .binary(let value) where value.magnitude < 0x1p53:
            return Int64(exactly: value).flatMap { Integer(exactly: $0) }
        case .text, .binary: return Significand(self)?.integer()
        }
    }

    /// The nearest `Double`; nil if out of range. Values too close to zero become zero.
    public var double: Double? {
        switch storage {
        case .digits(let digits): return digits.double ?? Double(text).flatMap { $0.isFinite ? $0 : nil }
        case .text(let text): return Double(text).flatMap { $0.isFinite ? $0 : nil }
        case .binary(let value): return value
        }
    }

    /// The nearest `Float`, rounded once; nil if out of range. Values too close to zero become zero.
    public var float: Float? {
        switch storage {
        case .digits(let digits):
            if let quotient = digits.quotient { return quotient.float }
            return Float(text).flatMap { $0.isFinite ? $0 : nil }
        case .binary(let value) where !value.isFinite: return Float(value)
        case .text, .binary: return Float(text).flatMap { $0.isFinite ? $0 : nil }
        }
    }

    /// The exact value as a `Decimal`; nil if it needs more than 38 digits or an exponent outside of -128 to 127.
    public var decimal: Decimal? {
        guard let significand = Significand(self), let value = significand.decimal() else { return nil }
        // Compared, because the arithmetic of `Decimal` rounds silently.
        guard JSONNumber(value) == self else { return nil }
        return value
    }
}

extension JSONNumber.Digits {
    /// A literal, because each use of a lazily computed value would check whether it was computed.
    private static let powersOfTen: [UInt64] = [
        1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000, 10_000_000_000,
        100_000_000_000, 1_000_000_000_000, 10_000_000_000_000, 100_000_000_000_000, 1_000_000_000_000_000,
        10_000_000_000_000_000, 100_000_000_000_000_000, 1_000_000_000_000_000_000, 10_000_000_000_000_000_000,
    ]

    func integer<Integer: FixedWidthInteger>() -> Integer? {
        var magnitude = mantissa
        if scale > 0, mantissa != 0 {
            guard scale < 20 else { return nil }
            let (quotient, remainder) = mantissa.quotientAndRemainder(dividingBy: Self.powersOfTen[Int(scale)])
            guard remainder == 0 else { return nil }
            magnitude = quotient
        }
        if !isNegative { return Integer(exactly: magnitude) }
        return Integer(exactly: 0 - Int128(magnitude))
    }

    /// The nearest `Double`; nil if one division isn't enough to compute it.
    @inline(__always)
    var double: Double? {
        // Both operands are exact as `Double`, so the division rounds once, to the nearest value. Faster than the
        // general way, which divides 128-bit integers (`bench-json`).
        if mantissa <= 1 << 53, scale <= 15 {
            let magnitude = Double(mantissa) / Double(Self.powersOfTen[Int(scale)])
            return isNegative ? -magnitude : magnitude
        }
        return quotient?.double
    }

    /// A value as `bits` × 2^`exponent`. If a remainder was cut off, the lowest bit is set (a sticky bit). That bit is
    /// far below the precision of a `Double`, so the conversion rounds once, to the nearest value.
    struct Quotient {
        var bits: UInt64
        var exponent: Int
        var isNegative: Bool

        var double: Double {
            let magnitude = Double(sign: .plus, exponent: exponent, significand: Double(bits))
            return isNegative ? -magnitude : magnitude
        }

        var float: Float {
            let magnitude = Float(sign: .plus, exponent: exponent, significand: Float(bits))
            return isNegative ? -magnitude : magnitude
        }
    }

    /// The number as a quotient; nil if the scale is too large. At least 10^-19, so never subnormal, not even as a
    /// `Float`.
    var quotient: Quotient? {
        if scale == 0 || mantissa == 0 { return Quotient(bits: mantissa, exponent: 0, isNegative: isNegative) }
        guard scale < 20 else { return nil }
        let power = Self.powersOfTen[Int(scale)]
        let (up, down) = (mantissa.leadingZeroBitCount, power.leadingZeroBitCount)
        // Normalised, so that both have their highest bit set. Half of the dividend is less than the divisor, as
        // dividingFullWidth requires, and the quotient has 63 or 64 bits.
        let (dividend, divisor) = (mantissa << up, power << down)
        let (bits, remainder) = divisor.dividingFullWidth((dividend >> 1, dividend << 63))
        return Quotient(
            bits: remainder == 0 ? bits : bits | 1, exponent: down - up - 63, isNegative: isNegative)
    }

    /// Appends the digits as they were parsed.
    func append(to bytes: inout [UInt8]) {
        if isNegative { bytes.append(UInt8(ascii: "-")) }
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 280) { buffer in
            // Written backwards from the last digit; at least one digit precedes the point. There is room for 255
            // digits, a point and a digit.
            var at = buffer.count
            var rest = mantissa
            var written = 0
            repeat {
                if written == scale, written > 0 {
                    at -= 1
                    buffer[at] = UInt8(ascii: ".")
                }
                at -= 1
                buffer[at] = UInt8(ascii: "0") + UInt8(rest % 10)
                rest /= 10
                written += 1
            } while rest != 0 || written <= scale
            bytes.append(contentsOf: buffer[at...])
        }
    }
}

// MARK: - Equality

/// A number as its significant digits × 10^`exponent`, a canonical form.
private struct Significand: Hashable {
    var isNegative = false
    /// Up to 19 leading digits; the other digits are in `tail`. There are no leading or trailing zeros; zero has no
    /// digits.
    var head: UInt64 = 0
    var tail: [UInt8] = []
    /// Less than 10^18, so that sums can't overflow. 0 if the exponent is larger.
    var exponent = 0
    /// A larger exponent as text; otherwise empty.
    var hugeExponent = ""

    /// Converts a number; nil for infinities and NaN.
    init?(_ number: JSONNumber) {
        switch number.storage {
        case .digits(let digits) where digits.mantissa < 10_000_000_000_000_000_000: self.init(digits)
        case .digits, .text: self.init(number.text)
        case .binary(let value):
            guard value.isFinite else { return nil }
            self.init(number.text)
        }
    }

    private init(_ digits: JSONNumber.Digits) {
        guard digits.mantissa != 0 else { return }
        isNegative = digits.isNegative
        head = digits.mantissa
        exponent = -Int(digits.scale)
        while head.isMultiple(of: 10) {
            head /= 10
            exponent += 1
        }
    }

    /// Parses a JSON number.
    private init(_ text: String) {
        var digits: [UInt8] = []
        var scale = 0
        var isFraction = false
        let utf8 = text.utf8
        var at = utf8.startIndex
        while at < utf8.endIndex, utf8[at] | 0x20 != UInt8(ascii: "e") {
            switch utf8[at] {
            case UInt8(ascii: "-"): isNegative = true
            case UInt8(ascii: "."): isFraction = true
            case let byte:
                if byte != UInt8(ascii: "0") || !digits.isEmpty { digits.append(byte - UInt8(ascii: "0")) }
                if isFraction { scale += 1 }
            }
            at = utf8.index(after: at)
        }
        guard !digits.isEmpty else {
            isNegative = false
            return
        }
        while digits.last == 0 {
            digits.removeLast()
            scale -= 1
        }
        for digit in digits.prefix(19) { head = head * 10 + UInt64(digit) }
        tail = Array(digits.dropFirst(19))
        exponent = -scale
        if at < utf8.endIndex { add(Substring(utf8[utf8.index(after: at)...])) }
    }

    /// Adds the exponent in a text, which can have any number of digits.
    private mutating func add(_ written: Substring) {
        let isBelowZero = written.first == "-"
        let digits = written.drop { $0 == "-" || $0 == "+" }.drop { $0 == "0" }
        let limit = 1_000_000_000_000_000_000
        // Only the last 18 digits are added as an `Int`, so that the sum can't overflow.
        var upper = digits.utf8.dropLast(18).map { $0 - UInt8(ascii: "0") }
        var lower = (Int(digits.suffix(18)) ?? 0) + (isBelowZero ? -exponent : exponent)
        if lower >= limit {
            lower -= limit
            Self.increment(&upper)
        } else if lower < 0, !upper.isEmpty {
            lower += limit
            Self.decrement(&upper)
        }
        if upper.isEmpty {
            exponent = isBelowZero ? -lower : lower
        } else {
            exponent = 0
            let text = String(lower)
            hugeExponent =
                (isBelowZero ? "-" : "") + upper.map { String($0) }.joined()
                + String(repeating: "0", count: 18 - text.utf8.count) + text
        }
    }

    /// Adds 1 to the number with these digits. An empty array is zero.
    private static func increment(_ digits: inout [UInt8]) {
        var at = digits.count - 1
        while at >= 0, digits[at] == 9 {
            digits[at] = 0
            at -= 1
        }
        if at >= 0 { digits[at] += 1 } else { digits.insert(1, at: 0) }
    }

    /// Subtracts 1 from the digits of a number that isn't zero.
    private static func decrement(_ digits: inout [UInt8]) {
        var at = digits.count - 1
        while digits[at] == 0 {
            digits[at] = 9
            at -= 1
        }
        digits[at] -= 1
        if digits[0] == 0 { digits.removeFirst() }
    }

    private var digitCount: Int {
        tail.isEmpty ? String(head).utf8.count : 19 + tail.count
    }

    func integer<Integer: FixedWidthInteger>() -> Integer? {
        guard head != 0 else { return 0 }
        // An integer of n bits has at most n / 3 + 1 digits. Trailing zeros are in the exponent.
        guard hugeExponent.isEmpty, exponent >= 0, exponent <= Integer.bitWidth, tail.count <= Integer.bitWidth
        else { return nil }
        var value: Integer = 0
        for digit in integerDigits {
            let (tenfold, overflow) = value.multipliedReportingOverflow(by: 10)
            guard !overflow, let digit = Integer(exactly: digit) else { return nil }
            // Negative values are accumulated downwards, because the minimum has no positive counterpart.
            let (sum, carry) =
                isNegative ? tenfold.subtractingReportingOverflow(digit) : tenfold.addingReportingOverflow(digit)
            guard !carry else { return nil }
            value = sum
        }
        return value
    }

    /// All digits of an integer, including trailing zeros.
    private var integerDigits: [UInt8] {
        String(head).utf8.map { $0 - UInt8(ascii: "0") } + tail + Array(repeating: 0, count: exponent)
    }

    func decimal() -> Decimal? {
        guard head != 0 else { return 0 }
        guard hugeExponent.isEmpty, digitCount <= 39 else { return nil }
        var (mantissa, exponent) = (Decimal(head), exponent)
        for digit in tail { mantissa = mantissa * 10 + Decimal(Int(digit)) }
        // `Decimal` has exponents up to 127; zeros are added to the digits for larger ones.
        while exponent > 127, exponent - 127 <= 39 - digitCount {
            mantissa *= 10
            exponent -= 1
        }
        guard (-128...127).contains(exponent) else { return nil }
        return Decimal(sign: isNegative ? .minus : .plus, exponent: exponent, significand: mantissa)
    }
}

extension JSONNumber: Hashable {
    /// Whether the values are equal, regardless of their digits. NaN equals itself.
    public static func == (left: JSONNumber, right: JSONNumber) -> Bool {
        switch (left.storage, right.storage) {
        case (.digits(let left), .digits(let right)) where left.scale == right.scale:
            return left.mantissa == right.mantissa && (left.isNegative == right.isNegative || left.mantissa == 0)
        case (.binary(let left), .binary(let right)):
            return left == right || (left.isNaN && right.isNaN)
        default:
            guard let left = Significand(left), let right = Significand(right) else { return false }
            return left == right
        }
    }

    public func hash(into hasher: inout Hasher) {
        if let significand = Significand(self) {
            hasher.combine(significand)
        } else {
            hasher.combine(text)
        }
    }
}

extension JSONNumber: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral {
    public init(integerLiteral value: Int64) { self.init(value) }
    public init(floatLiteral value: Double) { self.init(value) }
}

extension JSONNumber: CustomStringConvertible {
    /// The same as ``text``.
    public var description: String { text }
}
