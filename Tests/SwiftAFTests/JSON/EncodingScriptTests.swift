import Foundation
import Testing

@testable import SwiftAF

/// Values that make calls of an encoder at random are written as by Foundation's `JSONEncoder`.
@Suite struct EncodingScriptTests {
    /// What a value encodes: any of the calls that an encoder has.
    indirect enum Script: Encodable, CustomStringConvertible {
        case leaf(any Encodable)
        case null
        /// A value in the place of another one.
        case single(Script)
        case keyed([(key: Key, step: Step)])
        case unkeyed([Step])
        case dictionary([String: Script])
        case numbered([Int: Script])
        case failing

        indirect enum Step {
            case value(Script)
            case null
            case keyed([(key: Key, step: Step)])
            case unkeyed([Step])
            case superclass(Script)
            /// A value whose error is caught, so that nothing of it remains.
            case caught(Script)
        }

        func encode(to encoder: any Encoder) throws {
            switch self {
            case .leaf(let value):
                var container = encoder.singleValueContainer()
                try container.encode(value)
            case .null:
                var container = encoder.singleValueContainer()
                try container.encodeNil()
            case .single(let script):
                var container = encoder.singleValueContainer()
                try container.encode(script)
            case .keyed(let members):
                var container = encoder.container(keyedBy: Key.self)
                try Self.encode(members, into: &container)
            case .unkeyed(let steps):
                var container = encoder.unkeyedContainer()
                try Self.encode(steps, into: &container)
            case .dictionary(let members): try members.encode(to: encoder)
            case .numbered(let members): try members.encode(to: encoder)
            case .failing:
                var container = encoder.container(keyedBy: Key.self)
                try container.encode(1, forKey: Key("lost"))
                throw Failure()
            }
        }

        private static func encode(
            _ members: [(key: Key, step: Step)], into container: inout KeyedEncodingContainer<Key>
        ) throws {
            for (key, step) in members {
                switch step {
                case .value(let script): try container.encode(script, forKey: key)
                case .null: try container.encodeNil(forKey: key)
                case .keyed(let members):
                    var nested = container.nestedContainer(keyedBy: Key.self, forKey: key)
                    try encode(members, into: &nested)
                case .unkeyed(let steps):
                    var nested = container.nestedUnkeyedContainer(forKey: key)
                    try encode(steps, into: &nested)
                case .superclass(let script): try script.encode(to: container.superEncoder(forKey: key))
                case .caught(let script): try? container.encode(script, forKey: key)
                }
            }
        }

        private static func encode(_ steps: [Step], into container: inout any UnkeyedEncodingContainer) throws {
            for step in steps {
                switch step {
                case .value(let script): try container.encode(script)
                case .null: try container.encodeNil()
                case .keyed(let members):
                    var nested = container.nestedContainer(keyedBy: Key.self)
                    try encode(members, into: &nested)
                case .unkeyed(let steps):
                    var nested = container.nestedUnkeyedContainer()
                    try encode(steps, into: &nested)
                case .superclass(let script): try script.encode(to: container.superEncoder())
                case .caught(let script): try? container.encode(script)
                }
            }
        }

        var description: String {
            switch self {
            case .leaf(let value): "leaf(\(type(of: value)) \(value))"
            case .null: "null"
            case .single(let script): "single(\(script))"
            case .keyed(let members): "keyed(\(members.map { "\($0.key.stringValue): \($0.step)" }))"
            case .unkeyed(let steps): "unkeyed(\(steps))"
            case .dictionary(let members): "dictionary(\(members))"
            case .numbered(let members): "numbered(\(members))"
            case .failing: "failing"
            }
        }
    }

    struct Failure: Error {}

    struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(_ name: String) { stringValue = name }
        init?(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// Makes the same scripts for the same number.
    private struct Generator: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }

