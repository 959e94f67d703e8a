import AFTestServer
import FoundationEssentials
import Testing

@testable import SwiftAF

/// Attempts that end before anything is sent, because an interceptor can't adapt the request.
@Suite(.timeLimit(.minutes(10)))
struct AdaptFailureTests {
    private let server: TestServer
    private let manager: HTTPSessionManager
    private let outcomes = Recorder<AttemptOutcome>()
    /// One value for each refresh.
    private let refreshes = Recorder<Void>()

    init() throws {
        server = try TestServer()
        manager = HTTPSessionManager(baseURL: server.urlString("/"))
        manager.completionQueue = .global()
        server.route("/x") { request, connection in
            let isAccepted = request["Authorization"] == "Bearer new"
            try connection.respond(isAccepted ? 200 : 401, body: Data("done".utf8))
        }
    }

    private struct Refusal: Error {}

    private static func policy(_ retries: Int) -> RetryPolicy {
        var policy = RetryPolicy(maximumRetries: retries)
        policy.baseDelay = .zero
        return policy
    }

    /// Fails as often as there are errors, then gets "new".
    private func bearer(_ token: BearerToken? = nil, failing errors: [any Error]) -> BearerAuthenticator {
        BearerAuthenticator(for: server.urlString("/"), token: token) { [refreshes] _ in
            refreshes.record(())
            let count = refreshes.values.count
            if count <= errors.count { throw errors[count - 1] }
            return BearerToken("new")
        }
    }

    /// Throws in `adapt`, and records what is asked afterwards.
    private func failing(_ error: any Error, _ decision: RetryDecision = .doNotRetry) -> Interceptor {
        Interceptor(
            adapt: { _, _ in throw error },
            retry: { [outcomes] _, outcome in
                outcomes.record(outcome)
                return decision
            })
    }

    private static func once(_ text: String) -> HTTPBody {
        .stream(
            once: AsyncStream<Data> { continuation in
                continuation.yield(Data(text.utf8))
                continuation.finish()
            })
    }

    private static func refused(_ status: Int, _ headers: HTTPHeaders = [:]) -> SessionError {
        SessionError(.status, response: HTTPResponse(status: status, headers: headers, url: "http://token/"))
    }

    // MARK: Ways to send

    enum Form: CaseIterable {
        case get, post, onceBody, closures, task, upload, download, downloadTask, stream, events, webSocket
    }

    private func send(_ form: Form, in folder: TestFolder) async throws -> String {
        let ends = Recorder<String>()
        @Sendable func record(_ error: SessionError?) { ends.record(error.map { "\($0.code)" } ?? "done") }
        switch form {
        case .get: return try await manager.get("x", as: String.self)
        case .post: return try await manager.post("x", body: .text("a"), as: String.self)
        case .onceBody:
            return try await manager.response(for: HTTPRequest(.post, "x", body: Self.once("a")))
                .text(validation: .any)
        case .closures:
            manager.get("x", with: .string, success: { ends.record($1) }, failure: { record($1) })
        case .task:
            manager.dataTask(for: HTTPRequest(.post, "x"), with: DataResponseSerializer()) { record($2) }.resume()
        case .upload:
            try folder.write("upload", to: "body")
            return try await manager.post("x", body: .file(folder.file("body")), as: String.self)
        case .download:
            _ = try await manager.download(HTTPRequest("x"), to: folder.file("film"))
            return String(decoding: try folder.read("film"), as: UTF8.self)
        case .downloadTask:
            manager.downloadTask(for: HTTPRequest("x"), to: folder.file("film")) { record($2) }.resume()
        case .stream:
            return String(decoding: try await manager.stream(HTTPRequest(.post, "x")).collect(upTo: 100), as: UTF8.self)
        case .events:
            server.route("/events", .events("data: done\n\n"))
            for try await event in manager.events(from: "events") { return event.data }
        case .webSocket:
            server.route("/socket", [.upgrade(), .frame(0x81, Data("done".utf8)), .frame(0x88, Data())])
            return try await manager.webSocket("socket").receive()?.string ?? ""
        }
        return try await ends.value()
    }

