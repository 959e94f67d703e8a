import FoundationEssentials
import SwiftAF
import Testing

/// How members are found in a text: by a search, or by a table if there are many of them or names are repeated.
@Suite struct JSONMembersTests {
    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// Looks up names in some order.
    private struct Lookup: Decodable {
        let container: KeyedDecodingContainer<Name>

        init(from decoder: any Decoder) throws { container = try decoder.container(keyedBy: Name.self) }

        func int(_ name: String) throws -> Int { try container.decode(Int.self, forKey: Name(stringValue: name)) }
    }

    private func lookup(_ text: String, _ coder: JSONCoder = JSONCoder()) throws -> Lookup {
        try coder.decode(Lookup.self, from: Data(text.utf8))
    }

    @Test(arguments: [1, 2, 31, 32, 33, 200])
    func membersAreFoundInAnyOrder(count: Int) throws {
        let members = (0..<count).map { #""member\#($0)":\#($0)"# }
        let object = try lookup("{\(members.joined(separator: ","))}")
        for order in [Array(0..<count), (0..<count).reversed(), (0..<count).shuffled()] {
            for index in order { #expect(try object.int("member\(index)") == index) }
            #expect(!object.container.contains(Name(stringValue: "member\(count)")))
            #expect(!object.container.contains(Name(stringValue: "")))
        }
        #expect(object.container.allKeys.map(\.stringValue) == (0..<count).map { "member\($0)" })
    }

    @Test(arguments: [0, 10, 40])
    func ofRepeatedNamesTheLastValueCounts(others: Int) throws {
        let rest = (0..<others).map { #","other\#($0)":null"# }.joined()
        for (text, first, keys) in [
            (#"{"a":1,"b":2,"a":3\#(rest)}"#, 3, ["a", "b"]), (#"{"a":1,"b":2,"\u0061":3\#(rest)}"#, 3, ["a", "b"]),
            (#"{"\u0061":1,"b":2,"a":3\#(rest)}"#, 3, ["a", "b"]),
            (#"{"\u0061":1,"b":2,"\u0061":3\#(rest)}"#, 3, ["a", "b"]),
            (#"{"\u0061":1,"b":2\#(rest)}"#, 1, ["a", "b"]),
        ] {
            for coder in [JSONCoder(), JSONCoder(repeatedKeys: .kept)] {
                let object = try lookup(text, coder)
                #expect(try object.int("a") == first && object.int("b") == 2, "\(text)")
                #expect(object.container.allKeys.prefix(2).map(\.stringValue) == keys, "\(text)")
                #expect(object.container.allKeys.count == 2 + others)
            }
            let isRepeated = first == 3
            #expect(((try? lookup(text, JSONCoder(repeatedKeys: .refused))) == nil) == isRepeated, "\(text)")
        }
    }

    /// The names are converted after of those repeated in the text one is left, as for a tree.
    @Test(arguments: [0, 40])
    func namesThatAreTheSameAfterConversion(others: Int) throws {
        struct Person: Decodable, Equatable { var firstName: Int? }
        let rest = (0..<others).map { #","other_\#($0)":null"# }.joined()
        for (members, lastCounts, kept) in [
            (#""firstName":1,"first_name":2"#, 2, 2), (#""first_name":1,"firstName":2"#, 2, 2),
            (#""firstName":1,"first_name":2,"firstName":3"#, 2, 3), (#""first_name":1,"first_name":2"#, 2, 2),
        ] {
            for (repeatedKeys, expected) in [(JSONValue.RepeatedKeys.lastCounts, lastCounts), (.kept, kept)] {
                let coder = JSONCoder(keys: .snakeCase, repeatedKeys: repeatedKeys)
                let text = Data("{\(members)\(rest)}".utf8)
                #expect(try coder.decode(Person.self, from: text).firstName == expected, "\(members)")
                let tree = try JSONValue(parsing: text, repeatedKeys: repeatedKeys)
                #expect(try tree.decode(as: Person.self, coder: coder).firstName == expected, "\(members)")
            }
        }
    }

    /// Names that a search takes for the same at first sight.
    @Test func similarNamesAreDifferent() throws {
        let names = [
            "", "a", "aa", "ab", "ba", "e\u{301}", "\u{e9}", "12345678", "12345679", "1234567890", "1234567891",
        ]
        let members = names.enumerated().map { #""\#($1)":\#($0)"# }
        let object = try lookup("{\(members.joined(separator: ","))}", JSONCoder(repeatedKeys: .refused))
        for (index, name) in names.enumerated() { #expect(try object.int(name) == index, "\(name)") }
    }

    /// Names are compared several bytes at a time.
    @Test(arguments: 1...20)
    func namesThatDifferInOneByteAreDifferent(size: Int) throws {
        let name = String(repeating: "x", count: size)
        let object = try lookup(#"{"\#(name)":1}"#)
        #expect(try object.int(name) == 1)
        for place in 0..<size {
            let other = String(name.prefix(place)) + "y" + name.dropFirst(place + 1)
            #expect(!object.container.contains(Name(stringValue: other)), "\(other)")
        }
        #expect(!object.container.contains(Name(stringValue: name + "x")))
        #expect(!object.container.contains(Name(stringValue: String(name.dropLast()))))
    }

    @Test func namesWithEscapesAreCompared() throws {
        let names = [
            (#"a\u0062c"#, "abc"), (#"\u0000"#, "\0"), (#"\"\\\/\b\f\n\r\t"#, "\"\\/\u{8}\u{C}\n\r\t"),
            (#"\u00e9"#, "\u{e9}"), (#"e\u0301"#, "e\u{301}"), (#"\u20AC"#, "€"), (#"x\ud83d\ude00y"#, "x😀y"),
        ]
        for (escaped, name) in names {
            let object = try lookup(#"{"\#(escaped)":1}"#)
            #expect(try object.int(name) == 1)
            for other in [name + "x", String(name.unicodeScalars.dropLast()), "x" + name, escaped, ""] {
                #expect(!object.container.contains(Name(stringValue: other)), "\(escaped)")
            }
            #expect(object.container.allKeys.map(\.stringValue) == [name])
        }
    }

    /// A type may keep its decoder, which reads the text when it no longer exists.
    @Test func aKeptDecoderReadsTheTextOfItsDecoding() throws {
        struct Keeper: Decodable {
            let decoder: any Decoder
            init(from decoder: any Decoder) { self.decoder = decoder }
        }
        var text = Data((#"["a string of more than fifteen bytes",[1,2.5],{"key":"value","number":"# + "1e3}]").utf8)
        let keepers = try JSONCoder().decode([Keeper].self, from: text)
        text.resetBytes(in: 0..<text.count)
        #expect(try keepers[0].decoder.singleValueContainer().decode(String.self).hasSuffix("fifteen bytes"))
        #expect(try [Double](from: keepers[1].decoder) == [1, 2.5])
        #expect(try JSONValue(from: keepers[2].decoder) == ["key": "value", "number": 1000])
        let last = try Lookup(from: keepers[2].decoder)
        #expect(try last.int("number") == 1000)
        let error = #expect(throws: DecodingError.self) { try last.int("key") }
        guard case .typeMismatch(_, let context) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(context.codingPath.map(\.stringValue) == ["Index 2", "key"])
    }
}
