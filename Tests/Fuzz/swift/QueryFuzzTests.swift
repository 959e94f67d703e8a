import FoundationEssentials
import SwiftAF
import Testing

/// Random nested parameters, read back by a parser of queries that shares nothing with the encoder.
@Suite struct QueryFuzzTests {
    @Test(arguments: [ParameterEncoder.ArrayStyle.brackets, .none, .indexed])
    func everyLeafArrives(style: ParameterEncoder.ArrayStyle) throws {
        let encoder = ParameterEncoder(arrayStyle: style)
        var maker = Maker()
        for _ in 0..<2000 {
            let (parameters, leaves) = maker.dictionary(depth: 3, style: style)
            let query = try encoder.encode(parameters)
            let read = query.split(separator: "&").map { pair -> [String] in
                pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map { unescaped(String($0)) }
            }
            // Sorting by key is the encoder's; what matters here is that nothing is lost, added or changed.
            let sent = leaves.map { leaf in leaf.value.map { [leaf.key, $0] } ?? [leaf.key] }
            #expect(read.map { "\($0)" }.sorted() == sent.map { "\($0)" }.sorted())
            #expect(query.utf8.allSatisfy(isPlain))
            #expect(try encoder.encode(parameters) == query)
        }
    }

    private func unescaped(_ text: String) -> String {
        var bytes: [UInt8] = []
        var rest = Substring(text)
        while let character = rest.popFirst() {
            if character == "%" {
                bytes.append(UInt8(rest.prefix(2), radix: 16) ?? 0)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(contentsOf: character.utf8)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private func isPlain(_ byte: UInt8) -> Bool {
        (byte | 0x20) &- 0x61 < 26 || byte &- 0x30 < 10 || "-._~/?%=&".utf8.contains(byte)
    }

    /// Makes parameters, and beside them, by the rules as they are written down, what has to arrive.
    private struct Maker {
        struct Leaf { let key: String; let value: String? }

        private var mutator = Mutator(
            seeds: ["key", "a b", "ü/?", "[x]", "100%&=+", "漢😀"], fragments: ["[", "]", "&", "=", "%", "+", " "],
            start: 5)

        mutating func dictionary(depth: Int, style: ParameterEncoder.ArrayStyle) -> (Parameters, [Leaf]) {
            var pairs: [(String, Parameters)] = []
            var leaves: [Leaf] = []
            for index in 0..<mutator.number(below: 4) {
                let key = "\(text())\(index)"
                let (value, below) = value(under: key, depth: depth, style: style)
                pairs.append((key, value))
                leaves += below
            }
            return (Parameters(pairs), leaves)
        }

        private mutating func value(
            under key: String, depth: Int, style: ParameterEncoder.ArrayStyle
        ) -> (Parameters, [Leaf]) {
            switch mutator.number(below: depth > 0 ? 8 : 5) {
            case 0: return (nil, [Leaf(key: key, value: nil)])
            case 1:
                let number = mutator.number(below: 1000)
                return (.integer(Int64(number)), [Leaf(key: key, value: "\(number)")])
            case 2: return (true, [Leaf(key: key, value: "1")])
            case 3, 4:
                let text = text()
                return (.string(text), [Leaf(key: key, value: text)])
            case 5: return array(under: key, depth: depth - 1, style: style)
            case 6:
                let texts = (0..<mutator.number(below: 3)).map { "\(text())\($0)" }
                return (.set(texts.map { .string($0) }), texts.map { Leaf(key: key, value: $0) })
            default:
                var pairs: [(String, Parameters)] = []
                var leaves: [Leaf] = []
                for index in 0..<mutator.number(below: 3) {
                    let (value, below) = value(under: "\(key)[k\(index)]", depth: depth - 1, style: style)
                    pairs.append(("k\(index)", value))
                    leaves += below
                }
                return (Parameters(pairs), leaves)
            }
        }

        private mutating func array(
            under key: String, depth: Int, style: ParameterEncoder.ArrayStyle
        ) -> (Parameters, [Leaf]) {
            var elements: [Parameters] = []
            var leaves: [Leaf] = []
            for index in 0..<mutator.number(below: 3) {
                let suffix =
                    switch style {
                    case .brackets: "[]"
                    case .none: ""
                    case .indexed: "[\(index)]"
                    }
                let (value, below) = value(under: key + suffix, depth: depth, style: style)
                elements.append(value)
                leaves += below
            }
            return (.array(elements), leaves)
        }

        private mutating func text() -> String {
            let words = ["", "key", "a b", "ü/?", "[x]", "100%&=+", "漢😀", "\0\r\n", "e\u{301}"]
            return words[mutator.number(below: words.count)] + words[mutator.number(below: words.count)]
        }
    }
}
