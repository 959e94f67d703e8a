import FoundationEssentials
import Glibc
import SwiftAF

@testable import SwiftAFCommand

/// Runs the built program as a process of its own, with arguments that are bytes and an environment without proxies.
///
/// - Parameters:
///   - environment: Added to that of the tests.
///   - input: The content of the file that is standard input; nil for /dev/null.
///   - shell: What a shell does before it becomes the program.
@discardableResult
func launch(
    _ arguments: RawText..., environment: [String: String] = [:], input: Data? = nil, folder: String? = nil,
    shell: String? = nil
) async throws -> RunResult {
    try await Launch(arguments, environment: environment, input: input, folder: folder, shell: shell).end()
}

/// A process under way.
final class Launch: Sendable {
    private let process: Child
    private let files: TemporaryFolder

    init(
        _ arguments: [RawText], environment: [String: String] = [:], input: Data? = nil, folder: String? = nil,
        shell: String? = nil
    ) throws {
        guard let program = ProgramRun.path else { throw CocoaError(.executableNotLoadable) }
        files = try TemporaryFolder()
        try input?.write(to: URL(filePath: files.path + "/input"))
        let changes = (folder.map { "cd '\($0)' && " } ?? "") + (shell.map { "\($0); " } ?? "")
        let command = ["/bin/sh", "-c", changes + "exec \"$@\"", "sh", program].map { RawText($0) } + arguments
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_addopen(
            &actions, STDIN_FILENO, input == nil ? "/dev/null" : files.path + "/input", O_RDONLY, 0)
        let created = O_WRONLY | O_CREAT | O_TRUNC
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, files.path + "/output", created, 0o600)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, files.path + "/error", created, 0o600)
        process = Child(try Self.spawn(command, environment, &actions))
        posix_spawn_file_actions_destroy(&actions)
    }

    /// The environment of the tests without proxies.
    static var environmentWithoutProxies: [String: String] {
        ProcessInfo.processInfo.environment.filter { !$0.key.lowercased().hasSuffix("_proxy") }
    }

    /// Starts a program in the environment of the tests without proxies, and with what is given.
    static func spawn(
        _ command: [RawText], _ more: [String: String], _ actions: inout posix_spawn_file_actions_t,
        flags: Int32 = 0
    ) throws -> pid_t {
        var environment = environmentWithoutProxies
        for (name, value) in more { environment[name] = value }
        var words: [UnsafeMutablePointer<CChar>?] = command.map { $0.withCString { strdup($0) } } + [nil]
        var settings: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        // Dispatch's threads block most signals, which the program would inherit: a shell blocks none.
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(flags | Int32(POSIX_SPAWN_SETSIGMASK)))
        defer {
            posix_spawnattr_destroy(&attributes)
            for word in words + settings { free(word) }
        }
        var process = pid_t()
        guard let program = words[0], posix_spawn(&process, program, &actions, &attributes, &words, &settings) == 0
        else {
            throw CocoaError(.executableLoad)
        }
        return process
    }

    func send(_ signal: Int32) {
        process.send(signal)
    }

    func end() async throws -> RunResult {
        let status = await process.wait()
        return RunResult(
            exit: status, output: try Data(contentsOf: URL(filePath: files.path + "/output")),
            error: String(
                decoding: try Data(contentsOf: URL(filePath: files.path + "/error")), as: UTF8.self))
    }
}
