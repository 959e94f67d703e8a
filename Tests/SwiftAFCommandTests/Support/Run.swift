import Dispatch
import FoundationEssentials
import Glibc
import SwiftAF

@testable import SwiftAFCommand

/// Runs the program inside this process.
///
/// - Parameters:
///   - input: the descriptor of standard input.
///   - output: standard output, if it is looked at from outside.
///   - environment: Added to that of the tests; by default, terminals have no colours.
func swiftaf(
    _ arguments: String..., input: Int32 = -1, output: MemorySink = MemorySink(), error: MemorySink = MemorySink(),
    environment: [String: String] = [:]
) async -> RunResult {
    await swiftaf(arguments, input: input, output: output, error: error, environment: environment)
}

/// The same with an array.
func swiftaf(
    _ arguments: [String], input: Int32 = -1, output: MemorySink = MemorySink(), error: MemorySink = MemorySink(),
    environment: [String: String] = [:]
) async -> RunResult {
    var runner = Runner(console: Console(input: input, output: output, error: error))
    runner.environment["NO_COLOR"] = "1"
    runner.environment["TERM"] = "xterm"
    runner.environment.merge(environment) { $1 }
    let status = await runner.run(arguments)
    return RunResult(
        exit: status.rawValue, output: output.content, error: String(decoding: error.content, as: UTF8.self))
}

/// Keeps what is written, or plays a terminal or a full disk.
final class MemorySink: ByteSink {
    let isTerminal: Bool
    let columns = 80
    private let failure: Int32?
    private let onWrite: @Sendable (String) -> Void
    private let bytes = Locked(Data())

    init(isTerminal: Bool = false, failure: Int32? = nil, onWrite: @escaping @Sendable (String) -> Void = { _ in }) {
        self.isTerminal = isTerminal
        self.failure = failure
        self.onWrite = onWrite
    }

    var content: Data { bytes.withLock { $0 } }

    func write(_ bytes: Data) throws(WriteError) {
        if let failure { throw .system(failure) }
        self.bytes.withLock { $0 += bytes }
        onWrite(String(decoding: bytes, as: UTF8.self))
    }
}

/// A pair of sockets in place of a pipe, because `pipe2` is not to be had from Swift: close-on-exec from the start, or
/// a server that another test starts meanwhile would keep an end open.
let streamCloseOnExec = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)

/// A pipe whose end for reading plays standard input.
final class InputPipe: Sendable {
    let reading: Int32
    private let writing: Int32

    init() throws {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, streamCloseOnExec, 0, &ends) == 0 else { throw CocoaError(.fileReadUnknown) }
        (reading, writing) = (ends[0], ends[1])
    }

    /// Writes from a thread of its own, because a pipe holds less than a body, and then closes the end.
    func send(_ bytes: Data) {
        let sink = DescriptorSink(descriptor: writing)
        DispatchQueue(label: "tests.input").async { [writing] in
            try? sink.write(bytes)
            close(writing)
        }
    }

    // The end for reading stays open: a run that was over before its input may still be about to look at it, and would
    // find what another test opens under its number.
}