    @Test(arguments: Form.allCases) func isRetriedByThePolicy(form: Form) async throws {
        let unreachable = SessionError(.connect, message: "refused")
        manager.interceptors = [bearer(failing: [unreachable, Self.refused(503)]), Self.policy(2)]
        #expect(try await send(form, in: try TestFolder()) == "done")
        #expect(refreshes.values.count == 3)
        #expect(server.requests.map { $0["Authorization"] } == ["Bearer new"])
    }

    @Test func refreshesOverTheNetworkAgain() async throws {
        server.route("POST /token", times: 1, .reset)
        server.route("POST /token", times: 1, .respond(503, headers: ["Retry-After": "0"]))
        server.route("POST /token", .text("new"))
        let other = HTTPSessionManager(baseURL: server.urlString("/"))
        manager.interceptors = [
            BearerAuthenticator(for: server.urlString("/")) { _ in
                BearerToken(try await other.post("token", as: String.self))
            }, Self.policy(2),
        ]
        #expect(try await manager.post("x", as: String.self) == "done")
        #expect(server.requests.map(\.path) == ["/token", "/token", "/token", "/x"])
    }

    // MARK: What is retried

    @Test func everyAttemptCounts() async throws {
        let unreachable = SessionError(.connect, url: "http://token/")
        manager.interceptors = [bearer(failing: Array(repeating: unreachable, count: 9)), Self.policy(2)]
        let error = try await sessionError { try await manager.get("x") }
        #expect(error.code == .authentication && (error.underlying as? SessionError)?.code == .connect)
        #expect(error.url == server.urlString("/x"))
        #expect(refreshes.values.count == 3 && server.requests.isEmpty)
    }

    @Test(
        arguments: [
            (SessionError(.connect), true), (SessionError(.timeout, reason: .total), true),
            (refused(503), true), (refused(400), false), (SessionError(.untrusted), false),
            (SessionError(.authentication, underlying: refused(502)), true),
            (SessionError(.authentication, underlying: SessionError(.cancelled)), false), (Refusal(), false),
        ] as [(any Error, Bool)])
    func theInnerFailureDecides(error: any Error, isRetried: Bool) async throws {
        for direct in [true, false] {
            let attempts = Recorder<Int>()
            let interceptor = Interceptor(adapt: { request, attempt in
                attempts.record(attempt.number)
                throw direct ? error : SessionError(.authentication, underlying: error)
            })
            manager.interceptors = [interceptor, Self.policy(1)]
            _ = try await sessionError { try await manager.post("x") }
            #expect(attempts.values == (isRetried ? [1, 2] : [1]))
        }
    }

    @Test func interceptorsGetTheErrorAsItIs() async throws {
        manager.interceptors = [failing(Refusal())]
        let error = try await sessionError { try await manager.get("x") }
        #expect(error.code == .interceptor && error.underlying is Refusal)
        let outcome = try #require(outcomes.values.first)
        #expect(outcomes.values.count == 1 && outcome.endedInAdapt && outcome.error?.underlying is Refusal)
    }

    @Test func interceptorsSeeNoResponseOfAnotherRequest() async throws {
        let attempts = Recorder<[Int]>()
        manager.interceptors = [
            Interceptor(
                adapt: { request, attempt in
                    attempts.record(attempt.earlierStatuses)
                    if attempt.number <= 2 { throw Self.refused(401) }
                    return request
                },
                retry: { [outcomes] _, outcome in
                    outcomes.record(outcome)
                    return outcome.attempt.number <= 2 ? .retry : .doNotRetry
                })
        ]
        #expect(try await manager.response(.get, "x").status == 401)
        #expect(outcomes.values.map(\.status) == [nil, nil, 401])
        #expect(outcomes.values.map(\.error?.status) == [401, 401, nil])
        #expect(outcomes.values.map(\.endedInAdapt) == [true, true, false])
        #expect(attempts.values == [[], [0], [0, 0]])
    }

    @Test func retryGetsTheRequestAsFarAsItWasAdapted() async throws {
        let marks = Recorder<String?>()
        manager.interceptors = [
            Interceptor(
                adapt: { request, _ in
                    var request = request
                    request.headers["X-Mark"] = "1"
                    return request
                },
                retry: { request, _ in
                    marks.record(request.headers["X-Mark"])
                    return .doNotRetry
                }), failing(Refusal()),
        ]
        _ = try await sessionError { try await manager.get("x") }
        #expect(marks.values == ["1"] && outcomes.values.count == 1)
    }

