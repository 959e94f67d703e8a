import AFTestServer
import FoundationEssentials
import Testing

@testable import SwiftAF

@Suite(.timeLimit(.minutes(10)))
struct EventReconnectionTests {
    private let server: TestServer
    private let manager: HTTPSessionManager
    private let waits = Recorder<Duration>()

    init() throws {
        server = try TestServer()
        manager = HTTPSessionManager(baseURL: server.urlString("/"))
    }

    /// An iterator whose waits are over at once, and are recorded.
    private func events(
        _ method: HTTPMethod, _ body: HTTPBody = .none,
        _ change: (inout ServerSentEvents.Options) -> Void = { _ in }
    ) -> ServerSentEvents.Iterator {
        var options = ServerSentEvents.Options()
        change(&options)
        var events = manager.events(from: HTTPRequest(method, "events", body: body), options: options)
        events.pacing = .init(wait: { [waits] in waits.record($0) }, random: { 0 })
        return events.makeAsyncIterator()
    }

    private static func once(_ text: String) -> HTTPBody {
        .stream(
            once: AsyncStream<Data> { continuation in
                continuation.yield(Data(text.utf8))
                continuation.finish()
            })
    }

    @Test func waitsForRetryAfterUpToMaximum() async throws {
        for seconds in ["20", "1", "5000"] {
            server.route("/events", times: 1, .respond(503, headers: ["Retry-After": seconds]))
        }
        server.route("/events", .events("data: a\n\n"))
        var iterator = events(.get) { $0.retriedStatusCodes = [503] }
        #expect(try await iterator.next()?.data == "a")
        #expect(waits.values == [.seconds(20), .seconds(3), .seconds(60)])
    }

    @Test(arguments: [(.automatic, 2), (.never, 1)] as [(ServerSentEvents.Reconnection, Int)])
    func exhaustedRetryHasBody(reconnects: ServerSentEvents.Reconnection, requests: Int) async throws {
        server.route("/events", .respond(503, body: Data("busy".utf8)))
        var iterator = events(.get) {
            $0.reconnects = reconnects
            $0.retriedStatusCodes = [503]
            $0.maximumRetries = 1
        }
        let error = await #expect(throws: SessionError.self) { try await iterator.next() }
        #expect(error?.code == .status && error?.status == 503)
        #expect(error?.body == Data("busy".utf8))
        #expect(server.requests.count == requests)
        #expect(try await iterator.next() == nil)
    }

    @Test(arguments: [.get, .post] as [HTTPMethod])
    func cancelledTaskGetsNoEventMore(method: HTTPMethod) async throws {
        server.route("/events", .events(String(repeating: "data: a\n\n", count: 500)))
        let events = manager.events(from: HTTPRequest(method, "events"))
        let reading = Task {
            var count = 0
            do throws(SessionError) {
                for try await _ in events {
                    count += 1
                    if count == 2 { withUnsafeCurrentTask { $0?.cancel() } }
                }
                return (count, SessionError.Code?.none)
            } catch {
                return (count, error.code)
            }
        }
        let (count, code) = await reading.value
        #expect(count == 2 && code == .cancelled)
        #expect(server.requests.count == 1)
    }

    @Test(arguments: [.post, .patch, "QUERY"] as [HTTPMethod])
    func endsWithResponseToRequestThatIsNotIdempotent(method: HTTPMethod) async throws {
        server.route("/events", .events("data: a\n\ndata: b\n\n"))
        var events = events(method, .text("question"))
        #expect(try await events.next()?.data == "a")
        #expect(try await events.next()?.data == "b")
        #expect(try await events.next() == nil)
        #expect(try await events.next() == nil)
        #expect(server.requests.map(\.bodyText) == ["question"])
        #expect(waits.values.isEmpty)
    }

    /// Whether the session is that of an earlier trust policy.
    @Test(arguments: [false, true])
    func shutdownEndsDelay(isRetired: Bool) async throws {
        server.route("/events", .events("data: a\n\n"))
        var events = manager.events(from: HTTPRequest("events"))
        events.pacing.wait = { [waits] in
            waits.record($0)
            await Duration.seconds(3600).pause()
        }
        let reading = Task { [events] in
            var iterator = events.makeAsyncIterator()
            #expect(try await iterator.next()?.data == "a")
            _ = try await iterator.next()
        }
        await waits.wait()
        if isRetired { manager.securityPolicy = SecurityPolicy(allowsInvalidCertificates: true) }
        await manager.shutdown()
        let error = await #expect(throws: SessionError.self) { try await reading.value }
        #expect(error?.code == .closed)
        #expect(server.requests.count == 1)
    }

