import FoundationEssentials
import SwiftAF
import Testing

/// Types are decoded from a text without a tree. That must give what decoding from the tree of the text gives.
@Suite struct JSONTapeDecodingTests {
    /// A dictionary whose description has an order.
    private struct Table<Key: Hashable & Comparable & Decodable, Value: Decodable>: Decodable {
        let members: [(Key, Value)]

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            members = try container.decode([Key: Value].self).sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        }
    }

    /// A date, of which Foundation can't describe those in the far future.
    private struct Moment: Decodable {
        let seconds: Double

        init(from decoder: any Decoder) throws {
            seconds = try decoder.singleValueContainer().decode(Date.self).timeIntervalSince1970
        }
    }

    /// A type that asks for everything that a decoder has.
    private struct Everything: Decodable {
        enum Choice: Decodable { case one(Int), two(a: String, b: Bool) }
        class Base: Decodable, CustomStringConvertible {
            var id: Int
            var description: String { "\(id)" }
        }
        final class Derived: Base {
            var name: String?
            enum CodingKeys: String, CodingKey { case name, `super` }

            override var description: String { "\(id) \(name ?? "-")" }

            required init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: CodingKeys.self)
                name = try container.decodeIfPresent(String.self, forKey: .name)
                try super.init(from: container.superDecoder())
            }
        }
        struct Pair: Decodable {
            var first: Int
            var rest: [JSONValue] = []

            init(from decoder: any Decoder) throws {
                var container = try decoder.unkeyedContainer()
                first = try container.decode(Int.self)
                while !container.isAtEnd {
                    if try container.decodeNil() { continue }
                    rest.append(try container.decode(JSONValue.self))
                }
            }
        }

        var flag: Bool?
        var text: String?
        var firstName: String?
        var authorID: Int?
        var double: Double?
        var float: Float?
        var int: Int?
        var small: Int8?
        var wide: UInt64?
        var wider: Int128?
        var decimal: Decimal?
        var date: Moment?
        var data: Data?
        var url: URL?
        var any: JSONValue?
        var choice: Choice?
        var derived: Derived?
        var pair: Pair?
        var texts: [String]?
        var ints: [Int]?
        var doubles: [Double]?
        var optionals: [Int?]?
        var lists: [[Int]]?
        var table: Table<String, Int>?
        var indexed: Table<Int, String>?
        var children: [Everything]?
    }

    /// What became of a decoding, with every detail of an error.
    private static func outcome<Value>(_ decode: () throws -> Value) -> String {
        do {
            return "\(try decode())"
        } catch {
            return "\(error)"
        }
    }

    private static func expectSame<Value: Decodable>(
        _ type: Value.Type, _ text: String, _ coder: JSONCoder, sourceLocation: SourceLocation = #_sourceLocation
    ) -> Bool {
        let fromText = outcome { try coder.decode(type, from: Data(text.utf8)) }
        let fromTree = outcome {
            try JSONValue(parsing: text, repeatedKeys: coder.repeatedKeys).decode(as: type, coder: coder)
        }
        #expect(fromText == fromTree, "\(text)", sourceLocation: sourceLocation)
        return fromText.hasPrefix("Everything")
    }

    private static let names = [
        "flag", "text", "firstName", "first_name", "authorID", "author_id", "double", "float", "int", "small", "wide",
        "wider", "decimal", "date", "data", "url", "any", "choice", "derived", "pair", "texts", "ints", "doubles",
        "optionals", "lists", "table", "indexed", "children", "other", "fl\\u0061g", "t\\u0065xt",
    ]
    private static let scalars = [
        "0", "1", "-1", "127", "128", "1.0", "1.5", "-0.0", "1e2", "1e400", "18446744073709551615",
        "170141183460469231731687303715884105727", "0.1", "123456789.123456789", "true", "false", "null", #""""#,
        #""x""#, #""é\n""#, #""https://example.org/?q""#, #""AQID""#, #""2024-02-29T12:00:00Z""#, "[]", "{}", "[1,2]",
        #"["a","b\u0041"]"#, "[1.5,2]", "[1,null]", "[[1],[]]", #"{"a":1,"b":2}"#, #"{"1":"a"}"#, #"{"one":{"_0":7}}"#,
        #"{"two":{"a":"x","b":true}}"#, #"{"name":"n","super":{"id":1}}"#, #"{"name":null}"#, #"[3,null,{"a":[]}]"#,
        #"{"a":1,"a":2}"#, #"{"a":1,"\u0061":2,"b":3}"#,
    ]
    /// What fits a member, so that documents aren't refused for their first one.
    private static let fitting: [String: [String]] = [
        "flag": ["true"], "text": [#""x""#], "double": ["1.5", "2"], "int": ["1", "2.0"], "small": ["-128"],
        "wide": ["18446744073709551615"], "texts": [#"["a","b"]"#], "ints": ["[1,2]"], "doubles": ["[1,2.5]"],
        "table": [#"{"a":1,"a":2}"#, "{}"], "lists": ["[[1],[2,3]]"], "choice": [#"{"one":{"_0":7}}"#],
        "derived": [#"{"super":{"id":1}}"#], "pair": ["[1,null,[]]"], "optionals": ["[1,null]"],
    ]

    private static func document(_ generator: inout SeededGenerator, depth: Int) -> String {
        let isLarge = Int.random(in: 0..<20, using: &generator) == 0
        let count = Int.random(in: isLarge ? 30...60 : 0...8, using: &generator)
        let members = (0..<count).map { index in
            if isLarge, index.isMultiple(of: 2) { return #""m\#(index)":\#(index)"# }
            let name = names.randomElement(using: &generator) ?? ""
            if name == "children", depth < 4 {
                let children = (0..<Int.random(in: 0...3, using: &generator)).map { _ in
                    document(&generator, depth: depth + 1)
                }
                return #""children":[\#(children.joined(separator: ","))]"#
            }
            let fits = Int.random(in: 0..<8, using: &generator) > 0
            let choices = fits ? fitting[name] ?? ["null"] : scalars
            return #""\#(name)" : \#(choices.randomElement(using: &generator) ?? "")"#
        }
        return "{\(members.joined(separator: ","))}"
    }

    @Test(arguments: [JSONCoder.KeyStyle.useDefaultKeys, .snakeCase], [JSONValue.RepeatedKeys.lastCounts, .kept])
    func randomDocumentsAreDecodedAsTheirTrees(keys: JSONCoder.KeyStyle, repeatedKeys: JSONValue.RepeatedKeys) {
        var generator = SeededGenerator(seed: 11)
        let coder = JSONCoder(keys: keys, dates: .iso8601, repeatedKeys: repeatedKeys)
        var accepted = 0
        for _ in 0..<400 where Self.expectSame(Everything.self, Self.document(&generator, depth: 0), coder) {
            accepted += 1
        }
        #expect(accepted > 50 && accepted < 350)
    }

    @Test func everyValueForEveryMemberIsDecodedAsItsTree() {
        let floats = JSONCoder.NonConformingFloatStyle.strings(positiveInfinity: "x", negativeInfinity: "y", nan: "")
        for coder in [JSONCoder(), JSONCoder(dates: .secondsSince1970, nonConformingFloats: floats)] {
            for name in Self.names {
                for value in Self.scalars {
                    _ = Self.expectSame(Everything.self, #"{"\#(name)":\#(value)}"#, coder)
                }
            }
            for value in Self.scalars {
                _ = Self.expectSame(Everything.Pair.self, value, coder)
                _ = Self.expectSame(Table<String, JSONValue>.self, value, coder)
                _ = Self.expectSame([[Int8]?].self, value, coder)
            }
        }
    }

    private struct Item: Decodable {
        let firstName: String
        var counts: [[Int8]]?
        var labels: [String: [String: Bool]]?
    }

    /// Arrays have a loop of their own, which must give what the standard library's gives, which decodes a
    /// `ContiguousArray`.
    @Test(arguments: [JSONCoder.KeyStyle.useDefaultKeys, .snakeCase])
    func arraysAreDecodedAsByTheStandardLibrary(keys: JSONCoder.KeyStyle) {
        let coder = JSONCoder(keys: keys)
        func expectSame<Element: Decodable>(_ type: Element.Type, _ text: String) {
            let data = Data(text.utf8)
            let expected = Self.outcome { Array(try coder.decode(ContiguousArray<Element>.self, from: data)) }
            #expect(Self.outcome { try coder.decode([Element].self, from: data) } == expected, "\(text.prefix(80))")
            let tree = Self.outcome { try JSONValue(parsing: data).decode(as: [Element].self, coder: coder) }
            #expect(tree == expected, "\(text.prefix(80))")
        }
        let (camel, snake) = (#"{"firstName":"a","counts":[[1],[],[2,3]]}"#, #"{"first_name":"b"}"#)
        let labels = #"{"first_name":"c","firstName":"c","labels":{"a_b":{"c_d":true}}}"#
        for text in [
            "[]", "[\(camel)]", "[\(snake)]", "[\(labels),\(labels)]", "[\(labels),\(camel),\(snake)]", "[null]", "{}",
            "null", "1", #"[{"firstName":1,"first_name":1}]"#,
            #"[{"firstName":"","first_name":"","counts":[[1],[300]]}]"#,
        ] {
            expectSame(Item.self, text)
            expectSame(Item?.self, text)
        }
        let long = "[" + Array(repeating: "[]", count: 9000).joined(separator: ",") + "]"
        for text in ["[]", "[[]]", "[[true],[false,true]]", "[[true],[null]]", "[[true],1]", "[[true],{}]", long] {
            expectSame([Bool].self, text)
            expectSame([Bool?].self, text)
        }
    }

    @Test(arguments: JSONParsingTests.malformedTexts)
    func malformedTextIsRefusedAsForATree(text: String, reason: JSONParseError.Reason, offset: Int) throws {
        let error = #expect(throws: DecodingError.self) {
            try JSONCoder().decode(JSONValue.self, from: Data(text.utf8))
        }
        guard case .dataCorrupted(let context) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        let parseError = try #require(context.underlyingError as? JSONParseError)
        #expect(parseError.reason == reason && parseError.offset == offset && context.codingPath.isEmpty)
    }

    /// What isn't asked for is checked too.
    @Test func everyPrefixOfADocumentIsRefused() {
        struct Nothing: Decodable {}
        let text = Data(#"{"a":[1.5e3,-20,true,"x\u0041\ud83d\ude00é"],"b":{"c":null,"c":[{}]},"d":0}"#.utf8)
        for length in 0..<text.count {
            #expect(throws: DecodingError.self, "\(length)") {
                try JSONCoder().decode(Nothing.self, from: text.prefix(length))
            }
        }
        #expect(throws: Never.self) { try JSONCoder().decode(Nothing.self, from: text) }
    }

    @Test func nestingIsLimited() throws {
        struct Deep: Decodable { var a: [Deep] = [] }
        for (depth, fits) in [(256, true), (257, false)] {
            let text = String(repeating: #"{"a":["#, count: depth) + String(repeating: "]}", count: depth)
            #expect(((try? JSONCoder().decode(Deep.self, from: Data(text.utf8))) != nil) == fits)
            #expect(((try? JSONCoder().decode(JSONValue.self, from: Data(text.utf8))) != nil) == fits)
        }
    }

    /// The standard library says what is UTF-8, and where the first error is.
    @Test func stringsAreUTF8AsTheStandardLibrarySays() throws {
        var sequences = (0x80...0xFF).flatMap { first in
            [0x22, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0].map { [UInt8(first), UInt8($0)] }
        }
        var generator = SeededGenerator(seed: 12)
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 1...5, using: &generator)).map { _ in
                UInt8.random(in: 0x70...0xFF, using: &generator)
            }
            sequences.append([UInt8(ascii: "a")] + bytes)
        }
        for sequence in sequences where !sequence.contains(0x22) {
            let text = [0x22] + sequence + [0x22]
            let expected = String(validating: sequence, as: UTF8.self)
            do {
                let value = try JSONCoder().decode(String.self, from: Data(text))
                if value != expected { Issue.record("\(sequence) is \(value)") }
            } catch DecodingError.dataCorrupted(let context) {
                let error = try #require(context.underlyingError as? JSONParseError)
                let place = Self.placeOfInvalidUTF8(in: text, from: 1)
                if expected != nil || error.reason != .invalidUTF8 || error.offset != place {
                    Issue.record("\(sequence): \(error)")
                }
            }
        }
    }

    private static func placeOfInvalidUTF8(in bytes: [UInt8], from start: Int) -> Int {
        var decoder = UTF8()
        var rest = bytes[start...].makeIterator()
        var offset = start
        while case .scalarValue(let scalar) = decoder.decode(&rest) { offset += UTF8.width(scalar) }
        return offset
    }
}
