import AFTestServer
import Dispatch
import FoundationEssentials
import Testing

@testable import SwiftAF

@Suite(.timeLimit(.minutes(10)))
struct EventMonitorTests {
    private let server: TestServer
    private let manager: HTTPSessionManager
    private let notes = EventNotes()

    init() throws {
        server = try TestServer()
        manager = HTTPSessionManager(baseURL: server.urlString("/"))
        manager.completionQueue = .global()
        manager.eventMonitors = [notes]
        server.route("/x", .text("done"))
    }

    /// All events, once so many requests have finished.
    private func events(of requests: Int = 1) async -> [String] {
        await notes.ends.wait(for: requests)
        return notes.events.values
    }

    /// Asks its manager for a setting when it is asked what it wants.
    private struct AskingMonitor: EventMonitor {
        let manager: HTTPSessionManager
        let asked: Recorder<Duration?>

        var tracesWire: Bool {
            asked.record(manager.timeouts.total)
            return false
        }
    }

    @Test func monitorMayReadSettingsOfManager() throws {
        let asked = Recorder<Duration?>()
        manager.timeouts.total = .seconds(7)
        manager.eventMonitors = [AskingMonitor(manager: manager, asked: asked)]
        #expect(asked.values.first == .seconds(7))
        manager.eventMonitors = []
    }

    @Test func reportsNothingAfterTheEnd() async throws {
        let queue = MonitorQueue()
        let request = HTTPRequest("http://host/")
        let events = try #require(RequestEvents.begun(request, MonitorGroup([notes], on: queue)))
        events.finish(CoreOutcome(failure: SessionError(.cancelled)))
        events.report(.retried(AttemptOutcome(attempt: RequestAttempt()), delay: .zero))
        await queue.flush()
        #expect(notes.ends.values.count == 1)
        #expect(notes.events.values.last?.hasPrefix("finished") == true)
    }

    private static let whole = ["created", "resumed", "sent 1 -", "answered 200", "metrics 1", "finished "]

    @Test func reportsEventsOfAwaitedRequest() async throws {
        #expect(try await manager.response(.get, "x").status == 200)
        #expect(await events() == Self.whole)
        let (request, result) = notes.ends.values[0]
        #expect(request.request.url == server.urlString("/x"))
        #expect(result.body == Data("done".utf8))
        #expect(result.response?.status == 200)
    }

    @Test func reportsEventsWithIdentifierOfTask() async throws {
        let task = manager.dataTask(for: HTTPRequest("x"), with: DataResponseSerializer()) { _, _, _ in }
        task.resume()
        #expect(await events() == Self.whole)
        #expect(notes.ends.values[0].0.id == task.id)
    }

