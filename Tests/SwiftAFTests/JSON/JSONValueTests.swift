import FoundationEssentials
import SwiftAF
import Testing

@Suite struct JSONValueTests {
    @Test func accessorsReturnMatchingTypesOnly() {
        let value: JSONValue = ["name": "Ada", "born": 1815, "pi": 3.5, "tags": ["math", nil], "ok": true]
        #expect(value["name"]?.string == "Ada")
        #expect(value["born"]?.int == 1815 && value["born"]?.double == 1815)
        #expect(value["pi"]?.integer == nil && value["pi"]?.double == 3.5)
        #expect(value["tags"]?[0]?.string == "math" && value["tags"]?[1]?.isNull == true)
        #expect(value["tags"]?[2] == nil && value["tags"]?[-1] == nil && value[0] == nil && value["x"] == nil)
        #expect(value["ok"]?.bool == true && value["name"]?.bool == nil)
        #expect(JSONValue.double(4).int == 4 && JSONValue.double(1e300).int == nil && JSONValue.double(.nan).int == nil)
        #expect(value.array == nil && value["tags"]?.object == nil)
    }

    @Test func objectsOfDictionariesAreSorted() {
        #expect(JSONObject([:]).isEmpty && JSONObject([]).isEmpty)
        let members: [String: JSONValue] = ["b": 1, "a": 2]
        #expect(JSONObject(members).keys == ["a", "b"])
    }

    @Test func settingMembersChangesOnlyObjects() {
        var value: JSONValue = nil
        value["a"] = 1
        value["b"] = [2]
        value["a"] = nil
        #expect(value == ["b": [2]])
        for other in [[1], "a", nil] as [JSONValue] {
            var changed = other
            changed["a"] = nil
            #expect(changed == other)
        }
    }