        mutating func below(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &self) }

        static let leaves: [any Encodable & Sendable] = [
            0, -1, Int.max, Int.min, Int8.min, UInt8.max, Int16.min, UInt16.max, Int32.min, UInt32.max, UInt.max,
            Int64.min, UInt64.max, Int128.max, Int128.min, UInt128.max,
            0.0, -0.0, 1.0, 0.1, 1e15, 1e16, 1e21, 1e22, 1e-5, 1e-7, Double.leastNonzeroMagnitude,
            1.7976931348623157e308, 9007199254740993.0,
            Float(0.1), Float(-0.0), Float(16_777_216), Float(1e10), Float.leastNonzeroMagnitude,
            Decimal(string: "0.10") ?? 0, Decimal(string: "-12345678901234567890.5") ?? 0,
            Decimal(sign: .plus, exponent: 100, significand: 7), Decimal(sign: .minus, exponent: -100, significand: 7),
            "", "a/b", "\"\\\u{8}\u{c}\n\r\t\u{0}\u{1f}\u{7f}\u{2028}", "é", "e\u{301}", "😀", true, false,
            Date(timeIntervalSinceReferenceDate: 0.1), Date(timeIntervalSince1970: -1), Data([1, 2, 255]), Data(),
            URL(fileURLWithPath: "/a b"), UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)),
            Int?.none, Int?.some(3), [Int](), [1, 2], [String: Int](), ["a": 1], [2: 3],
            [Date(timeIntervalSince1970: 7)],
            ["aKey": Optional("b")], [1.5, -0.0], [[Data([3])]],
        ]

        static let names = [
            "a", "b", "aB", "aBC", "url_text", "someURLPart", "", "é", "a/b", "\"", "\\", "super", "1", "😀",
        ]

        mutating func key() -> Key { Key(Self.names[below(Self.names.count)]) }

        mutating func script(_ depth: Int) -> Script {
            switch below(depth > 3 ? 2 : 9) {
            case 0: return .leaf(Self.leaves[below(Self.leaves.count)])
            case 1: return .null
            case 2: return .single(script(depth + 1))
            case 3, 4: return .keyed(members(depth))
            case 5, 6: return .unkeyed((0..<below(5)).map { _ in step(depth) })
            case 7:
                let names = (0..<below(4)).map { _ in key().stringValue }
                return .dictionary(Dictionary(names.map { ($0, script(depth + 1)) }) { $1 })
            default: return .numbered(Dictionary((0..<below(4)).map { ($0 * 7 - 1, script(depth + 1)) }) { $1 })
            }
        }

        /// Only values have repeated names: Foundation stops the program if what two containers of one name encode
        /// doesn't fit together.
        mutating func members(_ depth: Int) -> [(key: Key, step: Script.Step)] {
            var areValues: [String: Bool] = [:]
            return (0..<below(20)).compactMap { _ in
                let (key, step) = (key(), step(depth))
                let isValue =
                    switch step {
                    case .value, .null: true
                    case .keyed, .unkeyed, .superclass, .caught: false
                    }
                if let former = areValues[key.stringValue], !former || !isValue { return nil }
                areValues[key.stringValue] = isValue
                return (key, step)
            }
        }

        mutating func step(_ depth: Int) -> Script.Step {
            switch below(depth > 3 ? 2 : 7) {
            case 0: .value(script(depth + 1))
            case 1: .null
            case 2: .keyed(members(depth + 1))
            case 3: .unkeyed((0..<below(4)).map { _ in step(depth + 1) })
            case 4: .superclass(script(depth + 1))
            default: .value(script(depth + 1))
            }
        }
    }

    /// As types do that add a member to what another type encodes.
    @Test(arguments: [0, 1, 11, 12, 30])
    func containerContinuesValueOfItsName(others: Int) throws {
        let padding = (0..<others).map { (key: Key("k\($0)"), step: Script.Step.null) }
        let more: Script.Step = .keyed([(Key("b"), .value(.leaf(2)))])
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        for steps in [
            [.value(.dictionary(["a": .leaf(1)])), more],
            [.value(.keyed([(Key("a"), .null)])), more, more],
            [.superclass(.keyed([(Key("a"), .null)])), more],
            [.value(.unkeyed([.null])), .unkeyed([.value(.leaf(1))])],
            [.value(.leaf([1, 2])), .unkeyed([]), .unkeyed([.keyed([])])],
            [more, .value(.dictionary(["c": .null])), more],
        ] as [[Script.Step]] {
            let script = Script.keyed(padding + steps.map { (Key("m"), $0) } + padding)
            let theirs = try encoder.encode(script)
            #expect(try JSONCoder().encode(script, options: .sortedKeys) == theirs)
            #expect(try JSONCoder().encode(RecordedValue(script), options: .sortedKeys) == theirs)
        }
    }

    /// The names of a dictionary or a `JSONValue` are data, also if a container adds keys to it.
    @Test func containerAddsConvertedKeysToDictionary() throws {
        let more: Script.Step = .keyed([(Key("lastName"), .null)])
        let within: Script.Step = .keyed([(Key("inner"), more)])
        let coder = JSONCoder(keys: .snakeCase)
        for value in [["firstName": 1], JSONValue.object(["firstName": 1])] as [any Encodable] {
            let single: [(key: Key, step: Script.Step)] = [
                (Key("outer"), .value(.leaf(value))), (Key("outer"), more), (Key("last"), .null),
            ]
            let nested: [(key: Key, step: Script.Step)] = [
                (Key("outer"), .keyed([(Key("inner"), .value(.leaf(value)))])), (Key("outer"), within),
            ]
            let members = #"{"firstName":1,"last_name":null}"#
            for (script, expected) in [
                (Script.keyed(single), #"{"outer":"# + members + #","last":null}"#),
                (Script.keyed(nested), #"{"outer":{"inner":"# + members + "}}"),
            ] {
                #expect(String(decoding: try coder.encode(script), as: UTF8.self) == expected)
                let recorded = try RecordedValue(script)
                #expect(String(decoding: try coder.encode(recorded), as: UTF8.self) == expected)
                // What is recorded twice has the same marks.
                #expect(String(decoding: try coder.encode(RecordedValue(recorded)), as: UTF8.self) == expected)
            }
        }
    }

    /// The names of a dictionary within a dictionary are data as well, whichever of the two a container continues.
    @Test(arguments: ["inner", "innerName"])
    func containerAddsConvertedKeysToDictionaryInDictionary(inner: String) throws {
        let within: Script.Step = .keyed([(Key(inner), .keyed([(Key("lastName"), .null)]))])
        let coder = JSONCoder(keys: .snakeCase)
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.outputFormatting = .sortedKeys
        for steps in [
            [within], [within, .keyed([(Key("topName"), .null)])],
            [.keyed([(Key(inner), .keyed([(Key("deepName"), within)]))])],
        ] as [[Script.Step]] {
            let value = Script.leaf([inner: ["firstName": 1], "otherName": ["lastName": 2]])
            let script = Script.keyed(([("outer", .value(value))] + steps.map { ("outer", $0) }).map { (Key($0), $1) })
            let expected = try coder.encode(script, options: .sortedKeys)
            #expect(try encoder.encode(script) == expected)
            let recorded = try RecordedValue(script)
            for value in [recorded, try RecordedValue(recorded)] {
                #expect(
                    String(decoding: try coder.encode(value, options: .sortedKeys), as: UTF8.self)
                        == String(decoding: expected, as: UTF8.self))
                #expect(try encoder.encode(value) == expected)
            }
        }
    }

    /// A recorded value that a container continues keeps its marks, too.
    @Test func containerContinuesRecordedDictionary() throws {
        let recorded = try RecordedValue(Script.leaf(["firstName": 1]))
        let script = Script.keyed([
            (Key("outer"), .value(.leaf(recorded))), (Key("outer"), .keyed([(Key("lastName"), .null)])),
        ])
        let data = try JSONCoder(keys: .snakeCase).encode(RecordedValue(script))
        #expect(String(decoding: data, as: UTF8.self) == #"{"outer":{"firstName":1,"last_name":null}}"#)
    }

    @Test func containerContinuesRecordedArray() throws {
        let script = Script.keyed([
            (Key("m"), .value(.leaf(JSONValue.array([1])))), (Key("m"), .unkeyed([.value(.leaf(2))])),
        ])
        for data in [try JSONCoder().encode(script), try JSONCoder().encode(RecordedValue(script))] {
            #expect(String(decoding: data, as: UTF8.self) == #"{"m":[1,2]}"#)
        }
    }

    /// A container for a value of another kind stops `JSONEncoder`. Here it is an error.
    @Test func containerOfAnotherKindThanItsValueIsAnError() {
        for steps in [
            [.value(.leaf([1])), .keyed([])], [.value(.leaf(["a": 1])), .unkeyed([])], [.keyed([]), .unkeyed([])],
        ] as [[Script.Step]] {
            let script = Script.keyed(steps.map { (Key("m"), $0) })
            #expect(throws: EncodingError.self) { try JSONCoder().encode(script) }
            #expect(throws: EncodingError.self) { try RecordedValue(script) }
        }
    }

    /// RFC 8259, section 8.3. Foundation takes canonically equivalent names for one.
    @Test(arguments: [0, 12])
    func containersOfEquivalentNamesAreKeptApart(others: Int) throws {
        let padding = (0..<others).map { (key: Key("k\($0)"), step: Script.Step.null) }
        let names: [(key: Key, step: Script.Step)] = [
            (Key("\u{e9}"), .keyed([(Key("a"), .null)])), (Key("e\u{301}"), .keyed([(Key("b"), .null)])),
        ]
        let script = Script.keyed(padding + names)
        for data in [try JSONCoder().encode(script), try JSONCoder().encode(RecordedValue(script))] {
            let members = try #require(try JSONValue(parsing: data).object)
            #expect(members["\u{e9}"] == ["a": nil] && members["e\u{301}"] == ["b": nil])
        }
    }

    /// `JSONEncoder` stops the program when more is encoded after such an error.
    @Test func valueWhoseErrorIsCaughtLeavesNothing() throws {
        for lost in [.failing, .leaf(Double.nan), .single(.failing), .unkeyed([.value(.failing)])] as [Script] {
            let script = Script.keyed([
                (Key("a"), .unkeyed([.null, .caught(lost), .value(.leaf(1))])), (Key("b"), .caught(lost)),
                (Key("c"), .value(.leaf(2))),
            ])
            let text = String(decoding: try JSONCoder().encode(script), as: UTF8.self)
            #expect(text == #"{"a":[null,1],"c":2}"#)
        }
    }

    private static let encoders: [@Sendable () -> (JSONCoder, JSONEncoder)] = [
        { (JSONCoder(), JSONEncoder()) },
        {
            let encoder = JSONEncoder()
            encoder.keyEncodingStrategy = .convertToSnakeCase
            encoder.dateEncodingStrategy = .iso8601
            return (JSONCoder(keys: .snakeCase, dates: .iso8601), encoder)
        },
        {
            let encoder = JSONEncoder()
            encoder.dateEncodingStrategy = .millisecondsSince1970
            return (JSONCoder(dates: .millisecondsSince1970), encoder)
        },
    ]

    @Test(arguments: encoders.indices)
    func randomCallsAreWrittenAsByJSONEncoder(index: Int) throws {
        let (coder, encoder) = Self.encoders[index]()
        encoder.outputFormatting = .sortedKeys
        var generator = Generator(state: UInt64(index))
        for _ in 0..<200 {
            let script = generator.script(0)
            let theirs = try encoder.encode(script)
            let ours = try coder.encode(script, options: .sortedKeys)
            #expect(String(decoding: ours, as: UTF8.self) == String(decoding: theirs, as: UTF8.self), "\(script)")
            let recorded = try coder.encode(RecordedValue(script), options: .sortedKeys)
            #expect(recorded == ours, "\(script)")
            let byEncoder = try encoder.encode(RecordedValue(script))
            #expect(byEncoder == theirs, "\(script)")
        }
    }
}
