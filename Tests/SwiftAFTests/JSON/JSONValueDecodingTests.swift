import FoundationEssentials
import SwiftAF
import Testing

/// Decoding straight from a tree must give what `JSONDecoder` gives for the same text.
@Suite struct JSONValueDecodingTests {
    private struct Everything: Codable, Equatable {
        enum Kind: String, Codable { case small, large }
        struct Inner: Codable, Equatable { var x: Int8?; var y: [UInt16] }
        enum Choice: Codable, Equatable { case one(Int), two(a: String, b: Bool) }

        var flag: Bool
        var text: String
        var numbers: [Double]
        var float: Float
        var wide: UInt64
        var kind: Kind
        var optional: Int?
        var missing: String?
        var inner: Inner
        var inners: [Inner?]
        var table: [String: [Int]]
        var indexed: [Int: String]
        var date: Date
        var data: Data
        var url: URL
        var any: JSONValue
        var choices: [Choice]
        var unique: Set<String>
    }

    private let text = #"""
        {"flag": true, "text": "é\n", "numbers": [1, -2.5, 1e3], "float": 0.5, "wide": 9007199254740993,
         "kind": "large",
         "optional": null, "inner": {"x": -128, "y": [0, 65535]},
         "inners": [{"y": []}, null], "table": {"a": [1], "b": []},
         "indexed": {"1": "one", "20": "twenty"}, "date": 86400.5, "data": "AQID", "url": "https://h/?q",
         "any": {"deep": [null, 1, {"x": "y"}]}, "choices": [{"one": {"_0": 7}}, {"two": {"a": "x", "b": false}}],
         "unique": ["p", "q"]}
        """#

    @Test func everythingAsFromText() throws {
        let fromText = try JSONDecoder().decode(Everything.self, from: Data(text.utf8))
        #expect(try JSONValue(parsing: text).decode(as: Everything.self) == fromText)
    }

    @Test func topLevelsOfAllKinds() throws {
        #expect(try JSONValue.null.decode(as: Int?.self) == nil)
        #expect(try JSONValue.integer(7).decode(as: Int?.self) == 7)
        #expect(try JSONValue.double(7).decode(as: Int.self) == 7)
        #expect(try JSONValue.string("x").decode() == "x")
        #expect(try JSONValue.bool(true).decode() == true)
        #expect(try JSONValue.array([1, 2]).decode() == [1, 2])
        let value: JSONValue = ["a": [1, nil]]
        #expect(try value.decode(as: JSONValue.self) == value)
        #expect(try value.decode() == ["a": [1, nil] as [Int?]])
    }

    @Test func decodesInheritedClassWithSuperDecoder() throws {
        class Base: Decodable { var a: Int }
        final class Derived: Base {
            let b: Int
            enum CodingKeys: String, CodingKey { case b }
            required init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: CodingKeys.self)
                b = try container.decode(Int.self, forKey: .b)
                try super.init(from: container.superDecoder())
            }
        }
        let derived = try (["b": 2, "super": ["a": 1]] as JSONValue).decode(as: Derived.self)
        #expect(derived.a == 1 && derived.b == 2)
    }

    @Test(
        arguments: [
            (JSONCoder.DateStyle.deferredToDate, 0, Date(timeIntervalSinceReferenceDate: 0)),
            (.secondsSince1970, 1.5, Date(timeIntervalSince1970: 1.5)),
            (.millisecondsSince1970, 1500, Date(timeIntervalSince1970: 1.5)),
            (.iso8601, "1970-01-01T00:00:02Z", Date(timeIntervalSince1970: 2)),
        ] as [(JSONCoder.DateStyle, JSONValue, Date)])
    func decodesDatesInEveryStyle(_ style: JSONCoder.DateStyle, value: JSONValue, date: Date) throws {
        #expect(
            try (["d": value] as JSONValue).decode(as: [String: Date].self, coder: JSONCoder(dates: style)) == [
                "d": date
            ])
    }

    @Test func errorsSayWhere() {
        func failure<Value: Decodable & Sendable>(_ value: JSONValue, as type: Value.Type) -> String {
            switch Result(catching: { try value.decode(as: type, coder: JSONCoder(dates: .iso8601)) }) {
            case .failure(DecodingError.typeMismatch(_, let context)): "mismatch \(path(context))"
            case .failure(DecodingError.valueNotFound(_, let context)): "nothing \(path(context))"
            case .failure(DecodingError.keyNotFound(let key, let context)): "no \(key.stringValue) \(path(context))"
            case .failure(DecodingError.dataCorrupted(let context)): "corrupted \(path(context))"
            case .failure(let error): "\(error)"
            case .success: "none"
            }
        }
        struct Point: Decodable { var x: Int; var y: Int }
        #expect(failure([["x": 1, "y": "2"]], as: [Point].self) == "mismatch 0.y")
        #expect(failure(["p": ["x": 1]], as: [String: Point].self) == "no y p")
        #expect(failure(["p": ["x": 1, "y": nil]], as: [String: Point].self) == "nothing p.y")
        #expect(failure([1, 300], as: [UInt8].self) == "corrupted 1")
        #expect(failure([1.5], as: [Int].self) == "corrupted 0")
        #expect(failure([.double(1e300)], as: [Float].self) == "corrupted 0")
        #expect(failure(["x"], as: [String: Int].self) == "mismatch ")
        #expect(failure(["a": 1], as: [Int].self) == "mismatch ")
        #expect(failure(["yesterday"], as: [Date].self) == "corrupted 0")
        #expect(failure(["%"], as: [Data].self) == "corrupted 0")
    }

    private func path(_ context: DecodingError.Context) -> String {
        context.codingPath.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".")
    }

    @Test func anArrayEnds() {
        struct Pair: Decodable {
            let first: Int
            let second: Int
            init(from decoder: any Decoder) throws {
                var container = try decoder.unkeyedContainer()
                first = try container.decode(Int.self)
                second = try container.decode(Int.self)
            }
        }
        #expect(throws: DecodingError.self) { try (["p": [1]] as JSONValue).decode(as: [String: Pair].self) }
    }
}
