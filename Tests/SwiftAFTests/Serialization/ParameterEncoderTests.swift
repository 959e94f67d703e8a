import FoundationEssentials
import SwiftAF
import Testing

@Suite struct ParameterEncoderTests {
    private static var cases: [(Parameters, String)] {
        var cases: [(Parameters, String)] = []
        // One statement for each, because the compiler takes long for literals of mixed types in one expression.
        func add(_ parameters: Parameters, _ text: String) { cases.append((parameters, text)) }
        add(["key": "value"], "key=value")
        add(["key": "value", "key1": "value&"], "key=value&key1=value%26")
        add([:], "")
        add([], "")
        add(.set([]), "")
        add(["a": [] as [Int], "b": [:] as [String: Int], "c": Set<Int>()], "")
        // Sorted at every level, by code units and with regard to case.
        add(["b": 1, "a": 2, "B": 3, "a1": 4, "é": 5], "B=3&a=2&a1=4&b=1&%C3%A9=5")
        add(["p": ["z": 1, "y": ["d": 2, "c": 3]]], "p%5By%5D%5Bc%5D=3&p%5By%5D%5Bd%5D=2&p%5Bz%5D=1")
        // U+FF5E sorts behind U+1F600 in UTF-16, before it in UTF-8.
        add(["\u{FF5E}": 1, "\u{1F600}": 2], "%F0%9F%98%80=2&%EF%BD%9E=1")
        // Arrays keep their order.
        add(["a": [3, 1, 2]], "a%5B%5D=3&a%5B%5D=1&a%5B%5D=2")
        add(["a": [["k": 1], ["k": 2]]], "a%5B%5D%5Bk%5D=1&a%5B%5D%5Bk%5D=2")
        add(["a": [[1, 2], [3]]], "a%5B%5D%5B%5D=1&a%5B%5D%5B%5D=2&a%5B%5D%5B%5D=3")
        // Sets are sorted and have no brackets.
        add(["a": Parameters.set(["c", "b", 10, 9])], "a=10&a=9&a=b&a=c")
        add(["a": Set([["y": 1], ["x": 2]])], "a%5Bx%5D=2&a%5By%5D=1")
        // Values.
        add(["a": nil, "b": [nil] as [Int?]], "a&b%5B%5D")
        add(["a": ""], "a=")
        add(["": "a"], "=a")
        add(["t": true, "f": false], "f=0&t=1")
        add(["i": -5, "u": UInt64.max], "i=-5&u=18446744073709551615")
        add(
            ["d": [1.5, 1.0, 0.1, 1e20, 1e-7, -0.5]],
            "d%5B%5D=1.5&d%5B%5D=1&d%5B%5D=0.1&d%5B%5D=1e%2B20&d%5B%5D=1e-07&d%5B%5D=-0.5")
        add(["w": Date(timeIntervalSince1970: 0)], "w=1970-01-01T00%3A00%3A00Z")
        add(
            ["w": [Date(timeIntervalSince1970: -0.5), Date(timeIntervalSince1970: 1.9)]],
            "w%5B%5D=1969-12-31T23%3A59%3A59Z&w%5B%5D=1970-01-01T00%3A00%3A01Z")
        add(["d": Data([0xFB, 0xFF])], "d=%2B/8%3D")
        // Without a dictionary around them.
        add("a b", "=a%20b")
        add([1, 2], "%28null%29%5B%5D=1&%28null%29%5B%5D=2")
        add(.set(["b", "a"]), "=a&=b")
        add(nil, "")
        return cases
    }

    @Test(arguments: cases)
    func encodesParametersAsQueryText(parameters: Parameters, text: String) throws {
        #expect(try ParameterEncoder().encode(parameters) == text)
    }

