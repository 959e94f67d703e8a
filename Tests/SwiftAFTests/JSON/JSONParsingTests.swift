import FoundationEssentials
import SwiftAF
import Testing

@Suite struct JSONParsingTests {
    @Test(
        arguments: [
            ("null", .null), (" true ", .bool(true)), ("\t\r\n false\n", .bool(false)), ("0", .integer(0)),
            ("-1", .integer(-1)), ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)),
            ("9223372036854775808", .number(JSONNumber(UInt64(1) << 63))), ("0.5", .double(0.5)), ("1.0", .double(1)),
            ("1e2", .double(100)), ("1E+2", .double(100)), ("1e-2", .double(0.01)), ("-0.0", .double(0)),
            ("0e0", .double(0)), ("0.1", .double(0.1)), ("1e22", .double(1e22)), ("1e23", .double(1e23)),
            ("8.5e-23", .double(8.5e-23)), ("0e99999999999999999999", .double(0)),
            ("1.7976931348623157e308", .double(.greatestFiniteMagnitude)), ("5e-324", .double(.leastNonzeroMagnitude)),
            (#""""#, ""), (#""a""#, "a"), (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"), (#""\u0041""#, "A"),
            (#""\u00e9\u20AC""#, "é€"), (#""\ud83d\ude00""#, "😀"), (#""é€😀""#, "é€😀"), (#""\u0000""#, "\0"),
            (#""a\u0301""#, "a\u{301}"), (#""0123456789abcdef\n0123456789é""#, "0123456789abcdef\n0123456789é"),
            (#""\#u{7F}""#, "\u{7F}"), (#""😀\n😀""#, "😀\n😀"),
            ("[]", []), ("[ ]", []), ("[1,[2,[3]],4]", [1, [2, [3]], 4]), ("{}", [:]), ("{ }", [:]),
            (#"{"a":{"b":[]},"c":null}"#, ["a": ["b": []], "c": nil]), ("\u{FEFF}1", 1),
            (" [ 1 , 2 ] ", [1, 2]), (#" { "a" : 1 , "b" : 2 } "#, ["a": 1, "b": 2]),
        ] as [(String, JSONValue)])
    func parsesValidJSONText(text: String, value: JSONValue) throws {
        #expect(try JSONValue(parsing: text) == value)
        #expect(try JSONValue(parsing: Data(text.utf8)) == value)
        #expect(try JSONValue(parsing: Array(text.utf8)) == value)
    }

    @Test func minusZeroKeepsItsSign() throws {
        #expect(try JSONValue(parsing: "-0").double?.sign == .minus)
        #expect(try JSONValue(parsing: "-0.0").double?.sign == .minus)
        #expect(try JSONValue(parsing: "-0").text() == "-0")
    }

    @Test(
        arguments: [
            ("9223372036854775808", 0x1p63), ("-9223372036854775809", -0x1p63), ("18446744073709551616", 0x1p64),
            ("123456789012345678901234567890", 1.2345678901234568e29), ("9007199254740993.0", 9007199254740992),
            ("3.14159265358979323846", .pi), ("1e-400", 0), ("1e999", nil), ("-1e309", nil),
            ("1e99999999999", nil), ("1e99999999999999999999999", nil),
        ] as [(String, Double?)])
    func numbersAreRoundedOnlyForDouble(text: String, double: Double?) throws {
        let value = try JSONValue(parsing: text)
        #expect(value.double == double)
        #expect(try value.text() == text)
    }

    /// Each text with the reason it is refused for and the offset of the place.
    static let malformedTexts: [(String, JSONParseError.Reason, Int)] = [
        ("", .empty, 0), (" \n", .empty, 2), ("\u{FEFF}", .empty, 3),
        // Words.
        ("tru", .unexpectedEnd, 3), ("t", .unexpectedEnd, 1), ("trux", .invalidLiteral, 0), ("nul", .unexpectedEnd, 3),
        ("nUll", .invalidLiteral, 0), ("fals", .unexpectedEnd, 4), ("falsy", .invalidLiteral, 0),
        ("truee", .trailingBytes, 4), ("True", .unexpectedByte, 0), ("NULL", .unexpectedByte, 0),
        ("nan", .invalidLiteral, 0), ("NaN", .unexpectedByte, 0), ("Infinity", .unexpectedByte, 0),
        ("undefined", .unexpectedByte, 0), ("[nul]", .invalidLiteral, 1),
        // Numbers.
        ("-", .unexpectedEnd, 1), ("+1", .unexpectedByte, 0), ("01", .leadingZero, 0), ("-01", .leadingZero, 1),
        ("00", .leadingZero, 0), ("1.", .unexpectedEnd, 2), (".5", .unexpectedByte, 0), ("-.5", .invalidNumber, 1),
        ("1.e5", .invalidNumber, 2), ("1e", .unexpectedEnd, 2), ("1e+", .unexpectedEnd, 3), ("1e-", .unexpectedEnd, 3),
        ("1eX", .invalidNumber, 2), ("1e+-1", .invalidNumber, 3), ("1.2.3", .trailingBytes, 3),
        ("1e1.5", .trailingBytes, 3), ("0x10", .trailingBytes, 1), ("1_000", .trailingBytes, 1),
        ("1,5", .trailingBytes, 1), ("--1", .invalidNumber, 1), ("- 1", .invalidNumber, 1), ("1 2", .trailingBytes, 2),
        ("-Infinity", .invalidNumber, 1), ("-NaN", .invalidNumber, 1), ("٣", .unexpectedByte, 0),
        ("1f", .trailingBytes, 1), ("0b1", .trailingBytes, 1), ("[-]", .invalidNumber, 2), ("[1.]", .invalidNumber, 3),
        // Strings.
        ("\"", .unexpectedEnd, 1), ("\"a", .unexpectedEnd, 2), ("\"a\\", .unexpectedEnd, 3),
        ("\"a\\\"", .unexpectedEnd, 4), ("\"\\x41\"", .invalidEscape, 1), ("\"\\'\"", .invalidEscape, 1),
        ("\"\\a\"", .invalidEscape, 1), ("\"\\U0041\"", .invalidEscape, 1), ("\"\\0\"", .invalidEscape, 1),
        ("\"\\\n\"", .invalidEscape, 1), ("\"a\nb\"", .controlCharacter, 2), ("\"\t\"", .controlCharacter, 1),
        ("\"\0\"", .controlCharacter, 1), ("\"0123456789\u{1F}\"", .controlCharacter, 11),
        ("\"\\n\u{1}\"", .controlCharacter, 3), ("\"\\u\"", .invalidUnicodeEscape, 1), ("\"\\u", .unexpectedEnd, 3),
        ("\"\\u12", .unexpectedEnd, 5),
        ("\"\\u12\" ,  ", .invalidUnicodeEscape, 1), ("\"\\u12G4\"", .invalidUnicodeEscape, 1),
        ("\"\\u-123\"", .invalidUnicodeEscape, 1), ("\"\\u 123\"", .invalidUnicodeEscape, 1),
        ("\"\\u{41}\"", .invalidUnicodeEscape, 1), ("\"\\ud800\"", .loneSurrogate, 1),
        ("\"\\udc00\"", .loneSurrogate, 1), ("\"\\ud800x\"", .loneSurrogate, 1),
        ("\"\\ud800\\n\"", .loneSurrogate, 1), ("\"\\ud800\\ud800\"", .loneSurrogate, 1),
        ("\"\\ud800\\u0041\"", .loneSurrogate, 1), ("\"\\ude00\\ud83d\"", .loneSurrogate, 1),
        ("\"\\ud83d\\u12", .unexpectedEnd, 11), ("'a'", .unexpectedByte, 0), ("a", .unexpectedByte, 0),
        ("`a`", .unexpectedByte, 0), ("“a”", .unexpectedByte, 0), ("\"a\"\"b\"", .trailingBytes, 3),
        // Arrays.
        ("[", .unexpectedEnd, 1), ("[ ", .unexpectedEnd, 2), ("[1", .unexpectedEnd, 2), ("[1,", .unexpectedEnd, 3),
        ("[1,]", .trailingComma, 3), ("[,1]", .unexpectedByte, 1), ("[1,,2]", .unexpectedByte, 3),
        ("[1 2]", .expectedCommaOrBracket, 3), ("[1;2]", .expectedCommaOrBracket, 2),
        ("[1}", .expectedCommaOrBracket, 2), ("[1]]", .trailingBytes, 3), ("]", .unexpectedByte, 0),
        ("[\"a\":1]", .expectedCommaOrBracket, 4), ("[}", .unexpectedByte, 1), ("[[]", .unexpectedEnd, 3),
        ("[...]", .unexpectedByte, 1), ("[1,\n2,\n]", .trailingComma, 7),
        // Objects.
        ("{", .unexpectedEnd, 1), ("{\"a\"", .unexpectedEnd, 4), ("{\"a\":", .unexpectedEnd, 5),
        ("{\"a\":1", .unexpectedEnd, 6), ("{\"a\":1,", .unexpectedEnd, 7), ("{\"a\":1,}", .trailingComma, 7),
        ("{,}", .expectedKey, 1), ("{\"a\":1,,}", .expectedKey, 7), ("{a:1}", .expectedKey, 1),
        ("{'a':1}", .expectedKey, 1), ("{1:2}", .expectedKey, 1), ("{null:2}", .expectedKey, 1),
        ("{\"a\" 1}", .expectedColon, 5), ("{\"a\",1}", .expectedColon, 4), ("{\"a\"}", .expectedColon, 4),
        ("{\"a\"::1}", .unexpectedByte, 5), ("{\"a\":}", .unexpectedByte, 5),
        ("{\"a\":1 \"b\":2}", .expectedCommaOrBrace, 7),
        ("{\"a\":1]", .expectedCommaOrBrace, 6), ("{\"a\":1}}", .trailingBytes, 7), ("}", .unexpectedByte, 0),
        ("{]", .expectedKey, 1), ("{\"a\":1;\"b\":2}", .expectedCommaOrBrace, 6), ("{\"\\q\":1}", .invalidEscape, 2),
        ("{invalid}", .expectedKey, 1),
        // What other dialects allow.
        ("// c\n1", .unexpectedByte, 0), ("/* c */ 1", .unexpectedByte, 0), ("1 // c", .trailingBytes, 2),
        ("[1] x", .trailingBytes, 4), ("\u{A0}1", .unexpectedByte, 0), ("\u{B}1", .unexpectedByte, 0),
        ("\u{C}1", .unexpectedByte, 0), ("1\0", .trailingBytes, 1), ("<html>", .unexpectedByte, 0),
        ("\u{FEFF}\u{FEFF}1", .unexpectedByte, 3), ("1\u{FEFF}", .trailingBytes, 1), (";", .unexpectedByte, 0),
    ]

    @Test(arguments: malformedTexts)
    func malformedTextIsRefusedWithItsPlace(text: String, reason: JSONParseError.Reason, offset: Int) throws {
        let error = try #require(throws: JSONParseError.self) { try JSONValue(parsing: text) }
        #expect(error.reason == reason)
        #expect(error.offset == offset)
    }

    /// The same refusals hold with the value deep inside a document, and however the text is cut.
    @Test func everyPrefixOfADocumentIsRefused() {
        let text = Array(#"{"a":[1.5e3,true,"x\u0041\ud83d\ude00é"],"b":{"c":null}}"#.utf8)
        for length in 0..<text.count {
            #expect(throws: JSONParseError.self, "\(length)") { try JSONValue(parsing: Array(text[..<length])) }
        }
    }

    @Test(
        arguments: [
            ([0x22, 0xFF, 0x22], 1), ([0x22, 0x61, 0xC3, 0x22], 2), ([0x22, 0x80, 0x22], 1),
            ([0x22, 0xC0, 0x80, 0x22], 1),
            ([0x22, 0xED, 0xA0, 0x80, 0x22], 1), ([0x22, 0xF4, 0x90, 0x80, 0x80, 0x22], 1),
            ([0x22, 0xE2, 0x82, 0x22], 1),
            ([0x22, 0xC3, 0xA9, 0xFE, 0x22], 3), ([0x22, 0x5C, 0x6E, 0xFF, 0x22], 3),
            ([0x22, 0xC3, 0x5C, 0x6E, 0x22], 1),
            ([0x22, 0x5C, 0x6E, 0xC3, 0xA9, 0xE2, 0x82, 0x22], 5),
        ] as [([UInt8], Int)])
    func refusesInvalidUTF8AtItsOffset(bytes: [UInt8], offset: Int) throws {
        let error = try #require(throws: JSONParseError.self) { try JSONValue(parsing: bytes) }
        #expect(error.reason == .invalidUTF8)
        #expect(error.offset == offset)
    }

    @Test func otherEncodingsAreRefused() {
        #expect(throws: JSONParseError.self) { try JSONValue(parsing: [0xFF, 0xFE, 0x31, 0x00]) }
        #expect(throws: JSONParseError.self) { try JSONValue(parsing: [0x00, 0x31]) }
        #expect(throws: JSONParseError.self) { try JSONValue(parsing: [0xEF, 0xBB]) }
    }

    @Test func lineAndColumn() throws {
        let error = try #require(throws: JSONParseError.self) {
            try JSONValue(parsing: "{\n  \"a\": 1,\n  \"b\": x\n}")
        }
        #expect(error.line == 3 && error.column == 8 && error.offset == 19)
        #expect(error.description == "not JSON: a value was expected (line 3, column 8, byte 19)")
    }

    @Test func nestingIsLimited() throws {
        let deepest = String(repeating: "[", count: 512) + String(repeating: "]", count: 512)
        #expect(try JSONValue(parsing: deepest).text() == deepest)
        let error = try #require(throws: JSONParseError.self) { try JSONValue(parsing: "[" + deepest + "]") }
        #expect(error.reason == .tooDeep && error.offset == 512)
        #expect(throws: JSONParseError.self) { try JSONValue(parsing: String(repeating: #"{"a":"#, count: 100_000)) }
        // Siblings don't add up.
        _ = try JSONValue(parsing: "[" + Array(repeating: "[]", count: 2000).joined(separator: ",") + "]")
    }

    @Test func refusesTextBeyondMaximumSize() throws {
        #expect(try JSONValue(parsing: "[1]", maximumSize: 3) == [1])
        let error = try #require(throws: JSONParseError.self) { try JSONValue(parsing: "[1] ", maximumSize: 3) }
        #expect(error.reason == .tooLarge)
    }

    @Test(arguments: [-1, .min]) func negativeSizeIsZero(size: Int) throws {
        let error = try #require(throws: JSONParseError.self) { try JSONValue(parsing: "1", maximumSize: size) }
        #expect(error.reason == .tooLarge && error.offset == 0 && error.column == 1)
        #expect(throws: JSONParseError.self) { try JSONValue(parsing: "", maximumSize: size) }
        #expect(throws: DecodingError.self) {
            try JSONCoder(maximumSize: size).decode(Int.self, from: Data("1".utf8))
        }
    }

    @Test func sliceOfData() throws {
        let data = Data("xx[1,2]yy".utf8)
        #expect(try JSONValue(parsing: data[2..<7]) == [1, 2])
        #expect(throws: JSONParseError.self) { try JSONValue(parsing: Data()) }
    }

    /// Strings of every length around the word size of the scanner, with the special byte at every place.
    @Test func stringsAtEveryAlignment() throws {
        for length in 0..<34 {
            let plain = String(repeating: "x", count: length)
            #expect(try JSONValue(parsing: "\"\(plain)\"") == .string(plain))
            for place in 0...length {
                let (before, after) = (plain.prefix(place), plain.dropFirst(place))
                #expect(try JSONValue(parsing: "\"\(before)\\n\(after)\"") == .string("\(before)\n\(after)"))
                #expect(try JSONValue(parsing: "\"\(before)é\(after)\"") == .string("\(before)é\(after)"))
                let error = #expect(throws: JSONParseError.self) {
                    try JSONValue(parsing: "\"\(before)\u{1}\(after)\"")
                }
                #expect(error?.offset == place + 1)
            }
        }
    }

    @Test func numbersAgreeWithTheStandardLibrary() throws {
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<20_000 {
            let digits = String(
                UInt64.random(in: 0...(.max >> UInt64.random(in: 0..<64, using: &generator)), using: &generator))
            let fraction = String(
                UInt64.random(in: 0...(.max >> UInt64.random(in: 0..<64, using: &generator)), using: &generator))
            let text = "\(digits).\(fraction)e\(Int.random(in: -340...300, using: &generator))"
            guard let expected = Double(text), expected.isFinite else { continue }
            let number = try #require(JSONValue(parsing: text).number)
            #expect(number.double == expected && number.float == Self.finite(Float(text)), "\(text)")
            #expect(number.text == text)
        }
    }

    /// Numbers without an exponent are not read by the standard library.
    @Test func decimalsAgreeWithTheStandardLibrary() throws {
        var generator = SeededGenerator(seed: 8)
        for _ in 0..<100_000 {
            let digits = String(generator.next() >> UInt64.random(in: 0..<64, using: &generator))
            let scale = Int.random(in: 0...22, using: &generator)
            let padded = String(repeating: "0", count: max(0, scale + 1 - digits.count)) + digits
            let text = "-\(padded.dropLast(scale))" + (scale > 0 ? ".\(padded.suffix(scale))" : "")
            let number = try #require(JSONValue(parsing: text).number)
            if number.double != Double(text) || number.float != Float(text) || number.text != text {
                Issue.record("\(text)")
            }
        }
    }

    private static func finite(_ value: Float?) -> Float? {
        value.flatMap { $0.isFinite ? $0 : nil }
    }
}
