import AFTestServer
import Dispatch
import FoundationEssentials
import Glibc
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// Runs whose output isn't read end when they are stopped, and when their time is over.
@Suite(.timeLimit(.minutes(10))) struct BlockedOutputTests {
    enum Kind: CaseIterable {
        case pipe, socket
    }

    /// Each writes in another way.
    private static let ways: [[String]] = [[], ["--json"], ["-p", "Hhb"], ["--retry", "1"], ["-i"]]

    private let server: TestServer
    private let folder: TemporaryFolder
    private var pipe: String { folder.path + "/pipe" }

    init() throws {
        server = try TestServer()
        folder = try TemporaryFolder()
        server.route("/", .respond(200, body: Data(repeating: 0x78, count: 2 << 20)))
    }

    /// Opens a pipe for reading, which is small, and which a writer doesn't wait for.
    private func openPipe() throws -> Int32 {
        try #require(mkfifo(pipe, 0o600) == 0)
        let reading = open(pipe, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        try #require(reading >= 0)
        let setSize: Int32 = 1031
        _ = fcntl(reading, setSize, 4096)
        return reading
    }

    private func ends(_ kind: Kind) throws -> (reading: Int32, writing: Int32) {
        switch kind {
        case .pipe:
            let reading = try openPipe()
            return (reading, open(pipe, O_WRONLY | O_CLOEXEC))
        case .socket:
            var ends: [Int32] = [-1, -1]
            try #require(socketpair(AF_UNIX, streamCloseOnExec, 0, &ends) == 0)
            return (ends[0], ends[1])
        }
    }

    /// Calls a closure on a thread of its own once there is something to read. Writers in this process occupy the
    /// threads that tests run on.
    private func whenWritten(_ reading: Int32, _ work: @escaping @Sendable () -> Void) {
        DispatchQueue(label: "tests.reader").async {
            var wait = pollfd(fd: reading, events: Int16(POLLIN), revents: 0)
            while poll(&wait, 1, -1) < 0, errno == EINTR {}
            work()
        }
    }

    private func run(
        _ words: [String], _ kind: Kind, _ act: @escaping @Sendable (Task<ExitCode, Never>) -> Void = { _ in }
    ) async throws -> (exit: ExitCode, error: String) {
        let (reading, writing) = try ends(kind)
        let error = MemorySink()
        let console = Console(input: -1, output: DescriptorSink(descriptor: writing), error: error)
        let run = Task { [server] in await Runner(console: console).run(["get", server.urlString()] + words) }
        whenWritten(reading) { act(run) }
        let exit = await run.value
        close(reading)
        close(writing)
        return (exit, String(decoding: error.content, as: UTF8.self))
    }

    @Test(arguments: ways, Kind.allCases)
    func cancellingEndsTheWaitForAReader(words: [String], kind: Kind) async throws {
        let run = try await run(words, kind) { $0.cancel() }
        #expect(run.exit == .cancelled && run.error == "swiftaf: cancelled\n")
    }

    @Test(arguments: ways, Kind.allCases)
    func timeoutEndsTheWaitForAReader(words: [String], kind: Kind) async throws {
        let run = try await run(words + ["-m", "1"], kind)
        #expect(run.exit == .timeout)
        #expect(run.error.contains("total timeout: ") && run.error.contains("--timeout S allows more"), "\(run.error)")
    }

    /// The descriptor is shared with other processes, which its flags hold for too.
    @Test(arguments: Kind.allCases)
    func descriptorStaysBlocking(kind: Kind) async throws {
        let (reading, writing) = try ends(kind)
        try DescriptorSink(descriptor: writing).write(Data("x".utf8))
        #expect(fcntl(writing, F_GETFL) & O_NONBLOCK == 0)
        close(reading)
        close(writing)
    }

    @Test(arguments: Kind.allCases)
    func slowReaderGetsEverything(kind: Kind) async throws {
        let (reading, writing) = try ends(kind)
        let bytes = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) })
        async let written = withCheckedContinuation { continuation in
            DispatchQueue(label: "tests.writer").async {
                let result = Result { () throws(WriteError) in
                    try DescriptorSink(descriptor: writing).write(bytes, until: .now + .seconds(300))
                }
                close(writing)
                continuation.resume(returning: (try? result.get()) != nil)
            }
        }
        let read = await withCheckedContinuation { continuation in
            DispatchQueue(label: "tests.reader").async {
                var all = Data()
                var piece = [UInt8](repeating: 0, count: 1000)
                while true {
                    var wait = pollfd(fd: reading, events: Int16(POLLIN), revents: 0)
                    _ = poll(&wait, 1, -1)
                    let count = Glibc.read(reading, &piece, piece.count)
                    if count < 0, errno == EAGAIN { continue }
                    guard count > 0 else { break }
                    all += piece.prefix(count)
                }
                continuation.resume(returning: all)
            }
        }
        #expect(await written && read == bytes)
        close(reading)
    }

    @Test func failuresOfTheReaderAreReported() async throws {
        for kind in Kind.allCases {
            let (reading, writing) = try ends(kind)
            // A write to a pipe without a reader would end the tests.
            signal(SIGPIPE, SIG_IGN)
            close(reading)
            let sink = DescriptorSink(descriptor: writing)
            var failure: WriteError?
            // A process that another test is starting has the closed end as well, until it executes its program.
            while failure == nil {
                do throws(WriteError) {
                    try sink.write(Data([1]), until: .now + .seconds(60))
                } catch {
                    failure = error
                }
                await Task.yield()
            }
            if case .system(EPIPE)? = failure {} else { Issue.record("\(String(describing: failure))") }
            close(writing)
        }
    }
}

