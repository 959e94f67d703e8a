import AFTestServer
import FoundationEssentials
import Glibc
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// `--retry N`: what is sent again, how often, and what comes of it.
@Suite(.timeLimit(.minutes(10))) struct RetryTests {
    private let server: TestServer
    private let file: TemporaryFile

    init() throws {
        server = try TestServer()
        file = try TemporaryFile(Data("body".utf8))
        server.route("/x", .text("done"))
    }

    private var busy: Script { .respond(503, headers: ["Retry-After": "0"]) }

    @Test(arguments: [
        ("get", 503), ("head", 503), ("put", 503), ("delete", 503), ("options", 503), ("get", 429), ("put", 429),
    ])
    func retriesIdempotentRequestsThatAreRefusedTemporarily(verb: String, status: Int) async {
        server.route("/x", times: 2, .respond(status, headers: ["Retry-After": "0"]))
        let run = await swiftaf([verb, server.urlString("/x"), "--retry", "2", "--json"])
        #expect(run.exit == 0)
        #expect(run.json["status"]?.integer == 200)
        #expect(server.requests.count == 3)
    }

    @Test(arguments: ["get", "download"])
    func aFailedAttemptIsNotShownAsCompleteWhileTheNextOneWaits(verb: String) async {
        server.route("/x", times: 1, .respond(503, headers: ["Retry-After": "3600"], body: Data("busy".utf8)))
        let (bars, hasBar) = AsyncStream<Void>.makeStream()
        let words = [verb, server.urlString("/x"), "-o", "\(file.folder)/x", "--retry", "1"]
        let terminal = terminal { hasBar.yield() }
        let run = Task { await swiftaf(words, error: terminal) }
        for await _ in bars { break }
        run.cancel()
        let ended = await run.value
        #expect(ended.exit == 130)
        #expect(firstBarOfTheRetry(ended.error).map { !$0.contains("%") } == true)
    }

    @Test func retryResetsProgressBar() async {
        server.route("/x", times: 1, .respond(503, headers: ["Retry-After": "0"], body: Data("busy".utf8)))
        server.route("/x", [.stall(at: "bar"), .text("done")])
        let run = await swiftaf(
            "get", server.urlString("/x"), "--retry", "1", error: terminal { [server] in server.open("bar") })
        #expect(run.exit == 0 && run.text == "done")
        #expect(firstBarOfTheRetry(run.error).map { !$0.contains("%") } == true)
    }

    /// A terminal that calls a closure whenever a bar is drawn after the line about the retry.
    private func terminal(onBar: @escaping @Sendable () -> Void) -> MemorySink {
        let isRetried = Locked(false)
        return MemorySink(isTerminal: true) { text in
            if isRetried.withLock({ $0 }), text.contains("B/s") { onBar() }
            if text.contains("retry 1 of 1") { isRetried.withLock { $0 = true } }
        }
    }

    private func firstBarOfTheRetry(_ text: String) -> Substring? {
        guard let retry = text.firstRange(of: "retry 1 of 1") else { return nil }
        return text[retry.upperBound...].split(separator: "\r").first { $0.contains("B/s") }
    }

    @Test(arguments: [408, 425, 500, 502, 504, 400, 401, 404, 418])
    func returnsOtherErrorStatusesWithoutRetry(status: Int) async {
        server.route("/x", times: 1, .respond(status, headers: ["Retry-After": "0"]))
        let run = await swiftaf(["get", server.urlString("/x"), "--retry", "2", "--json"])
        #expect(run.exit == (status == 401 ? 7 : 2))
        #expect(server.requests.count == 1)
    }

    @Test(arguments: [["post"], ["patch"], ["request", "POST"], ["request", "PURGE"], ["upload"]])
    func sendsOtherMethodsOnlyOnce(verb: [String]) async {
        server.route("/x", times: 1, busy)
        let items = verb == ["upload"] ? ["a=b"] : []
        let run = await swiftaf(verb + [server.urlString("/x")] + items + ["--retry", "2", "--json"])
        #expect(run.exit == 2)
        server.route("/x", times: 1, .reset)
        let lost = await swiftaf(verb + [server.urlString("/x")] + items + ["--retry", "2", "--json"])
        #expect(lost.exit == 3)
        #expect(server.requests.count == 2)
    }

    @Test func retriesLostTruncatedAndIdleTransfers() async {
        server.route("/lost", times: 1, .reset)
        server.route("/lost", .text("done"))
        server.route("/cut", times: 1, .truncated(body: Data("do".utf8), promising: 4))
        server.route("/cut", .text("done"))
        server.route("/slow", times: 1, [.stall(at: "slow"), .text("late")])
        server.route("/slow", .text("done"))
        for (path, limit) in [("/lost", "60"), ("/cut", "60"), ("/slow", "2")] {
            let words = ["get", server.urlString(path), "--idle-timeout", limit]
            let run = await swiftaf(words + ["--retry", "5"])
            #expect(run.exit == 0)
            #expect(run.text == "done")
        }
        server.open("slow")
        #expect(server.requests.filter { $0.path == "/cut" }.count == 2)
    }

    @Test func retriesRefusedConnection() async throws {
        let closed = try TestServer()
        let url = closed.urlString("/")
        closed.stop()
        let run = await swiftaf(["get", url, "--retry", "1", "--json", "-v"])
        #expect(run.exit == 3)
        #expect(run.code == "connect")
        // The repeat is shown, and no request: none was sent.
        #expect(run.error.contains("; repeated in "))
        #expect(!run.error.contains("> GET"))
        // It keeps its port from the servers of other tests.
        withExtendedLifetime(closed) {}
    }

    @Test func sendsRequestOnceByDefault() async {
        server.route("/x", times: 1, busy)
        #expect(await swiftaf(["get", server.urlString("/x"), "--json"]).exit == 2)
        server.route("/x", times: 1, busy)
        #expect(await swiftaf(["get", server.urlString("/x"), "--retry", "0", "--json"]).exit == 2)
        #expect(server.requests.count == 2)
    }

    @Test func returns503AfterLastRetry() async {
        server.route("/x", busy)
        let run = await swiftaf(["get", server.urlString("/x"), "--retry", "3", "--json"])
        #expect(run.exit == 2)
        #expect(run.json["status"]?.integer == 503)
        #expect(server.requests.count == 4)
    }

    @Test func waitBeyondTheTimeLimit() async {
        server.route("/x", .respond(503, headers: ["Retry-After": "3600"]))
        let run = await swiftaf(["get", server.urlString("/x"), "--retry", "3", "--timeout", "600", "--json"])
        #expect(run.exit == 2)
        #expect(server.requests.count == 1)
    }

    @Test func oneTimeLimit() async throws {
        // Where there is little time for it, the first attempt may be all that a short limit leaves room for.
        for limit in ["1.5", "15", "150"] {
            let server = try TestServer()
            server.route("/x", times: 1, busy)
            server.route("/x", .stall(at: "x"))
            let run = await swiftaf(["get", server.urlString("/x"), "--retry", "9", "--timeout", limit, "--json"])
            guard server.requests.count == 2 else { continue }
            #expect(run.exit == 4)
            #expect(run.json["error"]?["reason"] == "total")
            return
        }
        Issue.record("there was no second attempt")
    }

    @Test func sendsBodyFromStandardInputOnlyOnce() async throws {
        let pipe = try InputPipe()
        pipe.send(Data("body".utf8))
        server.route("/x", times: 1, busy)
        let words = ["put", server.urlString("/x"), "-d", "@-", "--retry", "2", "--json"]
        #expect(await swiftaf(words, input: pipe.reading).exit == 2)
        #expect(server.requests.map(\.bodyText) == ["body"])
    }

    @Test func sendsFileAgainOnRetry() async {
        server.route("/x", times: 1, busy)
        let run = await swiftaf(["put", server.urlString("/x"), "-d", "@" + file.path, "--retry", "1"])
        #expect(run.exit == 0)
        #expect(server.requests.map(\.bodyText) == ["body", "body"])
    }

    @Test func aBodyThatBreaksIsRepeatedUntilItWasPrinted() async {
        let size = 3 << 20
        server.route("/small", times: 2, .truncated(body: Data("do".utf8), promising: 4))
        server.route("/small", .text("done"))
        let small = await swiftaf(["get", server.urlString("/small"), "--retry", "2"])
        #expect(small.exit == 0 && small.text == "done")
        #expect(server.requests.count == 3)
        server.route("/small", .truncated(body: Data("do".utf8), promising: 4))
        let often = await swiftaf(["get", server.urlString("/small"), "--retry", "2", "-i"])
        #expect(often.exit == 3 && often.text.hasPrefix("HTTP/1.1 200") && often.text.hasSuffix("do"))
        #expect(server.requests.count == 6)
        server.route("/large", .truncated(body: Data(count: size), promising: size + 1))
        let large = await swiftaf(["get", server.urlString("/large"), "--retry", "2"])
        #expect(large.exit == 3 && large.output.count == size)
        #expect(server.requests.count == 7)
    }

    @Test(arguments: ["get", "download"]) func aBodyForAPipeIsRepeatedUntilItWasWritten(command: String) async throws {
        let folder = try TemporaryFolder()
        let pipe = folder.path + "/pipe"
        #expect(mkfifo(pipe, 0o600) == 0)
        let reader = open(pipe, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        defer { close(reader) }
        server.route("/small", times: 2, .truncated(body: Data("do".utf8), promising: 4))
        server.route("/small", .text("done"))
        let run = await swiftaf([command, server.urlString("/small"), "--retry", "2", "-o", pipe])
        #expect(run.exit == 0 && server.requests.count == 3, "\(run.error)")
        var bytes = [UInt8](repeating: 0, count: 100)
        #expect(read(reader, &bytes, bytes.count) == 4 && bytes.starts(with: "done".utf8))
    }

    @Test func bodiesWithoutALimitArePrinted() async {
        server.route("/x", .respond(200, body: Data(count: 65 << 20)))
        let run = await swiftaf(["get", server.urlString("/x"), "--retry", "1"])
        #expect(run.exit == 0 && run.output.count == 65 << 20)
    }

    @Test func retryFollowsRedirectsAgain() async {
        server.route("/y", .redirect(to: "/x"))
        server.route("/x", times: 1, busy)
        let run = await swiftaf(["get", server.urlString("/y"), "--retry", "1", "--json"])
        #expect(run.exit == 0)
        // Those of the last attempt.
        #expect(run.json["redirects"]?.array?.count == 1)
        #expect(run.json["redirects"]?.array?.first?["location"] == "/x")
        #expect(server.requests.map(\.path) == ["/y", "/x", "/y", "/x"])
    }

    @Test func retryResumesDownload() async throws {
        let whole = Data(repeating: 7, count: 200_000)
        server.route("/film") { request, connection in
            guard let range = request["Range"] else {
                return try connection.respond(headers: ["ETag": "\"1\""], body: whole)
            }
            let start = Int(range.dropFirst("bytes=".count).dropLast()) ?? 0
            let fields: Script.Headers = [
                "ETag": "\"1\"", "Content-Range": "bytes \(start)-\(whole.count - 1)/\(whole.count)",
            ]
            try connection.respond(206, headers: fields, body: whole[start...])
        }
        server.route(
            "/film", times: 1,
            .truncated(headers: ["ETag": "\"1\""], body: whole.prefix(80_000), promising: whole.count))
        let path = file.folder + "/film"
        let run = await swiftaf(["download", server.urlString("/film"), "-o", path, "--retry", "1", "--json"])
        #expect(run.exit == 0)
        #expect(try Data(contentsOf: URL(filePath: path)) == whole)
        #expect(server.requests.last?["Range"] == "bytes=80000-")
    }

    @Test(arguments: ["-1", "x", "", "1.5"])
    func refusesInvalidRetryCounts(count: String) async {
        #expect(await swiftaf(["get", server.urlString("/x"), "--retry", count]).exit == 1)
        #expect(server.requests.isEmpty)
    }
}