    @Test func reportsSuspendingResumingAndCancelling() async throws {
        server.route("/slow", [.stall(at: "slow"), .text("late")])
        let task = manager.dataTask(for: HTTPRequest("slow"), with: DataResponseSerializer()) { _, _, _ in }
        task.resume()
        #expect(await server.wait(for: .stalled(at: "slow")))
        task.suspend()
        task.resume()
        task.cancel()
        #expect(
            await events() == [
                "created", "resumed", "sent 1 -", "suspended", "resumed", "metrics 1", "cancelled",
                "finished cancelled",
            ])
        server.open("slow")
    }

    @Test func reportsTaskCancelledBeforeStart() async throws {
        let task = manager.dataTask(for: HTTPRequest("x"), with: DataResponseSerializer()) { _, _, _ in }
        task.cancel()
        #expect(await events() == ["created", "metrics 0", "cancelled", "finished cancelled"])
    }

    @Test func reportsInvalidRequestWithoutSending() async throws {
        manager.dataTask(for: HTTPRequest("ftp://x"), with: DataResponseSerializer()) { _, _, _ in }.resume()
        #expect(await events() == ["created", "resumed", "metrics 0", "finished invalidInput"])
    }

    @Test func reportsRedirectsChallengesAndAttempts() async throws {
        server.route("/moved", .redirect(to: "/y"))
        server.route("/y", times: 1, .status(401))
        server.route("/y", .text("done"))
        manager.interceptors = [
            Interceptor(
                adapt: { request, attempt in
                    var request = request
                    request.headers["X-Attempt"] = String(attempt.number)
                    return request
                },
                retry: { _, _ in .retry })
        ]
        let expected = [
            "created", "resumed", "sent 1 1", "redirected 302", "challenged", "answered 401", "retried 401 true",
            "sent 2 2", "redirected 302", "answered 200", "metrics 2", "finished ",
        ]
        #expect(try await manager.response(.get, "moved").status == 200)
        #expect(await events() == expected)
        server.route("/y", times: 1, .status(401))
        manager.dataTask(for: HTTPRequest("moved"), with: DataResponseSerializer()) { _, _, _ in }.resume()
        #expect(await events(of: 2) == expected + expected)
        server.route("/y", times: 1, .status(401))
        let stream = try await manager.stream(HTTPRequest("moved"))
        for try await _ in stream.bytes {}
        #expect(await events(of: 3) == expected + expected + expected)
    }

    @Test func answeredChallengesAreReported() async throws {
        server.route("/moved", .redirect(to: "/in"))
        server.route("/in") { request, connection in
            let isKnown = request["Authorization"]?.hasPrefix("Digest ") == true
            let refusal = Script.respond(401, headers: ["WWW-Authenticate": "Digest realm=\"a\", nonce=\"n\""])
            try connection.run(isKnown ? .text("in") : refusal)
        }
        var request = HTTPRequest("moved")
        request.credential = Credential(user: "me", password: "secret")
        let expected = [
            "created", "resumed", "sent 1 -", "redirected 302", "challenged", "by Digest a", "answered 200",
            "metrics 3", "finished ",
        ]
        _ = try await manager.response(for: request)
        #expect(await events() == expected)
        manager.dataTask(for: request, with: DataResponseSerializer()) { _, _, _ in }.resume()
        #expect(await events(of: 2) == expected + expected)
        for try await _ in try await manager.stream(request).bytes {}
        #expect(await events(of: 3) == expected + expected + expected)
        let folder = try TestFolder()
        try await manager.download(request, to: folder.file("film"))
        #expect(await events(of: 4).suffix(9) == expected[...])

        // The handler's answers too; what is refused is the answer.
        manager.authenticationChallengeHandler = { challenge in
            challenge.previousFailureCount == 0
                ? .useCredential(Credential(user: "me", password: "wrong")) : .performDefaultHandling
        }
        server.route("/out", .status(401, headers: ["WWW-Authenticate": "Basic realm=b"]))
        _ = try await manager.response(for: HTTPRequest("out"))
        #expect(
            await events(of: 5).suffix(9) == [
                "created", "resumed", "sent 1 -", "challenged", "by Basic b", "challenged", "answered 401",
                "metrics 2", "finished ",
            ])
    }

    @Test func streamFinishesWithBodyOrItsError() async throws {
        let stream = try await manager.stream(HTTPRequest("x"))
        for try await _ in stream.bytes {}
        #expect(await events() == Self.whole)
        #expect(notes.ends.values[0].1.body == nil)
        server.route("/cut", .truncated(body: Data("do".utf8), promising: 4))
        let cut = try await manager.stream(HTTPRequest("cut"))
        await #expect(throws: SessionError.self) { for try await _ in cut.bytes {} }
        #expect(await events(of: 2).last == "finished truncated")
        server.route("/lost", .reset)
        await #expect(throws: SessionError.self) { _ = try await manager.stream(HTTPRequest("lost")) }
        #expect(await events(of: 3).last?.hasPrefix("finished connectionLost") == true)
    }

    @Test func reportsFileOfDownload() async throws {
        let folder = try TestFolder()
        try await manager.download(HTTPRequest("x"), to: folder.file("film"))
        #expect(await events() == Self.whole)
        #expect(notes.ends.values[0].1.filePath == folder.file("film"))
        #expect(notes.ends.values[0].1.body == nil)
    }

    @Test func monitorsReceiveEventsInTheirOrder() async throws {
        let queue = Recorder<String>()
        struct Named: EventMonitor {
            let name: String
            let queue: Recorder<String>
            func requestCreated(_ request: MonitoredRequest) { queue.record("\(name) created") }
            func requestFinished(_ request: MonitoredRequest, with result: RequestResult) {
                queue.record("\(name) finished")
            }
        }
        manager.eventMonitors = [Named(name: "a", queue: queue), Named(name: "b", queue: queue)]
        #expect(manager.eventMonitors.count == 2)
        _ = try await manager.response(.get, "x")
        #expect(await queue.wait(for: 4) == ["a created", "b created", "a finished", "b finished"])
        manager.eventMonitors = []
        #expect(manager.eventMonitors.isEmpty)
        _ = try await manager.response(.get, "x")
        manager.eventMonitors = [notes]
        _ = try await manager.response(.get, "x")
        #expect(await events() == Self.whole)
        #expect(queue.values.count == 4)
    }

    @Test func concurrentRequestsKeepTheirEventsInOrder() async throws {
        final class ByRequest: EventMonitor {
            let all = Locked<[UInt64: [String]]>([:])
            let ends = Recorder<UInt64>()
            private func note(_ request: MonitoredRequest, _ name: String) {
                all.withLock { $0[request.id, default: []].append(name) }
            }
            func requestCreated(_ request: MonitoredRequest) { note(request, "created") }
            func requestSent(_ request: MonitoredRequest, as sent: HTTPRequest, attempt: Int) { note(request, "sent") }
            func responseReceived(_ request: MonitoredRequest, _ response: HTTPResponse) {
                note(request, "answered")
            }
            func requestFinished(_ request: MonitoredRequest, with result: RequestResult) {
                note(request, "finished")
                ends.record(request.id)
            }
        }
        let monitor = ByRequest()
        manager.eventMonitors = [monitor]
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<100 {
                if index.isMultiple(of: 2) {
                    group.addTask { _ = try? await manager.response(.get, "x") }
                } else {
                    manager.dataTask(for: HTTPRequest("x"), with: DataResponseSerializer()) { _, _, _ in }.resume()
                }
            }
        }
        await monitor.ends.wait(for: 100)
        let all = monitor.all.withLock { $0 }
        #expect(all.count == 100)
        #expect(all.values.allSatisfy { $0 == ["created", "sent", "answered", "finished"] })
    }

    @Test func requestsWithoutMonitorPostNoExtraEvents() async throws {
        manager.eventMonitors = []
        for _ in 0..<3 { _ = try await manager.response(.get, "x") }
        let before = try #require(manager.statistics)
        for _ in 0..<10 { _ = try await manager.response(.get, "x") }
        let after = try #require(manager.statistics)
        // The end of each, and nothing else.
        #expect(after.events - before.events == 10)
        #expect(after.posts - before.posts == 10)
    }

    @Test func invalidationIsReportedOnce() async throws {
        manager.invalidate(cancellingTasks: true)
        manager.invalidate(cancellingTasks: true)
        #expect(await notes.events.wait() == ["invalidated"])
    }
}