    @Test(arguments: [CancellationError(), SessionError(.cancelled)] as [any Error])
    func cancellationIsFinal(error: any Error) async throws {
        manager.interceptors = [failing(error, .retry)]
        #expect(try await sessionError { try await manager.get("x") }.code == .cancelled)
        #expect(outcomes.values.isEmpty)
    }

    @Test func interceptorMayFailWithAnotherError() async throws {
        manager.interceptors = [failing(Self.refused(503), .fail(Refusal()))]
        let error = try await sessionError { try await manager.get("x") }
        #expect(error.underlying is Refusal && error.response == nil)
    }

    @Test func reportsTheRetryWithoutASentRequest() async throws {
        let notes = EventNotes()
        manager.eventMonitors = [notes]
        manager.interceptors = [bearer(failing: [Self.refused(503)]), Self.policy(1)]
        _ = try await manager.get("x")
        await notes.ends.wait()
        #expect(
            notes.events.values == [
                "created", "resumed", "retried 0 true", "sent 2 -", "answered 200", "metrics 1", "finished ",
            ])
    }

    // MARK: What ends them

    @Test func delayBeyondTheTotalTimeLimitIsFinal() async throws {
        manager.timeouts.total = .seconds(1800)
        manager.interceptors = [failing(Refusal(), .retry(after: .seconds(3600)))]
        #expect(try await sessionError { try await manager.get("x") }.code == .interceptor)
        #expect(outcomes.values.count == 1)
    }

    @Test func totalTimeLimitEndsRetriesWithoutEnd() async throws {
        manager.timeouts.total = .milliseconds(50)
        manager.interceptors = [
            Interceptor(
                adapt: { _, _ in
                    await Task.yield()
                    throw Refusal()
                }, retry: { _, _ in .retry })
        ]
        let error = try await sessionError { try await manager.get("x") }
        // It is noticed while an interceptor runs, or before the next attempt.
        #expect(error.reason == .total || error.code == .interceptor)
    }

    @Test func cancellationEndsTheWait() async throws {
        manager.interceptors = [failing(Refusal(), .retry(after: .seconds(3600)))]
        let task = Task { [manager] in try await manager.get("x") }
        await outcomes.wait()
        task.cancel()
        #expect(await task.sessionError?.code == .cancelled)
    }

    // MARK: After a refusal

    @Test(arguments: [true, false]) func refreshAfterA401IsRetriedToo(policyIsFirst: Bool) async throws {
        let bearer = bearer(BearerToken("old"), failing: [SessionError(.connect)])
        manager.interceptors = policyIsFirst ? [Self.policy(1), bearer] : [bearer, Self.policy(1)]
        #expect(try await manager.post("x", body: .text("a"), as: String.self) == "done")
        #expect(server.requests.map { $0["Authorization"] } == ["Bearer old", "Bearer old", "Bearer new"])
        #expect(refreshes.values.count == 2)
    }

    @Test(arguments: [SessionError(.untrusted), SessionError(.connect)])
    func refreshAfterA401IsFinal(cause: SessionError) async throws {
        let bearer = bearer(BearerToken("old"), failing: Array(repeating: cause, count: 9))
        manager.interceptors = [bearer, Self.policy(cause.code == .connect ? 0 : 3)]
        let error = try await sessionError { try await manager.get("x") }
        #expect(error.code == .authentication && error.status == 401)
        #expect(server.requests.count == 1 && refreshes.values.count == 1)
    }

    @Test func bodyThatWasSentIsNotReplayed() async throws {
        let bearer = bearer(BearerToken("old"), failing: [SessionError(.connect)])
        // The error stays that of the refresh, whatever is asked for.
        let always = Interceptor(retry: { _, outcome in outcome.error == nil ? .doNotRetry : .retry })
        manager.interceptors = [bearer, Self.policy(3), always]
        let request = HTTPRequest(.post, "x", body: Self.once("a"))
        #expect(try await sessionError { try await manager.response(for: request) }.code == .authentication)
        #expect(server.requests.count == 1)
    }
}
