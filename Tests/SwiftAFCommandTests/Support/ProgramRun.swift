import FoundationEssentials
import Glibc
import SwiftAF

@testable import SwiftAFCommand

/// The built program, run as a process of its own. What waits for it suspends: tests have few threads, and one that was
/// blocked would be missed by all of them.
final class ProgramRun: Sendable {
    private let process: Child
    private let output: Int32

    /// Where the build put the program: beside the tests.
    static let path: String? = {
        let path = URL(filePath: executable).deletingLastPathComponent().appending(path: "swiftaf").path
        return access(path, X_OK) == 0 ? path : nil
    }()

    /// False if the tests of the program should be skipped. Where they must not be, they run, and fail without it.
    static let isExpected = path != nil || ProcessInfo.processInfo.environment["AF_REQUIRE_PROGRAM"] == "1"

    /// The tests are a program, or a library that the toolchain's program loads; its path is an argument then.
    private static var executable: String {
        let arguments = CommandLine.arguments
        if let option = arguments.firstIndex(of: "--test-bundle-path"), option + 1 < arguments.count {
            return arguments[option + 1]
        }
        return (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? arguments[0]
    }

    /// Starts the program, in an environment without proxies. Its standard error is the tests' own.
    ///
    /// - Parameter folder: its current folder, if not the tests' own.
    init(_ program: String, _ arguments: String..., folder: String? = nil) throws {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, streamCloseOnExec, 0, &ends) == 0 else { throw CocoaError(.fileReadUnknown) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
        // posix_spawn can't change the folder where Swift sees it; a shell that becomes the program can.
        let shell = ["/bin/sh", "-c", "cd \"$0\" && exec \"$@\""]
        let command = (folder.map { shell + [$0] } ?? []) + [program] + arguments
        defer {
            posix_spawn_file_actions_destroy(&actions)
            close(ends[1])
        }
        do {
            process = Child(try Launch.spawn(command.map { RawText($0) }, [:], &actions))
        } catch {
            close(ends[0])
            throw error
        }
        output = ends[0]
    }

    deinit {
        close(output)
    }

    /// Ctrl-C, or another signal that asks the program to stop.
    func interrupt(with signal: Int32 = SIGINT) {
        process.send(signal)
    }

    /// What a process can't see coming.
    func kill() {
        process.send(SIGKILL)
    }

    /// Reads some of standard output, at least a byte unless it has ended.
    func readSome() async -> Data {
        await onOwnThread { self.readSomeNow() }
    }

    private func readSomeNow() -> Data {
        var bytes = [UInt8](repeating: 0, count: 64 << 10)
        let count = read(output, &bytes, bytes.count)
        return Data(bytes.prefix(max(0, count)))
    }

    /// Standard output up to its end.
    func readAll() async -> String {
        await onOwnThread {
            var all = Data()
            while case let some = self.readSomeNow(), !some.isEmpty { all += some }
            return String(decoding: all, as: UTF8.self)
        }
    }

    /// The most memory that was resident at any time so far; nil once the program has ended.
    var peakResidentBytes: Int? {
        let status = (try? String(contentsOfFile: "/proc/\(process.identifier)/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        let kibibytes = line?.split { " \t".contains($0) }.dropFirst().first.flatMap { Int($0) }
        return kibibytes.map { $0 << 10 }
    }

    /// Whether the program has ended, without waiting for it and without taking its exit status.
    var hasEnded: Bool {
        var information = siginfo_t()
        waitid(P_PID, id_t(process.identifier), &information, WEXITED | WNOHANG | WNOWAIT)
        return information.si_signo == SIGCHLD
    }

    /// The exit status; -1 if a signal ended the program.
    func wait() async -> Int32 {
        await process.wait() ?? -1
    }
}