@Suite(.timeLimit(.minutes(10)))
struct EventLoggerTests {
    private static let request = MonitoredRequest(
        id: 7, request: HTTPRequest(.post, "https://user:pass@host/x?token=secret&a=b"))

    private static func lines(_ level: EventLogger.Level, _ tell: (EventLogger) -> Void) -> [String] {
        let lines = Recorder<String>()
        tell(EventLogger(level: level) { _, text in lines.record(text) })
        return lines.values
    }

    private static func tellAll(_ logger: EventLogger) {
        var sent = HTTPRequest(.post, "https://user:pass@host/x?token=secret&a=b", body: .text("the body"))
        sent.headers = ["Authorization": "Bearer secret", "Accept": "*/*", "Cookie": "secret", "x-api-key": "secret"]
        sent.headers.add(name: "X-Mine", value: "secret", isSecret: true)
        logger.requestSent(request, as: sent, attempt: 1)
        var response = HTTPResponse(status: 503, url: sent.url)
        response.headers = ["Set-Cookie": "secret", "Location": "https://u:secret@host/?sig=secret"]
        logger.responseReceived(request, response)
        let outcome = AttemptOutcome(attempt: RequestAttempt(), response: response)
        logger.requestRetried(request, after: outcome, delay: .milliseconds(1500))
        response.status = 200
        logger.requestFinished(request, with: RequestResult(response: response, body: Data("an answer".utf8)))
    }

