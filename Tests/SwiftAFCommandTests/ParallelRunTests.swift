import AFTestServer
import FoundationEssentials
import Glibc
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// Runs that read and write the same jar or session at the same time.
@Suite(.timeLimit(.minutes(10))) struct ParallelRunTests {
    private static let count = 20

    private let server: TestServer
    private let folder: TemporaryFolder
    private var jar: String { folder.path + "/jar" }
    private var lock: String { folder.path + "/.jar.swiftaf-lock" }

    init() throws {
        server = try TestServer()
        folder = try TemporaryFolder()
    }

    /// Answers with a cookie, once all runs have read the file and sent their requests.
    private func serveCookies() {
        for index in 0..<Self.count {
            server.route(
                "/set/\(index)",
                [.stall(at: "all"), .respond(200, headers: ["Set-Cookie": "c\(index)=\(index); Max-Age=1000"])])
        }
    }

    private func names(in jar: String?) -> Set<String> {
        Set(
            (jar ?? "").split(separator: "\n").filter { $0.contains("\t") }.map { String($0.split(separator: "\t")[5]) }
        )
    }

    private var all: Set<String> { Set((0..<Self.count).map { "c\($0)" }) }

    @Test(.enabled(if: ProgramRun.isExpected, "the program was not built beside the tests"))
    func processesKeepEachOthersCookies() async throws {
        serveCookies()
        folder.write("127.0.0.1\tFALSE\t/\tFALSE\t0\told\t1\n", to: "jar", mode: 0o640)
        let runs = try (0..<Self.count).map { index in
            try Launch([RawText(server.urlString("/set/\(index)")), "--cookies", RawText(jar)])
        }
        #expect(await server.wait(for: .stalled(at: "all", count: Self.count)))
        server.open("all")
        for run in runs { #expect(try await run.end().exit == 0) }
        #expect(names(in: folder.content(of: "jar")) == all.union(["old"]))
        #expect(folder.mode(of: "jar") & 0o777 == 0o640)
        // Neither locks nor unfinished files stay.
        #expect(folder.names == [Array("jar".utf8)])
    }

    @Test func runsKeepEachOthersSessions() async throws {
        serveCookies()
        let path = folder.path + "/s"
        await withTaskGroup(of: Int32?.self) { group in
            for index in 0..<Self.count {
                let url = server.urlString("/set/\(index)")
                group.addTask { await swiftaf(url, "--session", path, "X-\(index):1").exit }
            }
            #expect(await server.wait(for: .stalled(at: "all", count: Self.count)))
            server.open("all")
            for await exit in group { #expect(exit == 0) }
        }
        #expect(names(in: folder.content(of: "s.cookies")) == all)
        let session = folder.content(of: "s.json") ?? ""
        for index in 0..<Self.count { #expect(session.contains("\"X-\(index)\"")) }
        #expect(folder.names == [Array("s.cookies".utf8), Array("s.json".utf8)])
    }

    @Test func removedAndChangedCookiesAreMerged() async throws {
        func line(_ name: String, _ value: String, _ date: Int) -> String {
            "127.0.0.1\tFALSE\t/\tFALSE\t\(date)\t\(name)\t\(value)\n"
        }
        let later = 4_000_000_000
        folder.write(line("gone", "1", 0) + line("changed", "1", 0) + line("kept", "1", later), to: "jar")
        server.route(
            "/",
            [
                .stall(at: "jar"),
                .send(
                    "HTTP/1.1 200 OK\r\nSet-Cookie: gone=; Max-Age=0\r\nSet-Cookie: changed=2\r\nContent-Length: 0\r\n\r\n"
                ),
            ])
        let url = server.urlString()
        let jar = jar
        let run = Task { await swiftaf(url, "--cookies", jar) }
        #expect(await server.wait(for: .stalled(at: "jar")))
        // Another run has removed one, changed one and added one.
        folder.write(line("gone", "3", 0) + line("changed", "3", 0) + line("new", "3", later), to: "jar")
        server.open("jar")
        #expect(await run.value.exit == 0)
        let content = folder.content(of: "jar") ?? ""
        #expect(names(in: content) == ["changed", "new"])
        #expect(content.contains("changed\t2\n") && content.contains("new\t3\n"))
    }

    @Test func aLinkToAJarIsFollowed() async throws {
        folder.write("# Netscape HTTP Cookie File\n", to: "jar", mode: 0o600)
        #expect(symlink("jar", folder.path + "/link") == 0)
        server.route("/", .respond(200, headers: ["Set-Cookie": "a=1"]))
        #expect(await swiftaf(server.urlString(), "--cookies", folder.path + "/link").exit == 0)
        #expect(folder.isLink("link") && names(in: folder.content(of: "jar")) == ["a"])
    }

    @Test func aLockFileThatWasLeftIsNoObstacle() async throws {
        folder.write("", to: ".jar.swiftaf-lock", mode: 0o600)
        server.route("/", .respond(200, headers: ["Set-Cookie": "a=1"]))
        #expect(await swiftaf(server.urlString(), "--cookies", jar).exit == 0)
        #expect(folder.names == [Array("jar".utf8)])
    }

    @Test(arguments: ["--cookies", "--hsts"]) func aLockThatCannotBeOpenedIsNamed(option: String) async {
        server.route("/", .respond(200, headers: ["Set-Cookie": "a=1"]))
        #expect(symlink("nowhere", lock) == 0)
        let link = await swiftaf(server.urlString(), option, jar)
        let text = "\(jar) can't be written: \(lock), which locks it, can't be opened: "
        #expect(link.exit == 8 && link.error.contains(text + "it is a symbolic link"))
        #expect(unlink(lock) == 0 && mkdir(lock, 0o700) == 0)
        let other = await swiftaf(server.urlString(), option, jar, "--json")
        #expect(other.exit == 8 && other.code == "file" && other.error.contains(text + "Is a directory"))
        #expect(rmdir(lock) == 0 && folder.names.isEmpty)
        let missing = await swiftaf(server.urlString(), option, folder.path + "/no/jar")
        #expect(missing.exit == 8 && missing.error.contains("/no/jar can't be written: No such file or directory"))
    }

    @Test(arguments: ["--cookies", "-c", "--hsts"]) func otherLockFilesStayUntouched(option: String) async {
        folder.write("precious", to: "jar.lock")
        server.route("/", .respond(200, headers: ["Set-Cookie": "a=1"]))
        #expect(await swiftaf(server.urlString(), option, jar).exit == 0)
        #expect(folder.content(of: "jar.lock") == "precious")
        #expect(folder.names.isSubset(of: [Array("jar".utf8), Array("jar.lock".utf8)]))
    }

    @Test(arguments: [("jar", ".jar.swiftaf-lock"), ("/no/such/jar", "/no/such/.jar.swiftaf-lock")])
    func locksAreBesideTheirFiles(path: String, lock: String) {
        #expect(FileLock.lockPath(for: RawText(path)) == RawText(lock))
    }

    @Test func aLockThatIsNotReleasedIsAnError() async throws {
        let holder = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        #expect(holder >= 0 && flock(holder, LOCK_EX) == 0)
        let failure = await #expect(throws: Failure.self) {
            try await FileLock.hold(for: RawText(jar), timeout: .milliseconds(1)) { Issue.record("it wasn't locked") }
        }
        #expect(failure?.exit == .file && failure?.message.contains("another process holds \(lock)") == true)
        close(holder)
        // A process that another test starts has a copy of the descriptor for a moment, so this may have to wait.
        var isHeld = false
        try await FileLock.hold(for: RawText(jar)) { isHeld = true }
        #expect(isHeld && folder.names.isEmpty)
    }

    @Test func anInterruptedRunWaitsNoLongTimeForALock() async throws {
        let holder = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        #expect(holder >= 0 && flock(holder, LOCK_EX) == 0)
        let url = server.urlString()
        let jar = jar
        let run = Task { await swiftaf(url, "--cookies", jar) }
        run.cancel()
        let ended = await run.value
        #expect(ended.exit == 130 && ended.error.contains("another process holds"))
        close(holder)
    }

    /// Also if the response was received before.
    @Test func aSignalThatEndsTheWaitForALockDecidesTheStatus() async {
        let holder = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        #expect(holder >= 0 && flock(holder, LOCK_EX) == 0)
        let path = RawText(jar)
        let wait = Task {
            await #expect(throws: Failure.self) {
                try await FileLock.hold(for: path, timeout: .seconds(600)) { Issue.record("it wasn't locked") }
            }
        }
        wait.cancel()
        let failure = await wait.value
        #expect(failure?.exit == .cancelled && failure?.message.contains("another process holds \(lock)") == true)
        close(holder)
    }
}