/// The same with signals, which only a process of its own can get.
@Suite(.timeLimit(.minutes(10)), .enabled(if: ProgramRun.isExpected, "the program was not built beside the tests"))
struct BlockedProgramTests {
    private let server: TestServer
    private let folder: TemporaryFolder
    private let pipe: String
    private let reading: Int32

    init() throws {
        server = try TestServer()
        folder = try TemporaryFolder()
        pipe = folder.path + "/pipe"
        try #require(mkfifo(pipe, 0o600) == 0)
        reading = open(pipe, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        let setSize: Int32 = 1031
        _ = fcntl(reading, setSize, 4096)
    }

    private func waitForOutput() async {
        await onOwnThread { [reading] in
            var wait = pollfd(fd: reading, events: Int16(POLLIN), revents: 0)
            while poll(&wait, 1, -1) < 0, errno == EINTR {}
        }
    }

    @Test(
        arguments: [
            (SIGTERM, 143, ["--json"]), (SIGINT, 130, ["-p", "Hhb"]), (SIGHUP, 129, ["--retry", "1"]),
            (SIGTERM, 143, []),
        ] as [(Int32, Int32, [String])])
    func signalsEndTheWaitForAReader(signal: Int32, exit: Int32, words: [String]) async throws {
        server.route("/", .respond(200, body: Data(repeating: 0x78, count: 2 << 20)))
        let launch = try Launch(
            ([server.urlString()] + words).map { RawText($0) }, shell: "exec >'\(pipe)'")
        await waitForOutput()
        launch.send(signal)
        let ended = try await launch.end()
        #expect(ended.exit == exit && ended.error == "swiftaf: cancelled\n")
        close(reading)
    }

    @Test func signalsEndTheWaitForAReaderOfStandardError() async throws {
        // Each line is written as a whole, and the pipe has room for one.
        let long = String(repeating: "x", count: 3000)
        let head: Script.Headers = ["X": long, "Y": long, "Z": long]
        server.route("/", .respond(200, headers: head, body: Data("body".utf8)))
        let launch = try Launch([RawText(server.urlString()), "-v"], shell: "exec 2>'\(pipe)'")
        var count: Int32 = 0
        while ioctl(reading, UInt(FIONREAD), &count) == 0, count < 3000 { await Task.yield() }
        launch.send(SIGTERM)
        let status = try await launch.end().exit
        // The body may have been printed before.
        #expect(status == 143 || status == 0)
        close(reading)
    }

    @Test func theTimeLimitEndsTheWaitForATerminal() async throws {
        let long = String(repeating: "x", count: 50_000)
        server.route("/", .respond(200, headers: ["X": long, "Y": long, "Z": long], body: Data("body".utf8)))
        let run = try TerminalRun(server.urlString(), "-v", "--timeout", "1", "-o", folder.path + "/file")
        // Where there is little time for it, the response may come too late.
        let status = await run.endUnread()
        #expect(status == 0 || status == 4)
        close(reading)
    }

    @Test func signalsEndTheWaitForATerminal() async throws {
        let body = "[" + (0..<50_000).map(String.init).joined(separator: ",") + "]"
        server.route("/", .json(body))
        let run = try TerminalRun(server.urlString(), "-q")
        await run.read(until: "99,")
        run.send(SIGTERM)
        #expect(await run.endUnread() == 143)
        close(reading)
    }
}