    @Test func higherLevelsLogMoreDetails() {
        #expect(Self.lines(.failures, Self.tellAll).isEmpty)
        #expect(
            Self.lines(.requests, Self.tellAll) == [
                "[7] POST https://host/x?token=hidden&a=b: 503, again in 1500 ms",
                "[7] POST https://host/x?token=hidden&a=b: 200, 0 bytes",
            ])
        let heads = Self.lines(.headers, Self.tellAll).joined(separator: "\n")
        #expect(heads.contains("[7] > Accept: */*"))
        #expect(!heads.contains("the body") && !heads.contains("an answer"))
        let bodies = Self.lines(.bodies, Self.tellAll).joined(separator: "\n")
        #expect(bodies.contains("the body") && bodies.contains("an answer"))
    }

    @Test func secretsAreLoggedAtNoLevel() {
        let text = Self.lines(.bodies, Self.tellAll).joined(separator: "\n")
        #expect(!text.contains("secret") && !text.contains("pass"))
        #expect(text.contains("> Authorization: <hidden>") && text.contains("< Set-Cookie: <hidden>"))
        #expect(text.contains("< Location: https://host/?sig=hidden"))
    }

    @Test func redactionCanBeTurnedOff() {
        let lines = Recorder<String>()
        var logger = EventLogger(level: .bodies) { _, text in lines.record(text) }
        logger.redaction = .none
        Self.tellAll(logger)
        let text = lines.values.joined(separator: "\n")
        #expect(text.contains("https://user:pass@host/x?token=secret") && text.contains("Bearer secret"))
    }

    @Test func failuresCannotForgeLines() {
        let lines = Self.lines(.failures) { logger in
            logger.requestFinished(Self.request, with: RequestResult(error: SessionError(.timeout, reason: .idle)))
            var response = HTTPResponse(status: 404, url: "https://host/")
            response.headers = ["X": "a\u{1B}[31m\nforged"]
            logger.requestFinished(Self.request, with: RequestResult(response: response))
        }
        #expect(lines.count == 2)
        #expect(lines[0].contains("timeout (idle)") && lines[1].contains(": 404"))
        let heads = Self.lines(.headers) { logger in
            var response = HTTPResponse(status: 200, url: "https://host/")
            response.headers = ["X": "a\u{1B}[31m\nforged"]
            logger.responseReceived(Self.request, response)
        }
        #expect(heads[0].split(separator: "\n").count == 2)
        #expect(!heads[0].contains("\u{1B}"))
    }

    @Test func answersToChallengesAreNotLogged() {
        var response = HTTPResponse(status: 401, url: "https://host/")
        response.headers = ["WWW-Authenticate": "Basic realm=x"]
        let challenge = AuthenticationChallenge(
            protectionSpace: ProtectionSpace(
                scheme: "https", host: "host", port: 443, realm: "x", authenticationScheme: .basic),
            offeredSchemes: .basic, previousFailureCount: 0,
            proposedCredential: Credential(user: "me", password: "secret"), response: response)
        let lines = Self.lines(.headers) { $0.challengeAnswered(Self.request, challenge) }
        #expect(lines == ["[7] 401, answered by Basic\n[7] < WWW-Authenticate: Basic realm=x"])
        #expect(Self.lines(.requests) { $0.challengeAnswered(Self.request, challenge) }.isEmpty)
        #expect("\(AuthenticationSchemes.any)" == "Basic, Bearer, Digest, NTLM, Negotiate")
    }

    @Test func truncatesBodiesAndCountsBinaryBytes() {
        let lines = Recorder<String>()
        var logger = EventLogger(level: .bodies) { _, text in lines.record(text) }
        logger.maximumBodySize = 3
        let response = HTTPResponse(status: 200, url: "https://host/")
        logger.requestFinished(Self.request, with: RequestResult(response: response, body: Data("abcdef".utf8)))
        logger.requestFinished(Self.request, with: RequestResult(response: response, body: Data([0xFF, 0xFE])))
        #expect(lines.values[1] == "[7] abc… (6 bytes)")
        #expect(lines.values[3] == "[7] 2 bytes")
    }
}
