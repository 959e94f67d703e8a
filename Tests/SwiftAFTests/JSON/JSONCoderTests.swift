import FoundationEssentials
import SwiftAF
import Testing

/// Types behave as with `JSONDecoder` and `JSONEncoder`, but for what ``JSONCoder`` lists.
@Suite struct JSONCoderTests {
    // MARK: Decoding

    /// What became of a text: the value written by `JSONEncoder`, or the kind of error and where it is.
    private static func outcome<Value: Codable>(_ decode: () throws -> Value) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "+∞", negativeInfinity: "-∞", nan: "¿")
        do {
            return String(decoding: try encoder.encode([decode()]), as: UTF8.self)
        } catch DecodingError.typeMismatch(_, let context) {
            return "mismatch at \(path(context.codingPath))"
        } catch DecodingError.valueNotFound(_, let context) {
            return "nothing at \(path(context.codingPath))"
        } catch DecodingError.keyNotFound(let key, let context) {
            return "no \(key.stringValue) at \(path(context.codingPath))"
        } catch DecodingError.dataCorrupted {
            // `JSONDecoder` often leaves out where.
            return "corrupted"
        } catch {
            return "\(error)"
        }
    }

    private static func path(_ keys: [any CodingKey]) -> String {
        keys.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".")
    }

    private func expectSame<Value: Codable>(
        _ type: Value.Type, _ texts: [String], coder: JSONCoder = JSONCoder(), decoder: JSONDecoder = JSONDecoder(),
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        for text in texts {
            let data = Data(text.utf8)
            let (ours, theirs) = (
                Self.outcome { try coder.decode(type, from: data) },
                Self.outcome { try decoder.decode(type, from: data) }
            )
            #expect(ours == theirs, "\(text) as \(type)", sourceLocation: sourceLocation)
        }
    }

    private struct Point: Codable { var x: Int; var y: Int? }
    private struct Tree: Codable { var name: String; var children: [Tree]? }
    private enum Level: String, Codable { case low, high }
    private enum Step: Int, Codable { case one = 1, two }
    private enum Shape: Codable { case dot, circle(radius: Double), line(Point, Point) }

    @Test func scalarsBehaveAsWithJSONDecoder() {
        let scalars = [
            "1", "-1", "0", "1.5", "1.0", "1e2", "128", "256", "true", "false", "null", #""x""#, #""""#, "[]", "{}",
            "300",
            "65536", "4294967296", "-129", "1e400",
        ]
        // `JSONDecoder` reports null as a value of the wrong type, but only for `Bool`.
        expectSame(Bool.self, scalars.filter { $0 != "null" })
        expectSame(String.self, scalars)
        expectSame(Int.self, scalars)
        expectSame(Int8.self, scalars)
        expectSame(UInt8.self, scalars)
        expectSame(Int16.self, scalars)
        expectSame(UInt32.self, scalars)
        expectSame(UInt64.self, scalars)
        expectSame(Double.self, scalars.filter { $0 != "1e400" })
        expectSame(Float.self, scalars.filter { $0 != "1e400" })
        expectSame(Decimal.self, scalars.filter { $0 != "1e400" })
        expectSame(Int?.self, scalars)
        expectSame([Int].self, scalars.map { "[1,\($0)]" } + ["1", "[]", "null", "{}", "[1", "[,]"])
        expectSame([String].self, scalars.map { "[\"a\",\($0)]" })
        expectSame([Double].self, ["[1,2.5,-1e3]", "[1,null]", "[1,\"2\"]"])
        expectSame([Int?].self, scalars.map { "[1,\($0)]" })
    }

    @Test func membersAreFoundInEveryOrder() throws {
        struct Letters: Codable, Equatable {
            var a, b, c, d: Int
        }
        let members = [#""a":1"#, #""b":2"#, #""c":3"#, #""d":4"#]
        // With more members, an object finds them by a table.
        for others in [0, 1, 20] {
            let rest = (0..<others).map { #""other\#($0)":null"# }
            for shift in 0..<4 {
                let turned = Array(members[shift...] + members[..<shift])
                for order in [turned, turned.reversed(), rest + turned, turned + rest] {
                    let text = Data("{\((order).joined(separator: ","))}".utf8)
                    #expect(try JSONCoder().decode(Letters.self, from: text) == Letters(a: 1, b: 2, c: 3, d: 4))
                }
            }
        }
        let repeated = Data(#"{"a":0,"b":2,"c":3,"d":4,"a":1}"#.utf8)
        for keys in [JSONValue.RepeatedKeys.lastCounts, .kept] {
            let letters = try JSONCoder(repeatedKeys: keys).decode(Letters.self, from: repeated)
            #expect(letters == Letters(a: 1, b: 2, c: 3, d: 4))
        }
    }

    @Test func structuresBehaveAsWithJSONDecoder() {
        expectSame(
            Point.self,
            [
                #"{"x":1}"#, #"{"x":1,"y":2}"#, #"{"x":1,"y":null,"z":3}"#, #"{"y":1}"#, #"{"x":null}"#, #"{"x":"1"}"#,
                #"{"x":1,"y":"2"}"#, "[]", "null", "1", "{}", #"{"x":1.5}"#, "", "{", #"{"x":1"#,
            ])
        expectSame(
            Tree.self,
            [
                #"{"name":"a","children":[{"name":"b","children":[]},{"name":"c"}]}"#,
                #"{"name":"a","children":[{"name":"b","children":[{}]}]}"#,
                #"{"name":"a","children":{"name":"b"}}"#, #"{"name":"a","children":[null]}"#,
            ])
        expectSame(Level.self, [#""low""#, #""medium""#, "1", "null"])
        expectSame(Step.self, ["1", "2", "3", "1.0", #""1""#])
        expectSame(
            Shape.self,
            [
                #"{"dot":{}}"#, #"{"circle":{"radius":1.5}}"#, #"{"circle":{}}"#, #"{"square":{}}"#, "{}", #""dot""#,
                #"{"line":{"_0":{"x":1},"_1":{"x":2,"y":3}}}"#, #"{"dot":{},"circle":{"radius":1}}"#,
            ])
        expectSame([String: Point].self, [#"{"a":{"x":1},"b":{"x":2}}"#, #"{"a":{"y":1}}"#, "[]", "{}"])
        expectSame([Int: String].self, [#"{"1":"a","20":"b"}"#, #"{"x":"a"}"#, "[]"])
        // One pair only: a dictionary with keys that aren't strings is an array of pairs, in any order.
        expectSame([Level: Int].self, [#"["low",1]"#, #"["low",1,"high"]"#, #"{"low":1}"#])
        expectSame(Set<String>.self, [#"["a"]"#])
        expectSame([String: [String: [Int?]]].self, [#"{"a":{"b":[1,null]}}"#, #"{"a":{"b":[1,true]}}"#])
    }

    @Test func typesOfFoundationBehaveAsWithJSONDecoder() {
        expectSame([URL].self, [#"["https://h/?q#f"]"#, "[1]", "[null]", #"["a/b"]"#])
        expectSame([UUID].self, [#"["E621E1F8-C36C-495A-93FC-0C247A3E6E5F"]"#, #"["x"]"#, "[1]"])
        expectSame([Data].self, [#"["AQID"]"#, #"["%"]"#, "[1]", #"[""]"#])
        expectSame([Date].self, ["[0]", "[86400.5]", #"["x"]"#])
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .secondsSince1970
        expectSame(
            [Date].self, ["[0]", "[1700000000.25]", #"["x"]"#], coder: JSONCoder(dates: .secondsSince1970),
            decoder: decoder)
        decoder.dateDecodingStrategy = .millisecondsSince1970
        expectSame(
            [Date].self, ["[0]", "[1700000000250]"], coder: JSONCoder(dates: .millisecondsSince1970), decoder: decoder)
        decoder.dateDecodingStrategy = .iso8601
        expectSame(
            [Date].self, [#"["2024-02-29T12:00:00Z"]"#, #"["2024-02-29T12:00:00+01:00"]"#, #"["yesterday"]"#, "[1]"],
            coder: JSONCoder(dates: .iso8601), decoder: decoder)
        decoder.nonConformingFloatDecodingStrategy = .convertFromString(
            positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        let coder = JSONCoder(
            nonConformingFloats: .strings(positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan"))
        for texts in [["[1]", #"["inf"]"#, #"["-inf"]"#, #"["nan"]"#, #"["x"]"#]] {
            expectSame([Double].self, texts, coder: coder, decoder: decoder)
            expectSame([Float].self, texts, coder: coder, decoder: decoder)
        }
    }

    @Test(arguments: [
        "1970-01-01T00:00:01Z; x", "2024-02-30T12:00:00Z", "2023-02-29T12:00:00Z", "2100-02-29T12:00:00Z",
        "2024-13-01T12:00:00Z", "2024-00-01T12:00:00Z", "2024-04-31T12:00:00.5Z", "2024-01-01T25:00:00Z",
        "2024-01-01T24:00:00Z", "2024-01-01T12:60:00Z", "2024-01-01T12:00:61Z", "2024-01-00T12:00:00Z",
        "1970-01-01T00:00:01Zz", "1970-01-01T00:00:01+01:00 ", "1970-01-01T00:00:01", "",
    ])
    func onlyWholeDatesAreReadFromISO8601(text: String) {
        #expect(throws: (any Error).self) {
            try JSONValue.string(text).decode(as: Date.self, coder: JSONCoder(dates: .iso8601))
        }
    }

    /// Foundation writes the nearest date that has a text.
    @Test(arguments: [-62_167_392_001, 253_402_300_800, .infinity, -.infinity, .nan, 1e300] as [Double])
    func datesWithoutFourDigitYearsAreNotWritten(seconds: Double) throws {
        let date = Date(timeIntervalSince1970: seconds)
        let dates = ["at": date]
        let error = #expect(throws: EncodingError.self) { try JSONCoder(dates: .iso8601).encode(dates) }
        guard case .invalidValue(_, let context) = error else { return #expect(error == nil) }
        #expect(context.codingPath.map(\.stringValue) == ["at"])
        #expect(context.debugDescription.contains("0000 to 9999"))
        // A description of the date would trap for NaN.
        if let error { #expect("\(error)".contains("0000 to 9999")) }
        #expect(throws: EncodingError.self) { try ParameterEncoder().encode(["at": Parameters.date(date)]) }
        #expect(throws: EncodingError.self) { try ParameterEncoder().encode(.encodable(dates)) }
    }

    @Test(arguments: [
        (-62_167_392_000, "0000-01-01T00:00:00Z"), (253_402_300_799.5, "9999-12-31T23:59:59Z"),
    ])
    func theFirstAndTheLastWritableDate(seconds: Double, text: String) throws {
        let date = Date(timeIntervalSince1970: seconds)
        #expect(try JSONCoder(dates: .iso8601).encode([date]) == Data(#"["\#(text)"]"#.utf8))
        let read = try JSONCoder(dates: .iso8601).decode([Date].self, from: Data(#"["\#(text)"]"#.utf8))
        #expect(read == [Date(timeIntervalSince1970: seconds.rounded(.down))])
    }

    @Test func fractionsOfSecondsAreReadFromISO8601() throws {
        let date = try JSONValue.string("1970-01-01T00:00:01.250Z").decode(
            as: Date.self, coder: JSONCoder(dates: .iso8601))
        #expect(abs(date.timeIntervalSince1970 - 1.25) < 0.000_1)
    }

    private struct Named: Codable {
        struct Part: Codable { var partName: String; var urlText: String? }
        var firstName: String
        var _private_: Int?
        var parts: [Part]?
        var anyKeys: [String: Int]?
    }

    @Test func snakeCaseIsReadAsByJSONDecoder() {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        expectSame(
            Named.self,
            [
                #"{"first_name":"a"}"#, #"{"firstName":"a"}"#, #"{"first_name":"a","_private_":1}"#,
                #"{"FIRST_NAME":"a"}"#,
                #"{"first_name":"a","parts":[{"part_name":"b","url_text":"c"}]}"#, #"{"first__name":"a"}"#,
                #"{"first_name":"a","any_keys":{"one_two":1,"threeFour":2}}"#, #"{"first_name":"a","parts":[{}]}"#,
                "{}",
            ], coder: JSONCoder(keys: .snakeCase), decoder: decoder)
    }

    /// The names of all members.
    private struct AllNames: Codable {
        let names: [String]

        init(from decoder: any Decoder) throws {
            names = try decoder.container(keyedBy: TextKey.self).allKeys.map(\.stringValue)
        }

        private struct TextKey: CodingKey {
            let stringValue: String
            var intValue: Int? { nil }

            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }
    }

    @Test func namesInSnakeCaseAreConvertedAsByJSONDecoder() {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        var generator = SeededGenerator(seed: 13)
        let parts = ["_", "_", "a", "b", "B", "1", "-", " ", ".", "$", "é", "e\u{301}", "\u{301}", "ß", "'"]
        let random = (0..<2000).map { _ in
            (0..<Int.random(in: 1...7, using: &generator)).map { _ in
                parts.randomElement(using: &generator) ?? ""
            }.joined()
        }
        expectSame(
            AllNames.self,
            (["is_2fa_enabled", "line_1st", "x_my-name", "_a_$ref_", "a_ßx"] + random).map { #"{"\#($0)":1}"# },
            coder: JSONCoder(keys: .snakeCase), decoder: decoder)
    }

    /// `JSONDecoder` looks for `fileSha256sum`, but converts what `JSONEncoder` has written for it to `fileSha256Sum`.
    @Test func snakeCaseOfDigitsIsReadAsItIsWritten() throws {
        struct File: Codable, Equatable {
            var fileSha256sum: String
            var is2FaEnabled: Bool?
            var line1st: Int?
        }
        let coder = JSONCoder(keys: .snakeCase)
        let file = File(fileSha256sum: "x", is2FaEnabled: true, line1st: 1)
        #expect(try coder.decode(File.self, from: coder.encode(file)) == file)
        #expect(try coder.encodeTree(file).decode(as: File.self, coder: coder) == file)
    }

    @Test func snakeCaseOfAcronymsIsReadAsItIsWritten() throws {
        struct Book: Codable, Equatable {
            var authorID: Int
            var coverURL: String?
            var isbn: String? = nil
        }
        let coder = JSONCoder(keys: .snakeCase)
        let book = Book(authorID: 7, coverURL: "x")
        let text = try coder.encode(book)
        #expect(text == Data(#"{"author_id":7,"cover_url":"x"}"#.utf8))
        #expect(try coder.decode(Book.self, from: text) == book)
        #expect(try coder.decode(Book.self, from: Data(#"{"authorID":7}"#.utf8)).authorID == 7)
        // A member of exactly this name counts before one that is converted.
        let both = Data(#"{"author_id":1,"authorID":2}"#.utf8)
        #expect(try coder.decode(Book.self, from: both).authorID == 2)
        #expect(throws: DecodingError.self) { try JSONCoder().decode(Book.self, from: text) }
    }

    /// Containers used by hand.
    private struct Manual: Codable {
        enum Keys: String, CodingKey { case id, list, nested, missing }
        enum Inner: Int, CodingKey { case first = 1, second }
        var log: [String] = []

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Keys.self)
            log.append(container.allKeys.map(\.stringValue).sorted().joined())
            log.append("\(container.contains(.missing)) \(try container.decodeNil(forKey: .id))")
            var list = try container.nestedUnkeyedContainer(forKey: .list)
            log.append("\(list.count ?? -1) \(try list.decodeNil()) \(try list.decodeNil()) \(list.currentIndex)")
            log.append("\(try list.decode(Int.self)) \(try list.decodeIfPresent(Int.self) as Any)")
            var deeper = try list.nestedUnkeyedContainer()
            log.append("\(try deeper.decode(String.self)) \(deeper.isAtEnd) \(list.isAtEnd)")
            let keyed = try list.nestedContainer(keyedBy: Inner.self)
            log.append(
                "\(try keyed.decode(Int.self, forKey: .first)) \(try keyed.decodeIfPresent(Int.self, forKey: .second) as Any)"
            )
            log.append("\(try Int(from: list.superDecoder())) \(list.isAtEnd)")
            let nested = try container.nestedContainer(keyedBy: Keys.self, forKey: .nested)
            log.append("\(try nested.decode(String.self, forKey: .id)) \(Self.codingPath(nested.codingPath))")
            log.append("\(try String(from: nested.superDecoder(forKey: .id)))")
            log.append("\(try container.superDecoder(forKey: .missing).singleValueContainer().decodeNil())")
            log.append("\(try container.superDecoder().singleValueContainer().decodeNil())")
        }

        private static func codingPath(_ keys: [any CodingKey]) -> String {
            keys.map(\.stringValue).joined(separator: "/")
        }
    }

    @Test func containersBehaveAsWithJSONDecoder() {
        expectSame(
            [Manual].self,
            [
                #"[{"id":1,"list":[null,7,null,["x"],{"first":3},9],"nested":{"id":"n"}}]"#,
                #"[{"id":1,"list":[null,7,8,["x"],{"first":3,"second":4},9],"nested":{"id":"n"},"super":1}]"#,
                #"[{"id":1,"list":[null,7,8,"x"],"nested":{"id":"n"}}]"#,
                #"[{"id":1,"list":null,"nested":{}}]"#, #"[{"id":1}]"#, #"[{"list":[]}]"#,
            ])
    }

    /// The widest integers aren't among those that every container must decode.
    private struct Wide: Codable {
        var numbers: [Int128?] = []
        var rest: UInt128?

        init(from decoder: any Decoder) throws {
            var container = try decoder.unkeyedContainer()
            numbers = [try container.decode(Int128.self), try container.decodeIfPresent(Int128.self)]
            rest = try container.isAtEnd ? nil : container.decode(UInt128.self)
        }
    }

    @Test func wideIntegersAreDecodedFromContainersOfElements() throws {
        let (most, least) = ("340282366920938463463374607431768211455", "-170141183460469231731687303715884105728")
        expectSame([Wide].self, ["[[\(least),null,\(most)]]", "[[1,2]]", "[[1,2,-1]]", "[[true,2]]", "[[\(most),1]]"])
        let wide = try JSONValue(parsing: "[\(least),7,\(most)]").decode(as: Wide.self)
        #expect(wide.numbers == [.min, 7] && wide.rest == .max)
    }

    @Test func errorsSayWhatWasExpectedAndFound() {
        func explain(_ text: String) -> String {
            do {
                _ = try JSONCoder().decode([Tree].self, from: Data(text.utf8))
                return ""
            } catch DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
                DecodingError.keyNotFound(_, let context), DecodingError.dataCorrupted(let context)
            {
                return "\(Self.path(context.codingPath)): \(context.debugDescription)"
            } catch {
                return "\(error)"
            }
        }
        #expect(explain(#"[{"name":1}]"#) == "0.name: expected String, found a number")
        #expect(explain(#"[{"name":null}]"#) == "0.name: expected String, found null")
        #expect(explain(#"[{"name":"a","children":[{}]}]"#) == #"0.children.0: the object has no member named "name""#)
        #expect(explain(#"[{"name":"a","children":"b"}]"#) == "0.children: expected an array, found a string")
        #expect(explain("[1]") == "0: expected an object, found a number")
        #expect(explain(#"[{"name":"a","children":[null]}]"#) == "0.children.0: expected an object, found null")
        #expect(explain("[1,]") == ": not JSON: a comma is followed by no value (line 1, column 4, byte 3)")
    }

    @Test(arguments: ["42", "null", "true", #""x""#, "[1]", "{}"])
    func oneValueIsADocument(text: String) throws {
        let data = Data(text.utf8)
        #expect(try JSONCoder().decode(JSONValue.self, from: data) == JSONValue(parsing: text))
        #expect(try JSONCoder().encode(JSONValue(parsing: text)) == data)
        if text == "42" { #expect(try JSONCoder().decode(Int.self, from: data) == 42) }
    }

    // MARK: Repeated keys

    /// One rule for trees, for types and for dictionaries.
    @Test func ofRepeatedKeysTheLastValueCountsEverywhere() throws {
        let text = #"{"x":1,"y":9,"x":2}"#
        let data = Data(text.utf8)
        for repeatedKeys in [JSONValue.RepeatedKeys.lastCounts, .kept] {
            let value = try JSONValue(parsing: text, repeatedKeys: repeatedKeys)
            #expect(value["x"] == 2)
            #expect(try value.decode(as: Point.self).x == 2)
            #expect(try value.decode(as: [String: Int].self) == ["x": 2, "y": 9])
            let coder = JSONCoder(repeatedKeys: repeatedKeys)
            #expect(try coder.decode(Point.self, from: data).x == 2)
            #expect(try coder.decode([String: Int].self, from: data) == ["x": 2, "y": 9])
        }
        let snake = Data(#"{"first_name":"a","firstName":"b"}"#.utf8)
        #expect(try JSONCoder(keys: .snakeCase).decode(Named.self, from: snake).firstName == "b")
    }

    @Test(arguments: [3, 40])
    func repeatedKeysAreKeptOnRequest(count: Int) throws {
        let members = (0..<count).flatMap { [#""k\#($0)":\#($0)"#, #""a":\#($0)"#] }
        let text = "{" + members.joined(separator: ",") + "}"
        var value = try JSONValue(parsing: text, repeatedKeys: .kept)
        #expect(try value.text() == text)
        #expect(value.object?.count == 2 * count && value["a"]?.int == count - 1)
        #expect(try value == JSONValue(parsing: text, repeatedKeys: .kept) && value != JSONValue(parsing: text))
        #expect(value.removingNulls() == value)
        value["k0"] = "new"
        #expect(value.object?.count == 2 * count && value["a"]?.int == count - 1)
        value["a"] = 7
        #expect(value.object?.count == count + 1 && value["a"] == 7 && value.object?.keys.prefix(2) == ["k0", "a"])
        value["a"] = nil
        #expect(value.object?.count == count && value["a"] == nil)
        #expect(JSONObject(keepingRepeats: [("a", 1), ("a", 2)]).values == [1, 2])
    }

    @Test func repeatedKeysAreRefusedOnRequest() throws {
        let error = #expect(throws: JSONParseError.self) {
            try JSONValue(parsing: #"{"b":{"a":1,"a":2}}"#, repeatedKeys: .refused)
        }
        #expect(error?.reason == .repeatedKey && error?.offset == 17)
        #expect(throws: DecodingError.self) {
            try JSONCoder(repeatedKeys: .refused).decode([String: Int].self, from: Data(#"{"a":1,"\u0061":2}"#.utf8))
        }
        let many = "{" + (0..<50).map { #""k\#($0)":1"# }.joined(separator: ",")
        #expect(throws: JSONParseError.self) { try JSONValue(parsing: many + #","k7":1}"#, repeatedKeys: .refused) }
        #expect(try JSONValue(parsing: many + "}", repeatedKeys: .refused).object?.count == 50)
    }

    // MARK: Encoding

    private func expectSame(
        encoding value: some Encodable, coder: JSONCoder = JSONCoder(), encoder: JSONEncoder = JSONEncoder(),
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        for options in [[], .prettyPrinted, .withoutEscapingSlashes] as [JSONValue.WritingOptions] {
            encoder.outputFormatting =
                options.contains(.withoutEscapingSlashes) ? [.sortedKeys, .withoutEscapingSlashes] : .sortedKeys
            let theirs = try encoder.encode(value)
            let ours = try coder.encode(value, options: options.union(.sortedKeys))
            if options == .prettyPrinted {
                #expect(try JSONValue(parsing: ours) == JSONValue(parsing: theirs), sourceLocation: sourceLocation)
            } else {
                let (ours, theirs) = (String(decoding: ours, as: UTF8.self), String(decoding: theirs, as: UTF8.self))
                #expect(ours == theirs, sourceLocation: sourceLocation)
            }
        }
    }

    private class Animal: Encodable {
        var name = "n"
        enum Keys: String, CodingKey { case name }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Keys.self)
            try container.encode(name, forKey: .name)
        }
    }

    private final class Dog: Animal {
        var age = 3
        let isNested: Bool
        init(isNested: Bool) { self.isNested = isNested }
        enum DogKeys: String, CodingKey { case age }
        override func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: DogKeys.self)
            try container.encode(age, forKey: .age)
            try super.encode(to: isNested ? container.superEncoder() : encoder)
        }
    }

    private struct Containers: Encodable {
        enum Keys: String, CodingKey { case a, b, c, d, e }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Keys.self)
            try container.encodeNil(forKey: .a)
            var list = container.nestedUnkeyedContainer(forKey: .b)
            try list.encode(1)
            try list.encodeNil()
            try list.encode(contentsOf: ["x", "y"])
            var deeper = list.nestedUnkeyedContainer()
            try deeper.encode(true)
            var keyed = list.nestedContainer(keyedBy: Keys.self)
            try keyed.encode(Float(0.1), forKey: .a)
            try "s".encode(to: list.superEncoder())
            try deeper.encode(list.count)
            _ = container.nestedContainer(keyedBy: Keys.self, forKey: .c)
            _ = container.nestedUnkeyedContainer(forKey: .d)
            try 7.encode(to: container.superEncoder(forKey: .e))
        }
    }

    /// Encodes into the same containers more than once, as a class and its superclass may.
    private struct Shared: Encodable {
        enum Keys: String, CodingKey { case info, list, x, y }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Keys.self)
            var info = container.nestedContainer(keyedBy: Keys.self, forKey: .info)
            try info.encode(1, forKey: .x)
            var list = container.nestedUnkeyedContainer(forKey: .list)
            try list.encode(1)
            try container.encode(3, forKey: .y)
            var more = container.nestedContainer(keyedBy: Keys.self, forKey: .info)
            try more.encode(2, forKey: .y)
            var longer = container.nestedUnkeyedContainer(forKey: .list)
            try longer.encode(2)
        }
    }

    /// Does so with many of them.
    private struct SharedByMany: Encodable {
        struct Key: CodingKey {
            let stringValue: String
            var intValue: Int? { nil }

            init(_ number: Int) { stringValue = "key\(number)" }
            init?(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }

        let count: Int

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            for round in 0..<3 {
                for number in 0..<count {
                    var nested = container.nestedContainer(keyedBy: Key.self, forKey: Key(number))
                    try nested.encode(number, forKey: Key(round))
                    if round == 0 { try container.encode(number, forKey: Key(-number - 1)) }
                }
            }
        }
    }

    @Test func valuesAreWrittenAsByJSONEncoder() throws {
        try expectSame(encoding: Shared())
        for count in [1, 6, 7, 12, 13, 100] { try expectSame(encoding: SharedByMany(count: count)) }
        try expectSame(encoding: [1, -1, .max, .min])
        try expectSame(encoding: [0.5, 1.0, -0.0, 1e-7, 1e15, 1e16, 1e20, 1e300, 0.1, .pi, .leastNonzeroMagnitude])
        try expectSame(encoding: [Float(0.1), 1, 1e10, 3.4e38])
        try expectSame(encoding: ["a/b", "\"\\\n\u{1}é😀", ""])
        try expectSame(encoding: [true, false])
        try expectSame(encoding: [nil, 1] as [Int?])
        try expectSame(encoding: ["a": [1: "x", 20: "y"]])
        try expectSame(encoding: [Int8.min, .max])
        try expectSame(encoding: [UInt64.max])
        try expectSame(encoding: [Int128.max, .min])
        try expectSame(
            encoding: Tree(name: "a", children: [Tree(name: "b", children: []), Tree(name: "c", children: nil)]))
        try expectSame(encoding: [Shape.dot, .circle(radius: 2), .line(Point(x: 1, y: nil), Point(x: 2, y: 3))])
        try expectSame(encoding: [Level.low])
        try expectSame(encoding: [Level.low: 1])
        try expectSame(encoding: [Decimal(string: "12345678901234567890.125"), Decimal(5)])
        try expectSame(encoding: [URL(string: "https://h/a?b")])
        try expectSame(encoding: [Data([1, 2, 3])])
        try expectSame(encoding: [UUID()])
        try expectSame(encoding: [Date(timeIntervalSinceReferenceDate: 86_400.5)])
        try expectSame(encoding: Dog(isNested: true))
        try expectSame(encoding: Dog(isNested: false))
        try expectSame(encoding: Containers())
        try expectSame(encoding: Optional<Int>.none)
        try expectSame(encoding: 42)
        try expectSame(encoding: Point?.some(Point(x: 1, y: nil)))
    }

    @Test func settingsAreThoseOfJSONEncoder() throws {
        let date = [Date(timeIntervalSince1970: 1_700_000_000)]
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .secondsSince1970
        try expectSame(encoding: date, coder: JSONCoder(dates: .secondsSince1970), encoder: encoder)
        encoder.dateEncodingStrategy = .millisecondsSince1970
        try expectSame(encoding: date, coder: JSONCoder(dates: .millisecondsSince1970), encoder: encoder)
        encoder.dateEncodingStrategy = .iso8601
        try expectSame(encoding: date, coder: JSONCoder(dates: .iso8601), encoder: encoder)
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        let words = JSONCoder(
            nonConformingFloats: .strings(positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan"))
        try expectSame(encoding: [Double.infinity, -.infinity, .nan, 1], coder: words, encoder: encoder)
        try expectSame(encoding: [Float.infinity, -.infinity, .nan, 1], coder: words, encoder: encoder)
        encoder.keyEncodingStrategy = .convertToSnakeCase
        struct Names: Encodable {
            var simple = 1, twoWords = 2, myURLProperty = 3, URLText = 4, endsWithURL = 5, a1B2c = 6, _under = 7, x = 8
            var already_snake = 9, iOS = 10, aB = 11, ABC = 12
            var table = ["keepThis": ["andThis": 1]]
            var nested = Inner()
            struct Inner: Encodable { var innerName = 1 }
        }
        try expectSame(encoding: Names(), coder: JSONCoder(keys: .snakeCase), encoder: encoder)
        let back = try JSONCoder(keys: .snakeCase).decode(
            Named.self, from: JSONCoder(keys: .snakeCase).encode(Named(firstName: "a", anyKeys: ["b_c": 1])))
        #expect(back.firstName == "a" && back.anyKeys == ["b_c": 1])
    }

    @Test func membersAreWrittenInTheOrderTheyAreEncodedIn() throws {
        struct Ordered: Encodable { var z = 1, a = 2, m = [3] }
        #expect(try JSONCoder().encode(Ordered()) == Data(#"{"z":1,"a":2,"m":[3]}"#.utf8))
    }

    @Test func whatCanNotBeEncodedIsAnErrorWithItsPlace() {
        func place(_ value: some Encodable) -> String? {
            switch Result(catching: { try JSONCoder().encode(value) }) {
            case .failure(EncodingError.invalidValue(_, let context)): Self.path(context.codingPath)
            case .failure(let error): "\(error)"
            case .success: nil
            }
        }
        #expect(place(["a": [0.5, .nan]]) == "a.1")
        #expect(place([Float.infinity]) == "0")
        #expect(place(["a": Date(timeIntervalSinceReferenceDate: .infinity)]) == "a")
        struct Nothing: Encodable { func encode(to encoder: any Encoder) {} }
        #expect(place(Nothing()) == "")
        #expect(place([Nothing()]) == nil)
        struct Twice: Encodable {
            func encode(to encoder: any Encoder) throws {
                var container = encoder.unkeyedContainer()
                try container.encode(1)
                try ["a": 1].encode(to: encoder)
            }
        }
        #expect(place(["t": Twice()]) == "t")
        struct Single: Encodable {
            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                try container.encode(1)
                try container.encode(2)
            }
        }
        #expect(place([Single()]) == "0")
    }

    @Test func encodesElementsOfEveryScalarType() throws {
        struct Scalars: Encodable {
            func encode(to encoder: any Encoder) throws {
                var container = encoder.unkeyedContainer()
                try container.encode("text")
                try container.encode(true)
                try container.encode(0.5)
                try container.encode(2.0)
                try container.encode(Float(0.1))
                try container.encode(Int.min)
                try container.encode(Int8.min)
                try container.encode(Int16.min)
                try container.encode(Int32.min)
                try container.encode(Int64.min)
                try container.encode(Int128.min)
                try container.encode(UInt.max)
                try container.encode(UInt8.max)
                try container.encode(UInt16.max)
                try container.encode(UInt32.max)
                try container.encode(UInt64.max)
                try container.encode(UInt128.max)
                try container.encodeNil()
            }
        }
        let expected = """
            ["text",true,0.5,2,0.1,\(Int.min),-128,-32768,-2147483648,\(Int64.min),\(Int128.min),\(UInt.max),255,65535,\
            4294967295,\(UInt64.max),\(UInt128.max),null]
            """
        #expect(try JSONCoder().encodeTree(Scalars()).text() == expected)
    }

    // MARK: Limits

    private final class Ring: Codable {
        var next: Ring?
    }

    private struct Endless: Encodable {
        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(self)
        }
    }

    @Test func nestingIsLimitedBothWays() throws {
        func nested(_ depth: Int) -> Data {
            Data(
                (String(repeating: #"{"next":"#, count: depth - 1) + "{}" + String(repeating: "}", count: depth - 1))
                    .utf8)
        }
        let deepest = try JSONCoder().decode(Ring.self, from: nested(512))
        #expect(try JSONCoder().encode(deepest) == nested(512))
        #expect(throws: DecodingError.self) { try JSONCoder().decode(Ring.self, from: nested(513)) }
        #expect(throws: DecodingError.self) { try JSONCoder().decode(Ring.self, from: nested(100_000)) }
        let deeper = Ring()
        deeper.next = deepest
        #expect(throws: EncodingError.self) { try JSONCoder().encode(deeper) }
        let ring = Ring()
        ring.next = ring
        #expect(throws: EncodingError.self) { try JSONCoder().encode(ring) }
        ring.next = nil
        #expect(throws: EncodingError.self) { try JSONCoder().encode(Endless()) }
        #expect(throws: DecodingError.self) {
            try JSONCoder(maximumSize: 3).decode([Int].self, from: Data("[10]".utf8))
        }
    }

    /// An array in an array, and so on. Each is encoded as the single value of a value of its own, or into a container.
    private indirect enum Nest: Encodable {
        case number
        case single(Nest)
        case container(Nest)

        func encode(to encoder: any Encoder) throws {
            switch self {
            case .number:
                var container = encoder.singleValueContainer()
                try container.encode(1)
            case .single(let inner):
                var container = encoder.singleValueContainer()
                try container.encode([inner])
            case .container(let inner):
                var container = encoder.unkeyedContainer()
                var nested = container.nestedUnkeyedContainer()
                try nested.encode(inner)
            }
        }
    }

    @Test func arraysOfAnyFormAreNestedUpTo512Deep() throws {
        func nested(_ depth: Int) -> Data {
            Data((String(repeating: "[", count: depth) + "1" + String(repeating: "]", count: depth)).utf8)
        }
        var singles = Nest.number
        for _ in 0..<512 { singles = .single(singles) }
        #expect(try JSONCoder().encode(singles) == nested(512))
        #expect(throws: EncodingError.self) { try JSONCoder().encode(Nest.single(singles)) }
        // Two arrays each.
        var containers = Nest.number
        for _ in 0..<256 { containers = .container(containers) }
        #expect(try JSONCoder().encode(containers) == nested(512))
        #expect(throws: EncodingError.self) { try JSONCoder().encode(Nest.container(containers)) }
        #expect(throws: EncodingError.self) { try JSONCoder().encode([containers]) }
    }

    // MARK: Where it is used

    private static let response = HTTPResponse(
        status: 200, headers: ["Content-Type": "application/json"], url: "https://test.test/")

    @Test func typedResponsesUseIt() throws {
        let body = Data(#"{"x":12,"x":1.0,"y":null}"#.utf8)
        #expect(try DecodableResponseSerializer<Point>().serialize(Self.response, body: body).x == 1)
        #expect(try Response(head: Self.response, body: body).value(as: Point.self).x == 1)
        let big = Data("[12345678901234567890123]".utf8)
        #expect(
            try DecodableResponseSerializer<[Int128]>().serialize(Self.response, body: big) == [
                12_345_678_901_234_567_890_123
            ])
        // Another decoder is used if it is passed.
        #expect(
            try Response(head: Self.response, body: body).value(as: Point.self, decoder: JSONDecoder()).x == 12
        )
        let snake = DecodableResponseSerializer<Named>(decoder: JSONCoder(keys: .snakeCase))
        #expect(try snake.serialize(Self.response, body: Data(#"{"first_name":"a"}"#.utf8)).firstName == "a")
        #expect(throws: SessionError.self) {
            try DecodableResponseSerializer<[Int]>().serialize(Self.response, body: Data("[1,]".utf8))
        }
    }

    @Test func requestsUseIt() throws {
        struct Order: Encodable { var zeta = UInt64.max, alpha = 1.0, dueDate = Date(timeIntervalSince1970: 0) }
        let request = HTTPRequest(.post, "https://test.test/")
        var serializer = JSONRequestSerializer(encoder: JSONCoder(keys: .snakeCase, dates: .iso8601))
        let text = #"{"zeta":18446744073709551615,"alpha":1,"due_date":"1970-01-01T00:00:00Z"}"#
        #expect(try serializer.serialize(request, parameters: .encodable(Order())).body.data == Data(text.utf8))
        #expect(
            try serializer.serialize(request, parameters: [Parameters.encodable(Order())]).body.data
                == Data("[\(text)]".utf8))
        #expect(try recoded(serializer) == serializer)
        serializer.encoder = JSONCoder()
        #expect(try serializer != recoded(JSONRequestSerializer(encoder: JSONCoder(keys: .snakeCase))))
    }
}
