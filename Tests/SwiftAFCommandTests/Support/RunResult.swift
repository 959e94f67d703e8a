import FoundationEssentials
import SwiftAF

/// What a run of the program has left: its exit status, and what it printed.
struct RunResult: Sendable {
    /// Nil if a signal ended its process.
    let exit: Int32?
    let output: Data
    let error: String

    var text: String { String(decoding: output, as: UTF8.self) }

    /// The object that `--json` printed; null if standard output is not exactly one.
    var json: JSONValue { (try? JSONValue(parsing: output)) ?? .null }

    /// `error.code` of the object.
    var code: String? { json["error"]?["code"]?.string }
}
