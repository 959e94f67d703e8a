import FoundationEssentials
import SwiftAF
import Testing

/// Documents of the kinds that suites for JSON parsers have, and such a suite itself if there is one.
@Suite struct JSONSuiteTests {
    private static let valid = [
        "[[]   ]", #"[""]"#, "[]", #"["a"]"#, "[false]", "[null, 1, \"1\", {}]", "[null]", "[1\n]", " [1]",
        "[1,null,null,null,2]",
        "[2] ", "[123e65]", "[0e+1]", "[0e1]", "[ 4]", "[-0.000000000000000000000000000000000000000000000001]",
        "[20e1]", "[-0]",
        "[-123]", "[-1]", "[1E22]", "[1E-2]", "[1E+2]", "[123e45]", "[123.456e78]", "[1e-2]", "[1e+2]", "[123]",
        "[123.456789]",
        #"{"asd":"sdf", "dfg":"fgh"}"#, #"{"a":"b","a":"c"}"#, #"{"a":"b","a":"b"}"#, "{}", #"{"":0}"#,
        #"{"foo\u0000bar": 42}"#,
        #"{ "min": -1.0e+28, "max": 1.0e+28 }"#, #"{"x":[{"id": "x"}], "id": "x"}"#, #"{"a":[]}"#, "{\n\"a\": \"b\"\n}",
        #"["\u0060\u012a\u12AB"]"#, #"["\uD801\udc37"]"#, #"["\ud83d\ude39\ud83d\udc8d"]"#, #"["\"\\\/\b\f\n\r\t"]"#,
        #"["\\u0000"]"#,
        #"["\""]"#, "[\"a/*b*/c/*d//e\"]", #"["\\a"]"#, #"["\\n"]"#, #"["\u0012"]"#, #"["\uFFFF"]"#, #"["asd"]"#,
        #"[ "asd"]"#,
        #"["\uDBFF\uDFFF"]"#, #"["new\u00A0line"]"#, "[\"\u{10FFFF}\"]", "[\"\u{FFFF}\"]", #"["\u0000"]"#,
        #"["\u002c"]"#,
        "[\"π\"]", "[\"\u{1BFFF}\"]", #"["asd "]"#, #"" ""#, #"["\uD834\uDd1e"]"#, #"["\u0821"]"#, #"["\u0123"]"#,
        "[\"\u{2028}\"]",
        "[\"\u{2029}\"]", #"["\u0061\u30af\u30EA\u30b9"]"#, "[\"new\u{7F}line\"]", #"["\u005C"]"#, "[\"⍂㈴⍂\"]",
        #"["\uDBFF\uDFFE"]"#,
        #"["\uFDD0"]"#, #"["\u200B"]"#, #"["\u2064"]"#, #"["\uFFFE"]"#, #"["\u0022"]"#, "[\"€𝄞\"]", "[\"aa\"]", "false",
        "42", "-0.1",
        "null", #""asd""#, "true", #""""#, "[\"a\"]\n", "[true]", " [] ",
    ]