    @Test(
        arguments: [
            (nil, "null"), (true, "true"), (-7, "-7"), (0.5, "0.5"), (1.0, "1.0"), (1e300, "1e+300"),
            ("a/b", #""a\/b""#),
            ("\"\\\n\r\t\u{8}\u{C}\u{1}\u{1F}\u{7F}é😀", "\"\\\"\\\\\\n\\r\\t\\b\\f\\u0001\\u001f\u{7F}é😀\""),
            ([], "[]"), ([:], "{}"), ([1, [2]], "[1,[2]]"), (["b": 1, "a": [:]], #"{"b":1,"a":{}}"#),
        ] as [(JSONValue, String)])
    func writesCompactTextThatParsesBack(value: JSONValue, text: String) throws {
        #expect(try value.text() == text)
        #expect(try value.data() == Data(text.utf8))
        #expect(try JSONValue(parsing: text) == value)
    }

    @Test func appliesWritingOptions() throws {
        let value: JSONValue = ["b": [1, "x/y"], "a": [:], "é": []]
        #expect(try value.text(options: [.sortedKeys, .withoutEscapingSlashes]) == #"{"a":{},"b":[1,"x/y"],"é":[]}"#)
        let pretty = "{\n  \"b\": [\n    1,\n    \"x\\/y\"\n  ],\n  \"a\": {},\n  \"é\": []\n}"
        #expect(try value.text(options: .prettyPrinted) == pretty)
        #expect(value.description == #"{"b":[1,"x/y"],"a":{},"é":[]}"#)
    }

    @Test func whatCanNotBeWritten() {
        for number in [Double.nan, .infinity, -.infinity] {
            #expect(throws: JSONValue.WritingError.nonFiniteNumber) { try JSONValue.array([.double(number)]).data() }
            #expect(JSONValue.double(number).description == "null")
        }
        var deep: JSONValue = []
        for _ in 0..<512 { deep = [deep] }
        #expect(throws: JSONValue.WritingError.tooDeep) { try deep.data() }
        #expect(deep.description == "<JSON nested too deeply>")
    }

    @Test func encodesAndDecodesWithCodable() throws {
        let value: JSONValue = ["a": [1, 2.5, "x", true, nil, [:]], "b": ["c": -1]]
        let text = try JSONEncoder().encode(value)
        #expect(try JSONValue(parsing: text) == value)
        #expect(try JSONDecoder().decode(JSONValue.self, from: text) == value)
        struct Wrapper: Codable, Equatable { var any: JSONValue }
        let wrapper = try JSONDecoder().decode(Wrapper.self, from: Data(#"{"any":{"x":[null]}}"#.utf8))
        #expect(wrapper == Wrapper(any: ["x": [nil]]))
    }

    @Test(arguments: 0..<40 as Range<UInt64>)
    func randomDocumentsSurviveTheRoundTrip(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<25 {
            let value = Self.random(depth: 5, using: &generator)
            for options in [[], .prettyPrinted, .sortedKeys, .withoutEscapingSlashes] as [JSONValue.WritingOptions] {
                #expect(try JSONValue(parsing: value.data(options: options)) == value)
            }
        }
    }

    /// Bytes of a valid document, changed at random: a value or an error, and what was accepted can be written.
    @Test(arguments: 0..<20 as Range<UInt64>)
    func damagedDocumentsNeverTrap(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<100 {
            var bytes = try Array(Self.random(depth: 4, using: &generator).data())
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                bytes[Int.random(in: 0..<bytes.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
            }
            if let value = try? JSONValue(parsing: bytes) {
                #expect(try JSONValue(parsing: value.data()) == value)
            }
        }
    }

    private static func random(depth: Int, using generator: inout SeededGenerator) -> JSONValue {
        switch Int.random(in: 0..<(depth > 0 ? 8 : 6), using: &generator) {
        case 0: return .null
        case 1: return .bool(Bool.random(using: &generator))
        case 2: return .integer(Int64(bitPattern: generator.next() >> UInt64.random(in: 0..<64, using: &generator)))
        case 3:
            let number = Double(bitPattern: generator.next())
            return .double(number.isFinite ? number : 0.25)
        case 4, 5: return .string(randomText(using: &generator))
        case 6:
            let count = Int.random(in: 0..<6, using: &generator)
            return .array((0..<count).map { _ in random(depth: depth - 1, using: &generator) })
        default:
            let count = Int.random(in: 0..<20, using: &generator)
            return .object(
                JSONObject(
                    (0..<count).map { _ in
                        (randomText(using: &generator), random(depth: depth - 1, using: &generator))
                    }))
        }
    }

    private static func randomText(using generator: inout SeededGenerator) -> String {
        let ranges: [ClosedRange<UInt32>] = [
            0x61...0x7A, 0x20...0x7E, 0...0x1F, 0x80...0x24F, 0x300...0x36F, 0x1F600...0x1F64F,
        ]
        var text = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 0..<24, using: &generator) {
            let range = ranges[Int.random(in: 0..<ranges.count, using: &generator)]
            if let scalar = Unicode.Scalar(UInt32.random(in: range, using: &generator)) { text.append(scalar) }
        }
        return String(text)
    }
}

@Suite struct JSONObjectTests {
    @Test func orderAndRepeats() throws {
        let object = try #require(JSONValue(parsing: #"{"b":1,"a":2,"b":3,"c":4,"a":5}"#).object)
        #expect(object.keys == ["b", "a", "c"])
        #expect(object.values == [3, 5, 4])
    }

    @Test(arguments: [1, 5, 12, 13, 14, 31, 32, 33, 100, 1000])
    func findsMembersInObjectsOfAnySize(count: Int) throws {
        let text = "{" + (0..<count).map { #""key\#($0)":\#($0),"key0":\#($0)"# }.joined(separator: ",") + "}"
        var object = try #require(JSONValue(parsing: text).object)
        #expect(object.count == count)
        #expect(object["key0"]?.int == count - 1)
        #expect(object["key\(count - 1)"]?.int == count - 1)
        #expect(object["missing"] == nil)
        var grown = JSONObject()
        for index in 0..<count { grown["key\(index)"] = .integer(Int64(index)) }
        #expect(grown.keys == object.keys)
        object["key0"] = nil
        #expect(object.count == count - 1 && object["key0"] == nil)
        for key in object.keys { #expect(object[key] != nil) }
    }

    @Test func randomChangesAreThoseOfAList() {
        var generator = SeededGenerator(seed: 7)
        var object = JSONObject()
        var list: [(key: String, value: Int64)] = []
        for step in 0..<4000 {
            let key = "key\(Int.random(in: 0..<200, using: &generator))"
            let value: Int64? = Bool.random(using: &generator) ? Int64(step) : nil
            object[key] = value.map { .integer($0) }
            let position = list.firstIndex { $0.key == key }
            switch (position, value) {
            case (let position?, let value?): list[position].value = value
            case (let position?, nil): list.remove(at: position)
            case (nil, let value?): list.append((key, value))
            case (nil, nil): break
            }
            guard step % 50 == 0 else { continue }
            #expect(object.keys == list.map(\.key))
            #expect(list.allSatisfy { object[$0.key] == .integer($0.value) })
        }
    }

    @Test func keysAreComparedByBytes() throws {
        let text = #"{"\u00e9":1,"e\u0301":2}"#
        let object = try #require(JSONValue(parsing: text).object)
        #expect(object.count == 2)
        #expect(object["\u{E9}"] == 1 && object["e\u{301}"] == 2)
        var many = JSONObject((0..<40).map { ("k\($0)", .null) })
        many["\u{E9}"] = 1
        many["e\u{301}"] = 2
        #expect(many.count == 42 && many["\u{E9}"] == 1 && many["e\u{301}"] == 2)
    }

    @Test func equalityIgnoresOrder() {
        let left: JSONObject = ["a": 1, "b": 2]
        let right: JSONObject = ["b": 2, "a": 1]
        #expect(left == right && left.hashValue == right.hashValue)
        #expect(left != ["a": 1] && left != ["a": 1, "b": 3] && left != ["a": 1, "c": 2])
    }

    @Test func settingNilOnAMissingKeyDoesNothing() {
        var object: JSONObject = ["a": 1]
        object["b"] = nil
        #expect(object == ["a": 1])
    }
}
