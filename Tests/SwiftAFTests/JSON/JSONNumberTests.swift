import FoundationEssentials
import SwiftAF
import Testing

/// A number that was read is never changed: it is exact, it is an error, or the nearest of a binary floating-point
/// type.
@Suite struct JSONNumberTests {
    static let texts = [
        "0", "-0", "0.0", "-0.0", "1", "1.0", "0.10", "100", "1e2", "1E+2", "1e-2", "1e0002", "0.1",
        "12345678901234567890",
        "18446744073709551615", "18446744073709551616", "-9223372036854775809", "0.30000000000000004",
        "123456789012345678901234567890.123456789", "1e999", "-1e999", "1e-999", "1e99999999999999999999999",
        "0.0000000000000000000000000000000000000000000000000001", "9.9999999999999999999",
        "3.141592653589793238462643383279502884197169399375105820974944592307816406286208998628034825342117067982148",
    ]

    @Test(arguments: texts)
    func keepsItsText(text: String) throws {
        #expect(JSONNumber(text)?.text == text)
        #expect(try JSONValue(parsing: "[\(text)]").text() == "[\(text)]")
        #expect(try JSONValue(parsing: "[\(text) ]").decode(as: JSONValue.self).text() == "[\(text)]")
        #expect(try JSONValue(encoding: JSONValue(parsing: text)).text() == text)
        let longTail = "1." + String(repeating: "0", count: 300) + "1"
        #expect(JSONNumber(longTail)?.text == longTail)
    }

    @Test(arguments: [
        "", " 1", "1 ", "01", "+1", "1.", ".5", "0x1", "NaN", "inf", "1e", "--1", "1 2", "\u{FEFF}1", "1\n", "[1]",
    ])
    func refusesTextThatIsNotANumber(text: String) {
        #expect(JSONNumber(text) == nil)
    }

    /// The lowest and highest value of each width decode, the next ones are errors.
    @Test func integersOfEveryWidthAreExactOrAnError() throws {
        try bounds(Int8.self)
        try bounds(Int16.self)
        try bounds(Int32.self)
        try bounds(Int64.self)
        try bounds(Int128.self)
        try bounds(Int.self)
        try bounds(UInt8.self)
        try bounds(UInt16.self)
        try bounds(UInt32.self)
        try bounds(UInt64.self)
        try bounds(UInt128.self)
        try bounds(UInt.self)
    }

