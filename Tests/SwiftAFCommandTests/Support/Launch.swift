import FoundationEssentials
import Glibc
import SwiftAF

@testable import SwiftAFCommand

/// What a process of the program left behind.
struct Launched: Sendable {
    /// Nil if a signal ended it.
    let exit: Int32?
    let output: Data
    let error: String

    var text: String { String(decoding: output, as: UTF8.self) }
    /// Null if standard output is not exactly one value.
    var json: JSONValue { (try? JSONValue(parsing: output)) ?? .null }
    var code: String? { json["error"]?["code"]?.string }
}

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
) async throws -> Launched {
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

    func end() async throws -> Launched {
        let status = await process.wait()
        return Launched(
            exit: status, output: try Data(contentsOf: URL(filePath: files.path + "/output")),
            error: String(
                decoding: try Data(contentsOf: URL(filePath: files.path + "/error")), as: UTF8.self))
    }
}

/// A folder that goes away with this object.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        var template = Array("/tmp/swiftaf-test-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw CocoaError(.fileWriteUnknown) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// The names in it, as bytes.
    var names: Set<[UInt8]> {
        guard let folder = opendir(path) else { return [] }
        defer { closedir(folder) }
        var names: Set<[UInt8]> = []
        while let entry = readdir(folder) {
            let length = Int(entry.pointee.d_reclen)
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix(length).prefix { $0 != 0 }) }
            if ![[0x2E], [0x2E, 0x2E]].contains(name) { names.insert(name) }
        }
        return names
    }

    /// A path in it.
    func path(_ name: RawText) -> RawText {
        RawText(Array("\(path)/".utf8) + name.bytes)
    }

    func write(_ content: String, to name: RawText, mode: mode_t = 0o644) {
        let descriptor = path(name).withCString { open($0, O_WRONLY | O_CREAT | O_TRUNC, 0o600) }
        _ = Array(content.utf8).withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        fchmod(descriptor, mode)
        close(descriptor)
    }

    /// What a file holds; nil if there is none.
    func content(of name: RawText) -> String? {
        let descriptor = path(name).withCString { open($0, O_RDONLY) }
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        let count = read(descriptor, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }

    func mode(of name: RawText) -> mode_t {
        var facts = stat()
        return path(name).withCString { lstat($0, &facts) } == 0 ? facts.st_mode : 0
    }

    func isLink(_ name: RawText) -> Bool { mode(of: name) & S_IFMT == S_IFLNK }
}
