import Foundation
import SwiftAF

// Reading and writing JSON: SwiftAF's JSONValue beside Foundation's two. No network, one thread.

/// Says what went wrong and ends the program.
func fail(_ message: String) -> Never {
    FileHandle.standardError.write(Data("bench-json: \(message)\n".utf8))
    exit(1)
}

/// One way to do a job, and the times it took.
final class Contestant {
    let name: String
    let isFoundation: Bool
    private let job: () throws -> Int
    private var times: [Duration] = []

    /// - Parameter job: Gives some number that depends on all of its work, so that none can be left out.
    init(_ name: String, isFoundation: Bool = true, _ job: @escaping () throws -> Int) {
        self.name = name
        self.isFoundation = isFoundation
        self.job = job
    }

    func run() {
        do {
            var outcome = 0
            times.append(try ContinuousClock().measure { outcome = try job() })
            if outcome == 0 { fail("\(name) made nothing") }
        } catch {
            fail("\(name) failed: \(error)")
        }
    }

    var median: Double {
        let sorted = times.sorted()
        return sorted.isEmpty ? 0 : sorted[sorted.count / 2] / .milliseconds(1)
    }
}

/// Measures contestants in turns, so that a busy moment hits all, and prints a table.
func compete(_ title: String, bytes: Int, rounds: Int, _ contestants: [Contestant]) {
    for contestant in contestants { contestant.run() }
    for _ in 0..<rounds {
        for contestant in contestants { contestant.run() }
    }
    let floor = contestants.filter(\.isFoundation).map(\.median).min() ?? 0
    print("\n| \(title), \(bytes / 1000) KB | ms | MB/s | × the faster of Foundation's |\n|---|--:|--:|--:|")
    for contestant in contestants {
        let rate = Double(bytes) / 1000 / contestant.median
        print(
            "| \(contestant.name) |",
            String(format: "%.2f | %.0f | %.2f |", contestant.median, rate, contestant.median / floor))
    }
}

func measure<Model: Codable & Sendable>(_ document: Document, as type: Model.Type, rounds: Int) throws {
    let data = Data(document.text.utf8)
    let value = try JSONValue(parsing: data)
    let objects = try JSONSerialization.jsonObject(with: data)
    let model = try JSONDecoder().decode(type, from: data)

    compete(
        "reading \(document.name)", bytes: data.count, rounds: rounds,
        [
            Contestant("JSONDecoder, typed") { MemoryLayout.size(ofValue: try JSONDecoder().decode(type, from: data)) },
            Contestant("JSONSerialization") {
                (try JSONSerialization.jsonObject(with: data) as? NSDictionary)?.count ?? 0
            },
            Contestant("JSONValue", isFoundation: false) { try JSONValue(parsing: data).object?.count ?? 0 },
            Contestant("JSONCoder, typed", isFoundation: false) {
                MemoryLayout.size(ofValue: try JSONCoder().decode(type, from: data))
            },
        ])
    compete(
        "writing \(document.name)", bytes: data.count, rounds: rounds,
        [
            Contestant("JSONEncoder, typed") { try JSONEncoder().encode(model).count },
            Contestant("JSONSerialization") { try JSONSerialization.data(withJSONObject: objects).count },
            Contestant("JSONValue", isFoundation: false) { try value.data().count },
            Contestant("JSONCoder, typed", isFoundation: false) { try JSONCoder().encode(model).count },
        ])
}

let arguments = CommandLine.arguments.dropFirst()
guard let rounds = arguments.isEmpty ? 15 : arguments.first.flatMap({ Int($0) }), rounds > 0, arguments.count <= 1
else {
    fail("usage: bench-json [ROUNDS]")
}
do {
    try measure(.tweets(), as: Tweets.self, rounds: rounds)
    try measure(.programme(), as: Programme.self, rounds: rounds)
    try measure(.coast(), as: Coast.self, rounds: rounds)
} catch {
    fail("a document can't be read: \(error)")
}
