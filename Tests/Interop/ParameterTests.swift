import Foundation
import SwiftAF
import Testing

extension Interop {
    /// Parameters of any shape, as a server that parses them reads them.
    @Suite struct RandomParameters {
        let manager: HTTPSessionManager

        init() async throws {
            let servers = try await RealServers.shared
            manager = servers.manager(servers.httpbin.origin)
        }

        @Test(arguments: 1...20)
        func aQueryIsReadAsItWasMeant(_ seed: UInt64) async throws {
            var source = ParameterSource(seed: seed)
            let parameters = source.parameters()
            let echo: JSONValue = try await manager.get("/get?fixed=1", parameters: parameters)
            #expect(try values(echo["args"]) == source.expected.merging(["fixed": ["1"]]) { first, _ in first })
        }

        @Test(arguments: 21...40)
        func aFormIsReadAsItWasMeant(_ seed: UInt64) async throws {
            var source = ParameterSource(seed: seed)
            let parameters = source.parameters()
            let echo: JSONValue = try await manager.post("/post?fixed=1", parameters: parameters)
            #expect(try values(echo["form"]) == source.expected)
            #expect(echo["args"] == ["fixed": "1"])
        }

        /// httpbin shows a single value as a text and several as an array.
        private func values(_ shown: JSONValue?) throws -> [String: [String]] {
            var values: [String: [String]] = [:]
            for (key, value) in try #require(shown?.object) {
                values[key] = value.array.map { $0.compactMap(\.string) } ?? value.string.map { [$0] }
            }
            return values
        }
    }
}

/// Makes nested parameters, and notes for each what a server must read. No two values share a key, except those of
/// one array, which stay in order.
private struct ParameterSource {
    private(set) var expected: [String: [String]] = [:]
    private var generator: SeededGenerator
    private var keys = 0

    init(seed: UInt64) {
        generator = SeededGenerator(seed: seed)
    }

    mutating func parameters() -> Parameters {
        dictionary(under: nil, depth: 0)
    }

    private mutating func dictionary(under parent: String?, depth: Int) -> Parameters {
        var members: [(String, Parameters)] = []
        for _ in 0..<Int.random(in: 1...4, using: &generator) {
            keys += 1
            let name = "\(text())\(keys)"
            members.append((name, value(under: parent.map { "\($0)[\(name)]" } ?? name, depth: depth + 1)))
        }
        return Parameters(members)
    }

    private mutating func value(under key: String, depth: Int) -> Parameters {
        switch Int.random(in: 0..<(depth < 4 ? 11 : 8), using: &generator) {
        case 0: return note("", under: key, as: .null)
        case 1: return note("1", under: key, as: true)
        case 2: return note("0", under: key, as: false)
        case 3:
            let number = Int64.random(in: .min ... .max, using: &generator)
            return note("\(number)", under: key, as: .integer(number))
        case 4: return note("18446744073709551615", under: key, as: .unsigned(.max))
        case 5: return note("-0.125", under: key, as: -0.125)
        case 6: return note("3", under: key, as: 3.0)
        case 7:
            let text = text()
            return note(text, under: key, as: .string(text))
        case 8: return dictionary(under: key, depth: depth)
        default:
            let count = Int.random(in: 1...3, using: &generator)
            return .array((0..<count).map { _ in value(under: "\(key)[]", depth: depth + 1) })
        }
    }

    private mutating func note(_ text: String, under key: String, as value: Parameters) -> Parameters {
        expected[key, default: []].append(text)
        return value
    }

    private static let characters = Array("aZ0-._~ &=+%#;:/?@[]{}|\\\"'<>,!$*()^`\t\n\rß漢é\u{301}😀👩‍🚀\u{0}\u{7f}")

    private mutating func text() -> String {
        String(
            (0..<Int.random(in: 0...8, using: &generator)).map { _ in
                Self.characters.randomElement(using: &generator) ?? "a"
            })
    }
}
