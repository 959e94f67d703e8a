import FoundationEssentials
import Testing

@testable import SwiftAF

/// A recording is written by every encoder as the value is.
@Suite struct RecordedValueTests {
    private class Base: Encodable {
        var theID = 1

        private enum Keys: String, CodingKey { case theID }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Keys.self)
            try container.encode(theID, forKey: .theID)
        }
    }

    private final class Sub: Base {
        private enum Keys: String, CodingKey { case outerList, innerPart, when, parent }

        override func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Keys.self)
            var list = container.nestedUnkeyedContainer(forKey: .outerList)
            try list.encodeNil()
            try list.encode(Date(timeIntervalSince1970: 1))
            var pair = list.nestedContainer(keyedBy: Keys.self)
            try pair.encode(Float(0.1), forKey: .when)
            var nested = list.nestedUnkeyedContainer()
            try nested.encode(["someKey": URL(string: "http://h/")])
            try super.encode(to: list.superEncoder())
            for key in [Keys.when, .parent] {
                var part = container.nestedContainer(keyedBy: Keys.self, forKey: .innerPart)
                try part.encode(Int8(-1), forKey: key)
            }
            try super.encode(to: container.superEncoder())
            try super.encode(to: container.superEncoder(forKey: .parent))
        }
    }

    private struct Everything: Encodable {
        enum Kind: String, Encodable { case oneKind }
        enum Choice: Encodable { case some(Int), none }

        var aDate = Date(timeIntervalSince1970: 1)
        var bytes = Data([1, 2])
        var price = Decimal(string: "1.10")
        var largest = UInt64.max
        var kind = Kind.oneKind
        var choice = [Choice.some(1), .none]
        var names = ["firstKey": ["secondKey": Date(timeIntervalSince1970: 0)]]
        var byNumber = [1: "a"]
        var nothing: Int?
        var infinity = Double.infinity
        var json = JSONValue.object(["keptName": 1.50])
        var empty = [String: Int]()
    }

    private static let values: [@Sendable () -> any Encodable] = [
        { Everything() }, { [Everything()] }, { Sub() }, { 1 }, { "a" }, { Int?.none }, { [Int?.none, 2] },
        { ["aKey": Optional("b")] }, { true }, { Date(timeIntervalSince1970: 5) },
    ]

    @Test(arguments: 0..<values.count, [JSONCoder.KeyStyle.useDefaultKeys, .snakeCase])
    func isWrittenAsTheValueIs(index: Int, keys: JSONCoder.KeyStyle) throws {
        let coder = JSONCoder(
            keys: keys, dates: .iso8601,
            nonConformingFloats: .strings(positiveInfinity: "+", negativeInfinity: "-", nan: "?"))
        let value = Self.values[index]()
        #expect(try coder.encode(RecordedValue(value)) == coder.encode(value))
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .secondsSince1970
        encoder.outputFormatting = .sortedKeys
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "+", negativeInfinity: "-", nan: "?")
        if keys == .snakeCase { encoder.keyEncodingStrategy = .convertToSnakeCase }
        #expect(try encoder.encode(RecordedValue(value)) == encoder.encode(value))
    }

    @Test func valueThatContainsItselfIsAnError() {
        final class Loop: Encodable {
            func encode(to encoder: any Encoder) throws {
                var container = encoder.unkeyedContainer()
                try container.encode(self)
            }
        }
        #expect(throws: EncodingError.self) { try RecordedValue(Loop()) }
    }

    /// Nothing may visit such containers one inside another: the stack would overflow.
    @Test(arguments: NestedContainers.Kind.allCases)
    func containersNestedTooDeeplyAreAnError(kind: NestedContainers.Kind) throws {
        let endless = NestedContainers(kind: kind, count: 200_000)
        #expect(throws: EncodingError.self) { try RecordedValue(endless) }
        #expect(throws: EncodingError.self) { try RecordedValue([endless]) }
        #expect(throws: EncodingError.self) { try JSONCoder().encode(endless) }
        let deepest = NestedContainers(kind: kind, count: 511)
        #expect(try JSONCoder().encode(RecordedValue(deepest)) == JSONCoder().encode(deepest))
    }

    @Test func valueThatIsEncodedTwiceIsAnError() {
        struct Twice: Encodable {
            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                try container.encode(1)
                try container.encode(2)
            }
        }
        struct Both: Encodable {
            func encode(to encoder: any Encoder) throws {
                _ = encoder.unkeyedContainer()
                _ = encoder.container(keyedBy: TreeKey.self)
            }
        }
        #expect(throws: EncodingError.self) { try RecordedValue(Twice()) }
        #expect(throws: EncodingError.self) { try RecordedValue([Both()]) }
    }

    @Test func valueThatEncodesNothingIsAnErrorOfTheEncoder() throws {
        struct Nothing: Encodable {
            func encode(to encoder: any Encoder) {}
        }
        let recorded = try RecordedValue(Nothing())
        #expect(throws: EncodingError.self) { try JSONCoder().encode(recorded) }
        #expect(try JSONCoder().encode(RecordedValue(["a": Nothing()])) == Data(#"{"a":{}}"#.utf8))
    }
}

/// Containers in containers, as many as a value with a loop can make.
struct NestedContainers: Encodable {
    enum Kind: CaseIterable { case keyed, unkeyed, keyedSuperclasses, unkeyedSuperclasses }

    let kind: Kind
    let count: Int

    func encode(to encoder: any Encoder) throws {
        var encoder = encoder
        switch kind {
        case .keyed:
            var container = encoder.container(keyedBy: TreeKey.self)
            for _ in 0..<count { container = container.nestedContainer(keyedBy: TreeKey.self, forKey: .name("a")) }
        case .unkeyed:
            var container = encoder.unkeyedContainer()
            for _ in 0..<count { container = container.nestedUnkeyedContainer() }
        case .keyedSuperclasses:
            for _ in 0..<count {
                var container = encoder.container(keyedBy: TreeKey.self)
                encoder = container.superEncoder()
            }
        case .unkeyedSuperclasses:
            for _ in 0..<count {
                var container = encoder.unkeyedContainer()
                encoder = container.superEncoder()
            }
        }
    }
}
