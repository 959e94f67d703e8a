import FoundationEssentials
import Testing

@testable import SwiftAF

/// Nothing that a server sends may crash, and what is accepted must mean something.
@Suite struct ParserFuzzTests {
    @Test func parsesMutatedJSONStably() throws {
        var mutator = Mutator(
            seeds: [
                #"{"a":[1,-2.5e3,true,false,null,"x\u00e9\ud83d\ude00\n"],"b":{"c":{}},"a":[]}"#,
                " [ 0 , 1e400 , 18446744073709551615 , 0.1 , -0 , 123456789012345678901234567890 ] ",
                "\u{FEFF}\"漢字 and more than eight bytes\"", "[[[[[[[[1]]]]]]]]", "nul", "",
                #"{"k1":1,"k2":2,"k3":3,"k4":4,"k5":5,"k6":6,"k7":7,"k8":8,"k9":9,"k10":10,"k11":1,"k12":2,"k13":3}"#,
            ],
            fragments: [
                "\\u", "\\ud800", "\\udc00", "\"", "{", "[", "]", "}", ",", ":", "1e", "-", "0", ".", "\u{0}", "true",
                "\r\n", String(repeating: "[", count: 600), #"{"k1":0,"#,
            ],
            start: 1)
        var accepted = 0
        try mutator.run(40_000) { bytes in
            do {
                let value = try JSONValue(parsing: bytes)
                accepted += 1
                try expectStable(value)
            } catch let error as JSONParseError {
                expectPlace(error, in: bytes)
            }
        }
        #expect(accepted > Mutator.amount(1000))
    }

    /// What was read can be written, and reads as the same.
    private func expectStable(_ value: JSONValue) throws {
        for options in [[], .prettyPrinted, .sortedKeys, .withoutEscapingSlashes] as [JSONValue.WritingOptions] {
            let again = try JSONValue(parsing: value.data(options: options))
            if again != value { Issue.record("written and read again \(value) is \(again)") }
        }
    }

    private func expectPlace(_ error: JSONParseError, in bytes: [UInt8]) {
        let isInside = (0...bytes.count).contains(error.offset)
        let lines = bytes.count { $0 == 0x0A } + 1
        if !isInside || !(1...lines).contains(error.line) || !(1...(bytes.count + 1)).contains(error.column) {
            Issue.record("\(error) in \(bytes)")
        }
    }

    /// Whatever Foundation's parser takes, ours takes, and finds the same in it. Without members, of which it takes the
    /// first where they are repeated.
    @Test func jsonAsFoundationReadsIt() throws {
        var mutator = Mutator(
            seeds: [#"[1,2.5,"a\u00e9",true,null,[[]]]"#, #"["漢字\/",-1e-5,{},false,"\ud83d\ude00"]"#],
            fragments: ["1", "\"", ",", "[]", "\\n", " ", "e5", ".5", "\\u0041", "null"], start: 2)
        var both = 0
        mutator.run(4000) { bytes in
            guard let theirs = try? JSONDecoder().decode(JSONValue.self, from: Data(bytes)) else { return }
            both += 1
            let ours = try? JSONValue(parsing: bytes)
            if ours.map(asDoubles) != asDoubles(theirs) {
                Issue.record("\(String(decoding: bytes, as: UTF8.self)) is \(ours.map(\.description) ?? "refused")")
            }
        }
        #expect(both > Mutator.amount(100))
    }

    /// Foundation rounds what isn't an integer of 64 bits or exact as a `Decimal`.
    private func asDoubles(_ value: JSONValue) -> JSONValue {
        switch value {
        case .number(let number): number.double.map { .double($0) } ?? .null
        case .array(let elements): .array(elements.map(asDoubles))
        default: value
        }
    }

    @Test(arguments: [
        "utf-8", "us-ascii", "iso-8859-1", "windows-1252", "utf-16", "utf-16le", "utf-16be", "shift_jis", "iso-2022-jp",
        "euc-jp", "gb18030", "big5", "euc-kr", "koi8-r",
    ])
    func decodesMutatedTextInEveryCharset(label: String) throws {
        let charset = try #require(Charset(label: label))
        var mutator = Mutator(
            seeds: ["hello", "é漢字😀", "\u{FEFF}a", "\u{0}A\u{0}B", "A\u{0}B\u{0}", ""],
            fragments: ["\u{FEFF}", "\u{0}", "\u{10FFFF}", "ÿ", "\u{80}"], start: 3)
        mutator.run(6000) { bytes in
            let data = Data(bytes)
            let text = charset.decode(data)
            // A slice has other indices, and must not decode to anything else.
            if charset.decode((Data([0]) + data).dropFirst()) != text { Issue.record("a slice differs: \(bytes)") }
            if label == "utf-8", !bytes.starts(with: [0xFE, 0xFF]), !bytes.starts(with: [0xFF, 0xFE]) {
                let plain = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes[...]
                if text != String(validating: plain, as: UTF8.self) { Issue.record("not as the library: \(bytes)") }
            }
            if label.hasPrefix("iso-8859") || label.hasPrefix("windows"), text?.unicodeScalars.count != bytes.count {
                Issue.record("not one character per byte: \(bytes)")
            }
            _ = Charset.guess(data)
        }
    }

    @Test func parsesMutatedMediaTypesStably() {
        var mutator = Mutator(
            seeds: [
                "text/html; charset=utf-8", "application/problem+json", #"multipart/form-data; boundary="a b\"c""#,
                "a/b;;x=1;", "text", "",
            ],
            fragments: ["\"", "\\", ";", "=", "/", " ", "\t", "+json", "é", "\u{0}"], start: 4)
        mutator.run(20_000) { bytes in
            let text = String(decoding: bytes, as: UTF8.self)
            guard let type = MediaType(text) else { return }
            if MediaType(type.description) != type { Issue.record("\(text) is not stable: \(type)") }
        }
    }
}