    private func bounds<Number: FixedWidthInteger & Codable & Sendable>(_ type: Number.Type) throws {
        for (value, beyond) in [(Number.min, below(Number.min)), (Number.max, above(Number.max))] {
            for text in [
                "\(value)", "\(value).0", "\(value).0e0", "\(value).000000000000000000000000000000000000000000",
            ] {
                let data = Data("[\(text)]".utf8)
                #expect(try JSONCoder().decode([Number].self, from: data) == [value], "\(text)")
                #expect(
                    try JSONCoder().decode([String: Number].self, from: Data(#"{"a":\#(text)}"#.utf8)) == ["a": value])
            }
            let larger = value == 0 ? [] : ["\(value)e1", "\(value)e400"]
            for text in larger + [beyond, "\(value).5", "1e99999999999999999999"] {
                #expect(throws: DecodingError.self, "\(text) as \(type)") {
                    try JSONCoder().decode([Number].self, from: Data("[\(text)]".utf8))
                }
            }
            #expect(try JSONCoder().encode([value]) == Data("[\(value)]".utf8))
            #expect(try JSONCoder().encode(["a": value]) == Data(#"{"a":\#(value)}"#.utf8))
            #expect(JSONNumber(value).text == "\(value)")
        }
    }

    /// One less, in decimal digits.
    private func below(_ value: some FixedWidthInteger) -> String {
        value == 0 ? "-1" : "-" + increment(String("\(value)".dropFirst()))
    }

    private func above(_ value: some FixedWidthInteger) -> String { increment("\(value)") }

    private func increment(_ digits: String) -> String {
        var bytes = Array(digits.utf8)
        var index = bytes.count - 1
        while bytes[index] == UInt8(ascii: "9") {
            bytes[index] = UInt8(ascii: "0")
            index -= 1
        }
        bytes[index] += 1
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The two that were wrong: they went through `Double`.
    @Test func integersBeyondDoublesPrecisionAreNotRounded() throws {
        #expect(try JSONValue(parsing: "12345678901234567890").decode(as: UInt64.self) == 12_345_678_901_234_567_890)
        #expect(throws: DecodingError.self) { try JSONValue(parsing: "-9223372036854775809").decode(as: Int64.self) }
        #expect(try JSONValue(parsing: "-9223372036854775809").decode(as: Int128.self) == -9_223_372_036_854_775_809)
        #expect(throws: DecodingError.self) { try JSONValue(parsing: "9223372036854775808").decode(as: Int64.self) }
    }

    @Test(
        arguments: [
            ("0.1", "0.1"), ("-12.50", "-12.5"), ("1e127", nil), ("1e-128", nil),
            ("123456789012345678901234567890", nil),
            ("99999999999999999999999999999999999999", nil), ("0.00000000000000000001", nil), ("0", "0"), ("-0.0", "0"),
        ] as [(String, String?)])
    func decimalsAreExact(text: String, plain: String?) throws {
        let decimal = try JSONCoder().decode([Decimal].self, from: Data("[\(text)]".utf8))[0]
        #expect(JSONNumber(decimal) == JSONNumber(text))
        if let plain { #expect(decimal.description == plain) }
        let written = try JSONCoder().encode([decimal])
        #expect(try JSONCoder().decode([Decimal].self, from: written) == [decimal])
    }

    @Test(
        arguments: [
            "1e200", "1e-200", "1e99999999999999999999", "1.000000000000000000000000000000000000000000000000001",
            "123456789012345678901234567890123456789012345", #""1""#, "null",
        ])
    func decimalsThatAreNotExactAreAnError(text: String) {
        #expect(throws: DecodingError.self) { try JSONCoder().decode([Decimal].self, from: Data("[\(text)]".utf8)) }
    }

    @Test func floatingPointTypesAreNearestOrAnError() throws {
        #expect(try JSONValue(parsing: "0.1").decode(as: Float.self) == 0.1)
        // Rounded twice, by way of a `Double`, these would be 1.
        #expect(try JSONValue(parsing: "1.00000005960464477539062500001").decode(as: Float.self) == 1.0000001)
        #expect(try JSONValue(parsing: "1.000000059604644776").decode(as: Float.self) == 1.0000001)
        #expect(try JSONValue(parsing: "1.000000059604644775").decode(as: Float.self) == 1)
        #expect(try JSONValue(parsing: "16777217").decode(as: Float.self) == 16_777_216)
        #expect(try JSONValue(parsing: "1e-999").decode(as: Double.self) == 0)
        for (text, isFloatOnly) in [("1e39", true), ("3.5e38", true), ("1e999", false), ("-1e309", false)] {
            #expect(throws: DecodingError.self) { try JSONValue(parsing: text).decode(as: Float.self) }
            if isFloatOnly { continue }
            #expect(throws: DecodingError.self) { try JSONValue(parsing: text).decode(as: Double.self) }
        }
    }

    @Test func comparesNumbersByValueNotSpelling() throws {
        let same: [[String]] = [
            ["0", "-0", "0.0", "0e5", "-0.000e99999999999999999999999"],
            ["1", "1.0", "10e-1", "0.1e1", "1e0", "1.000000000000000000000000"],
            ["100", "1e2", "1E+2", "1e00002"],
            ["12345678901234567890", "1234567890123456789e1", "12345678901234567890.0"],
            ["-0.5", "-5e-1"], ["1e999", "10e998"], ["18446744073709551615", "18446744073709551615.00"],
            // Exponents of more than 18 digits, also where only one of the spellings has so many.
            ["1e99999999999999999999", "10e99999999999999999998", "0.01e100000000000000000001"],
            ["1e1000000000000000000", "10e999999999999999999", "0.1e1000000000000000001", "100e999999999999999998"],
            ["1e999999999999999999", "0.1e1000000000000000000", "1.00e0999999999999999999"],
            ["1e-1000000000000000000", "0.1e-999999999999999999", "10e-1000000000000000001"],
            ["1e-999999999999999999", "10e-1000000000000000000"],
            ["-1e-99999999999999999999", "-0.1e-99999999999999999998", "-10e-100000000000000000000"],
            ["1e2000000000000000000", "10e1999999999999999999", "0.1e2000000000000000001"],
            [
                "1e12345678901234567890123456789012345678901234567890",
                "10e12345678901234567890123456789012345678901234567889",
            ],
        ]
        for (index, group) in same.enumerated() {
            let numbers = try group.map { try #require(JSONNumber($0)) }
            #expect(Set(numbers).count == 1, "\(group)")
            for other in same[(index + 1)...] {
                #expect(numbers[0] != JSONNumber(other[0]), "\(group[0]) \(other[0])")
            }
        }
        #expect(
            JSONNumber(0.1) == JSONNumber("0.1") && JSONNumber(1.0) == JSONNumber(1) && JSONNumber(0.5) != JSONNumber(1)
        )
        let (nan, infinity) = (JSONNumber(Double.nan), JSONNumber(Double.infinity))
        #expect(nan == nan && infinity != JSONNumber("1e999"))
        #expect(JSONNumber(0x1p64).exactly(as: UInt128.self) == 18_446_744_073_709_552_000)
        #expect(!infinity.isFinite && infinity.exactly(as: Int.self) == nil)
    }

    private func checkIntegers<Integer: FixedWidthInteger>(of type: Integer.Type) {
        for value in [0, -0.0, 1, -1, 127, 128, -128, -129, 255, 256, 32_768, -32_769, 0x1p31, 0x1p32, 0x1p53 - 1] {
            #expect(JSONNumber(value).exactly(as: type) == Integer(exactly: value), "\(type) \(value)")
        }
        for value in [0.5, -0.5, 1.25, Double.leastNonzeroMagnitude, .infinity, .nan] {
            #expect(JSONNumber(value).exactly(as: type) == nil, "\(type) \(value)")
        }
    }

    @Test func convertsDoublesToEveryIntegerTypeExactly() {
        checkIntegers(of: Int.self)
        checkIntegers(of: Int8.self)
        checkIntegers(of: Int16.self)
        checkIntegers(of: Int32.self)
        checkIntegers(of: Int64.self)
        checkIntegers(of: Int128.self)
        checkIntegers(of: UInt.self)
        checkIntegers(of: UInt8.self)
        checkIntegers(of: UInt16.self)
        checkIntegers(of: UInt32.self)
        checkIntegers(of: UInt64.self)
        checkIntegers(of: UInt128.self)
    }

    @Test func exponentsOfAnySizeAreCompared() throws {
        var different: Set<JSONNumber> = []
        for power in [18, 19, 36] {
            let middle = (0..<power).reduce(Int128(1)) { power, _ in power * 10 }
            for exponent in (-3...3).flatMap({ [middle + $0, -middle + $0] }) {
                let same = try (1...5).flatMap { count in
                    let zeros = String(repeating: "0", count: count)
                    return [
                        try #require(JSONNumber("1\(zeros)e\(exponent - Int128(count))")),
                        try #require(JSONNumber("0.\(zeros)1E\(exponent + Int128(count) + 1)")),
                        try #require(JSONNumber("1.\(zeros)e\(exponent)")),
                    ]
                }
                #expect(Set(same).count == 1, "\(exponent)")
                #expect(different.insert(same[0]).inserted, "\(exponent)")
            }
        }
    }

    @Test func otherFormatsGetTheExactNumber() throws {
        for text in ["12345678901234567890", "-9223372036854775808", "0.1", "12345678901234567890.5", "1e300"] {
            let value = try JSONValue(parsing: text)
            let written = try JSONEncoder().encode([value])
            #expect(try JSONValue(parsing: written) == [value], "\(text)")
            #expect(try JSONDecoder().decode([JSONValue].self, from: written) == [value], "\(text)")
        }
        #expect(throws: EncodingError.self) { try JSONEncoder().encode([JSONValue(parsing: "1e999")]) }
    }

    @Test func parametersKeepTheDigits() throws {
        let parameters = Parameters(try JSONValue(parsing: #"{"a":12345678901234567890,"b":1e999,"c":0.5,"d":1.0}"#))
        #expect(try ParameterEncoder().encode(parameters) == "a=12345678901234567890&b=1e999&c=0.5&d=1")
        let request = try JSONRequestSerializer().serialize(HTTPRequest(.post, "http://h/"), parameters: parameters)
        #expect(request.body.data == Data(#"{"a":12345678901234567890,"b":1e999,"c":0.5,"d":1}"#.utf8))
    }
}