    @Test(
        arguments: [
            (.brackets, ["a": [1, [2, 3]]], "a%5B%5D=1&a%5B%5D%5B%5D=2&a%5B%5D%5B%5D=3"),
            (.none, ["a": [1, [2, 3]]], "a=1&a=2&a=3"),
            (.indexed, ["a": [1, [2, 3]]], "a%5B0%5D=1&a%5B1%5D%5B0%5D=2&a%5B1%5D%5B1%5D=3"),
            (.none, [1, 2], "%28null%29=1&%28null%29=2"),
            (.indexed, [1, 2], "%28null%29%5B0%5D=1&%28null%29%5B1%5D=2"),
            (.none, ["a": [nil] as [Int?]], "a"), (.indexed, ["a": Set([1, 2])], "a=1&a=2"),
            (.indexed, ["a": [["k": 1], ["k": 2]]], "a%5B0%5D%5Bk%5D=1&a%5B1%5D%5Bk%5D=2"),
        ] as [(ParameterEncoder.ArrayStyle, Parameters, String)])
    func encodesArraysInEveryStyle(style: ParameterEncoder.ArrayStyle, parameters: Parameters, text: String) throws {
        #expect(try ParameterEncoder(arrayStyle: style).encode(parameters) == text)
    }

    @Test func encodesBooleansAsLiterals() throws {
        let encoder = ParameterEncoder(booleanStyle: .literal)
        #expect(
            try encoder.encode(["a": [true, false], "s": Set([true, false])])
                == "a%5B%5D=true&a%5B%5D=false&s=false&s=true")
        #expect(try encoder.encode(.encodable(["k": true])) == "k=true")
        #expect(try recoded(encoder) == encoder && encoder != ParameterEncoder())
    }

    @Test func escapesReservedCharactersAsUTF8() {
        let every = ":#[]@!$&'()*+,;=?/"
        #expect(ParameterEncoder.escape(every) == "%3A%23%5B%5D%40%21%24%26%27%28%29%2A%2B%2C%3B%3D?/")
        #expect(ParameterEncoder.escape("azAZ09-._~") == "azAZ09-._~")
        #expect(ParameterEncoder.escape("%20 \"<>\\^`{|}") == "%2520%20%22%3C%3E%5C%5E%60%7B%7C%7D")
        #expect(ParameterEncoder.escape("\0\r\n\u{7F}") == "%00%0D%0A%7F")
        #expect(ParameterEncoder.escape("👴🏿") == "%F0%9F%91%B4%F0%9F%8F%BF")
        let long = String(repeating: "漢", count: 5000)
        #expect(ParameterEncoder.escape(long) == String(repeating: "%E6%BC%A2", count: 5000))
    }

    @Test func pairsBeforeEscaping() throws {
        let pairs = try ParameterEncoder().pairs(["a b": ["ü", nil]])
        #expect(pairs.map(\.key) == ["a b[]", "a b[]"])
        #expect(pairs.map(\.value) == ["ü", nil])
    }

    @Test func encodesEncodableValuesAsParameters() throws {
        struct Person: Codable { var name: String; var born: Int; var tags: [String]; var seen: Date }
        let person = Person(name: "Ada L", born: 1815, tags: ["x"], seen: Date(timeIntervalSince1970: 0))
        let text = "born=1815&name=Ada%20L&seen=1970-01-01T00%3A00%3A00Z&tags%5B%5D=x"
        #expect(try ParameterEncoder().encode(.encodable(person)) == text)
        #expect(try ParameterEncoder().encode(["p": Parameters.encodable(["k": 1])]) == "p%5Bk%5D=1")
        struct Failing: Encodable { func encode(to encoder: any Encoder) throws { throw CancellationError() } }
        #expect(throws: CancellationError.self) {
            try ParameterEncoder().encode(["a": Parameters.encodable(Failing())])
        }
    }

    @Test func ofRepeatedKeysTheLastCounts() throws {
        #expect(try ParameterEncoder().encode(["a": 1, "b": 2, "a": 3]) == "a=3&b=2")
        #expect(try ParameterEncoder().encode(Parameters(["k": "v"] as [String: String])) == "k=v")
        #expect(
            try ParameterEncoder().encode(Parameters(["k": [1.5, true, nil, "s"]] as JSONValue))
                == "k%5B%5D=1.5&k%5B%5D=1&k%5B%5D&k%5B%5D=s")
    }
}