    private static let malformed: [[UInt8]] =
        [
            "[1 true]", #"["": 1]"#, #"[""],"#, "[,1]", "[1,,2]", #"["x",,]"#, #"["x"]]"#, #"["",]"#, #"["x""#, "[x",
            "[3[4]]", "[1:2]",
            "[,]", "[-]", "[   , \"\"]", "[\"a\",\n4\n,1,", "[1,]", "[1,,]", "[\"\u{B}a\"\\f]", "[*]", #"[""#, "[1,",
            "[1,\n1\n,1", "[{}",
            "[fals]", "[nul]", "[tru]", "123\0", "[++1234]", "[+1]", "[+Inf]", "[-01]", "[-1.0.]", "[-2.]", "[-NaN]",
            "[.-1]", "[.2e-3]",
            "[0.1.2]", "[0.3e+]", "[0.3e]", "[0.e1]", "[0E+]", "[0E]", "[0e+]", "[0e]", "[1.0e+]", "[1.0e-]", "[1.0e]",
            "[1 000.0]",
            "[1eE2]", "[2.e+3]", "[2.e-3]", "[2.e3]", "[9.e+]", "[Inf]", "[NaN]", "[\u{FF11}]", "[1+2]", "[0x1]",
            "[0x42]", "[Infinity]",
            "[0e+-1]", "[-123.123foo]", "[-Infinity]", "[-foo]", "[- 1]", "[-012]", "[-.123]", "[-1x]", "[1ea]", "[1.]",
            "[.123]",
            "[1.2a-3]", "[1.8011670033376514H-308]", "[012]", #"["x", truth]"#, #"{[: "x"}"#, #"{"x", null}"#,
            #"{"x"::"b"}"#, "{🇨🇭}",
            #"{"a":"a" 123}"#, "{key: 'value'}", #"{"a" b}"#, #"{:"b"}"#, #"{"a" "b"}"#, #"{"a":"#, #"{"a"}"#, "{1:1}",
            "{9999E9999:1}",
            "{null:null,null:null}", #"{"id":0,,,,,}"#, "{'a':0}", #"{"id":0,}"#, #"{"a":"b"}/**/"#, #"{"a":"b"}/**//"#,
            #"{"a":"b"}//"#,
            #"{"a":"b"}/"#, #"{"a":"b",,"c":"d"}"#, "{a: \"b\"}", #"{"a":"a"#, #"{ "foo" : "bar", "a" }"#,
            #"{"a":"b"}#"#, " ",
            #"["\uD800\"]"#, #"["\uD800\u"]"#, #"["\uD800\u1"]"#, #"["\uD800\u1x"]"#, "[é]", #"["\x00"]"#, #"["\\\"]"#,
            "[\"\\\t\"]",
            "[\"\\🌀\"]", #"["\"]"#, #"["\u00A"]"#, #"["\uD834\uDd"]"#, #"["\uD800\uD800\x"]"#, #"["\u"#, #"["\a"]"#,
            #"["\uqqqq"]"#,
            "[\\u0020\"asd\"]", "[\\n]", #"""#, "['single quote']", "abc", #"["\"#, "[\"a\0a\"]", "[\"new\nline\"]",
            "[\"\t\"]", "\"\\UA66D\"",
            #""x"y"#, "<.>", "[<null>]", "[1]x", #"[1]]"#, #"["asd]"#, "aå", "[True]", "1]", #"{"x": true,"#, "[][]",
            "]", "", "[",
            "2@", #"{}}"#, #"{"":"#, #"{"a":/*comment*/"b"}"#, #"{"a": true} "x""#, "['", "[\"a", "[{", "{", "{]", "{,",
            "{[", "{\"a", "{'a'",
            #"["\{["\{["\{["\{"#, "*", #"{"a":"b"}#{}"#, "[\u{2060}]", "[\\u000A\"\"]", "[1", #"[ false, nul"#,
            "[ true, fals", "[ false, tru",
            #"{"asd":"asd""#, "å", "[\u{C}]", "\u{2060}[]", "[a\u{300}]", "NaN", "nan", "TRUE", "[1]// x", "\u{1E}[1]",
        ].map { Array($0.utf8) } + [
            Array(repeating: UInt8(ascii: "["), count: 100_000),
            Array(String(repeating: #"[{"":"#, count: 50_000).utf8),
            [0x5B, 0xFF, 0x5D], [0x5B, 0x61, 0xE5, 0x5D], [0xEF, 0xBB, 0x7B, 0x7D], [0xE5],
            [0x5B, 0x22, 0xE9, 0x22, 0x5D],
            [0x5B, 0x22, 0x5C, 0xE5, 0x22, 0x5D], [0x5B, 0x22, 0x5C, 0x75, 0xE5, 0x22, 0x5D], [0x5B, 0x31, 0xE5, 0x5D],
            [0x5B, 0x31, 0x65, 0x31, 0xE5, 0x5D], [0x5B, 0x30, 0xE5, 0x5D], [0x7B, 0x22, 0xB9, 0x22, 0x3A, 0x30, 0x7D],
            [0x5B, 0x22, 0xE0, 0xFF, 0x22, 0x5D], [0x5B, 0x22, 0xC0, 0xAF, 0x22, 0x5D],
            [0x5B, 0x22, 0xFC, 0x83, 0xBF, 0xBF, 0xBF, 0xBF, 0x22, 0x5D],
            [0x5B, 0x22, 0xF4, 0xBF, 0xBF, 0xBF, 0x22, 0x5D], [0x5B, 0x22, 0xED, 0xA0, 0x80, 0x22, 0x5D],
            // UTF-16, with a byte order mark and without.
            [0xFF, 0xFE, 0x5B, 0x00, 0x5D, 0x00], [0x5B, 0x00, 0x5D, 0x00], [0x00, 0x5B, 0x00, 0x5D],
        ]

    /// Trees and types accept the same, and what was read is what is written.
    private func accepts(_ bytes: [UInt8]) -> Bool {
        let value = try? JSONValue(parsing: bytes, repeatedKeys: .kept)
        let typed = try? JSONCoder(repeatedKeys: .kept).decode(JSONValue.self, from: Data(bytes))
        #expect(value == typed)
        if let value {
            #expect(Self.numbers(bytes) == (try? Self.numbers(Array(value.data()))))
            #expect((try? JSONValue(parsing: value.data(), repeatedKeys: .kept)) == value)
        }
        return value != nil
    }

    /// The numbers of a document, in their order and with their digits.
    private static func numbers(_ text: [UInt8]) -> [String] {
        var numbers: [String] = []
        var (isInText, isEscaped, isInNumber) = (false, false, false)
        for byte in text {
            if isInText {
                if !isEscaped, byte == UInt8(ascii: "\"") { isInText = false }
                isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
                continue
            }
            let isPart = "+-.0123456789".utf8.contains(byte) || (isInNumber && "eE".utf8.contains(byte))
            if isPart, !isInNumber { numbers.append("") }
            if isPart { numbers[numbers.count - 1].unicodeScalars.append(Unicode.Scalar(byte)) }
            (isInNumber, isInText) = (isPart, byte == UInt8(ascii: "\""))
        }
        return numbers
    }

    @Test func validDocumentsAreAccepted() {
        for text in Self.valid where !accepts(Array(text.utf8)) { Issue.record("refused: \(text)") }
    }

    @Test func malformedDocumentsAreRefused() {
        for bytes in Self.malformed where accepts(bytes) {
            Issue.record("accepted: \(String(decoding: bytes.prefix(60), as: UTF8.self))")
        }
    }

    /// RFC 8259 leaves these to the parser.
    @Test func whatIsLeftToTheParserIsDecided() {
        let accepted = [
            "[1e9999]", "[-1e9999]", "[1e-9999]", "[0.4e00669999999999999999999999999999999999999999999999999999999]",
            "[100000000000000000000]", "[-123123123123123123123123123123]", "\u{FEFF}{}",
            String(repeating: "[", count: 500) + String(repeating: "]", count: 500),
        ]
        for text in accepted where !accepts(Array(text.utf8)) { Issue.record("refused: \(text.prefix(60))") }
        let refused = [
            #"["\uD800"]"#, #"["\uDd1e"]"#, #"["\uD800\n"]"#, #"["\uD888\u1234"]"#, #"["\uD800abc"]"#,
            #"["\uDd1e\uD834"]"#,
            #"{"\uDFAA":0}"#,
        ]
        for text in refused where accepts(Array(text.utf8)) { Issue.record("accepted: \(text)") }
    }

    private static let folder = ProcessInfo.processInfo.environment["AF_JSON_CASES"]

    /// A folder of files in the manner of JSONTestSuite: `y_…` must be accepted, `n_…` refused, `i_…` may be either.
    @Test(.enabled(if: folder != nil)) func acceptsAndRefusesDocumentsOfJSONTestSuite() throws {
        let folder = try #require(Self.folder)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".json") }
            .sorted()
        var counts: [Character: Int] = [:]
        for name in names {
            let bytes = Array(try Data(contentsOf: URL(filePath: folder).appending(path: name)))
            let isAccepted = accepts(bytes)
            if name.hasPrefix("y_"), !isAccepted { Issue.record("refused: \(name)") }
            if name.hasPrefix("n_"), isAccepted { Issue.record("accepted: \(name)") }
            counts[name.first ?? " ", default: 0] += 1
        }
        print(
            "JSON documents: \(counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", "))"
        )
        #expect(!names.isEmpty)
    }
}