    @Test func errorOfRefusedStatusHasTheBody() async throws {
        server.route("/events", .json(#"{"error":"too many"}"#, status: 429))
        var events = events(.post, .text("question"))
        let error = await #expect(throws: SessionError.self) { _ = try await events.next() }
        #expect(error?.status == 429)
        #expect(error?.body == Data(#"{"error":"too many"}"#.utf8))
        #expect(try await events.next() == nil)
    }

    @Test(arguments: [.get, .put, .delete] as [HTTPMethod])
    func repeatsRequestThatIsIdempotent(method: HTTPMethod) async throws {
        server.route("/events", times: 1, .events("id: 1\ndata: a\n\n"))
        server.route("/events", times: 1, .lostEvents("id: 2\ndata: b\n\n"))
        server.route("/events", .status(204))
        var events = events(method)
        #expect(try await events.next()?.data == "a")
        #expect(try await events.next()?.data == "b")
        #expect(try await events.next() == nil)
        #expect(server.requests.map(\.method) == Array(repeating: method.rawValue, count: 3))
        #expect(server.requests.map { $0["Last-Event-ID"] } == [nil, "1", "2"])
    }

    @Test(arguments: [(.post, .automatic), (.get, .never)] as [(HTTPMethod, ServerSentEvents.Reconnection)])
    func throwsErrorOfLostConnectionAfterEventsReceivedSoFar(
        method: HTTPMethod, reconnects: ServerSentEvents.Reconnection
    ) async throws {
        server.route("/events", .lostEvents("data: a\n\ndata: half"))
        var events = events(method) { $0.reconnects = reconnects }
        #expect(try await events.next()?.data == "a")
        let error = await #expect(throws: SessionError.self) { try await events.next() }
        #expect(error?.code == .truncated)
        #expect(error?.url == server.urlString("/events"))
        #expect(try await events.next() == nil)
        #expect(server.requests.count == 1)
        #expect(waits.values.isEmpty)
    }

    @Test(arguments: [(.post, .automatic), (.get, .never)] as [(HTTPMethod, ServerSentEvents.Reconnection)])
    func throwsErrorOfConnectionThatIsLostBeforeTheResponse(
        method: HTTPMethod, reconnects: ServerSentEvents.Reconnection
    ) async throws {
        server.route("/events", [.reset])
        var events = events(method) { $0.reconnects = reconnects }
        let error = await #expect(throws: SessionError.self) { try await events.next() }
        #expect(error?.code == .connectionLost)
        #expect(server.requests.count == 1)
        #expect(waits.values.isEmpty)
    }

    @Test func repeatsAnyRequestAfterListedStatus() async throws {
        server.route("/events", times: 2, .status(503))
        server.route("/events", .events("data: a\n\n"))
        var events = events(.post, .text("question")) { $0.retriedStatusCodes = [503] }
        #expect(try await events.next()?.data == "a")
        #expect(try await events.next() == nil)
        #expect(server.requests.map(\.bodyText) == ["question", "question", "question"])
    }

    @Test func neverRepeatsRequestAfterListedStatusIfForbidden() async throws {
        server.route("/events", .status(503))
        var events = events(.get) {
            $0.retriedStatusCodes = [503]
            $0.reconnects = .never
        }
        let error = await #expect(throws: SessionError.self) { try await events.next() }
        #expect(error?.status == 503)
        #expect(server.requests.count == 1)
    }

    @Test func endsWithFirstResponseIfReconnectingIsForbidden() async throws {
        server.route("/events", .events("data: a\n\n"))
        var events = events(.get) { $0.reconnects = .never }
        #expect(try await events.next()?.data == "a")
        #expect(try await events.next() == nil)
        #expect(server.requests.count == 1)
    }

    @Test func repeatsAnyRequestIfAsked() async throws {
        server.route("/events", times: 1, .events("data: a\n\n"))
        server.route("/events", times: 1, .lostEvents("data: b\n\n"))
        server.route("/events", .status(204))
        var events = events(.post, .text("question")) { $0.reconnects = .always }
        #expect(try await events.next()?.data == "a")
        #expect(try await events.next()?.data == "b")
        #expect(try await events.next() == nil)
        #expect(server.requests.map(\.bodyText) == ["question", "question", "question"])
    }

    @Test func endsWithResponseIfBodyCannotBeReplayed() async throws {
        server.route("/events", .events("data: a\n\n"))
        var events = events(.put, Self.once("question"))
        #expect(try await events.next()?.data == "a")
        #expect(try await events.next() == nil)
        #expect(server.requests.map(\.bodyText) == ["question"])
    }

    @Test(
        arguments: [
            (.events("data: a\n\n"), nil), (.lostEvents("data: a\n\n"), .truncated),
        ] as [(Script, SessionError.Code?)])
    func throwsIfBodyHadToBeReplayedButCannot(script: Script, cause: SessionError.Code?) async throws {
        server.route("/events", script)
        var events = events(.post, Self.once("question")) { $0.reconnects = .always }
        #expect(try await events.next()?.data == "a")
        let error = await #expect(throws: SessionError.self) { try await events.next() }
        #expect(error?.code == .bodyNotReplayable)
        #expect(error?.message == "the request for events can't be repeated, because its body can be read only once")
        #expect((error?.underlying as? SessionError)?.code == cause)
        #expect(server.requests.map(\.bodyText) == ["question"])
        #expect(waits.values.isEmpty)
    }
}
