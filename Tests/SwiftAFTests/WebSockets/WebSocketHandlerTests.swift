import AFTestServer
import FoundationEssentials
import Testing

@testable import SwiftAF

@Suite(.timeLimit(.minutes(10)))
struct WebSocketHandlerTests {
    private struct Refused: Error {}

    private let server: TestServer
    private let manager: HTTPSessionManager

    init() throws {
        server = try TestServer()
        manager = HTTPSessionManager(baseURL: server.urlString("/"))
        server.route("/echo", [.upgrade(), .echoFrames])
        server.route("/moved", .redirect(to: "/login"))
    }

    /// Asks for credentials until they are there.
    private func askForCredentials(times: Int) {
        server.route("/login", [.upgrade(), .echoFrames])
        server.route("/login", times: times, .status(401, headers: ["WWW-Authenticate": "Basic realm=\"r\""]))
    }

    private func failure(_ path: String) async -> SessionError? {
        do {
            try await manager.webSocket(path).close()
            return nil
        } catch {
            return error.asSessionError
        }
    }

    @Test func redirectIsFollowedWhenTheHandlerAgrees() async throws {
        server.route("/moved", .redirect(to: "/echo"))
        let seen = Recorder<String>()
        manager.redirectHandler = { proposal in
            seen.record("\(proposal.response.status) \(proposal.count) \(proposal.crossesOrigin)")
            return .follow
        }
        let socket = try await manager.webSocket("moved")
        #expect(seen.values == ["302 1 false"])
        #expect(socket.response.url.hasSuffix("/echo"))
        try await socket.close()
    }

    @Test(arguments: ["http", "ws"])
    func redirectHandlerReplacesHandshakeTarget(scheme: String) async throws {
        let target = scheme + server.urlString("/echo").dropFirst(4)
        // Nothing of the proposal is kept; the handshake's own fields are sent all the same.
        manager.redirectHandler = { _ in .replace(HTTPRequest(.get, target, headers: ["X-Chosen": "yes"])) }
        let socket = try await manager.webSocket("moved", protocols: ["v1"])
        let last = try #require(server.requests.last)
        #expect(last["X-Chosen"] == "yes")
        #expect(last["Sec-WebSocket-Protocol"] == "v1")
        try await socket.send("hello")
        var messages = socket.makeAsyncIterator()
        #expect(try await messages.next() == .text("hello"))
        try await socket.close()
    }

    @Test func editedProposalIsFollowed() async throws {
        let target = server.urlString("/echo")
        manager.redirectHandler = { proposal in
            var next = proposal.request
            next.url = target
            return .replace(next)
        }
        let socket = try await manager.webSocket("moved")
        #expect(server.requests.map(\.path) == ["/moved", "/echo"])
        try await socket.close()
    }

    @Test func stoppedRedirectIsARefusalWithThe3xx() async {
        manager.redirectHandler = { _ in .stop }
        let error = await failure("moved")
        #expect(error?.code == .status)
        #expect(error?.status == 302)
        #expect(server.requests.count == 1)
    }

    @Test func failedRedirectHasTheErrorOfTheHandler() async {
        manager.redirectHandler = { _ in .fail(Refused()) }
        let error = await failure("moved")
        #expect(error?.code == .redirect)
        #expect(error?.underlying is Refused)
        manager.redirectHandler = { _ in .fail(SessionError(.cancelled, message: "not there")) }
        #expect(await failure("moved")?.code == .cancelled)
    }

    @Test func challengeIsAnsweredByTheHandler() async throws {
        askForCredentials(times: 2)
        let failures = Recorder<Int>()
        manager.authenticationChallengeHandler = { challenge in
            failures.record(challenge.previousFailureCount)
            return .useCredential(Credential(user: "joe", password: "try \(challenge.previousFailureCount)"))
        }
        let socket = try await manager.webSocket("moved")
        #expect(failures.values == [0, 1])
        #expect(server.requests.count == 4)
        let last = Data("joe:try 1".utf8).base64EncodedString()
        #expect(server.requests.last?["Authorization"] == "Basic \(last)")
        try await socket.close()
    }

    @Test func credentialStorageProposesWhatItHas() async throws {
        askForCredentials(times: 1)
        manager.credentialStorage = MemoryCredentialStorage()
        manager.authenticationChallengeHandler = { _ in
            var credential = Credential(user: "joe", password: "pw")
            credential.persistence = .forSession
            return .useCredential(credential)
        }
        try await manager.webSocket("login").close()
        manager.authenticationChallengeHandler = nil
        askForCredentials(times: 1)
        try await manager.webSocket("login").close()
        let sent = Data("joe:pw".utf8).base64EncodedString()
        #expect(server.requests.map { $0["Authorization"] } == [nil, "Basic \(sent)", nil, "Basic \(sent)"])
    }

    @Test func challengeWithoutAnAnswerIsARefusal() async {
        let body = Data(#"{"title":"who?"}"#.utf8)
        server.route("/login", .respond(401, headers: ["WWW-Authenticate": "Basic realm=\"r\""], body: body))
        manager.authenticationChallengeHandler = { _ in .performDefaultHandling }
        let plain = await failure("login")
        #expect(plain?.code == .authentication)
        #expect(plain?.status == 401)
        #expect(plain?.body == body)
        manager.authenticationChallengeHandler = { _ in .cancel }
        #expect(await failure("login")?.code == .cancelled)
        manager.authenticationChallengeHandler = { _ in throw Refused() }
        let thrown = await failure("login")
        #expect(thrown?.code == .authentication)
        #expect(thrown?.underlying is Refused)
        #expect(server.requests.count == 3)
    }

    @Test func handlerIsCancelledWithTheHandshake() async {
        askForCredentials(times: 1)
        let events = Recorder<String>()
        manager.authenticationChallengeHandler = { _ in
            events.record("asked")
            // An operation that looks at this itself may end before its cancellation handler is called, which then isn't.
            while !Task.isCancelled { await Task.yield() }
            events.record("cancelled")
            return .performDefaultHandling
        }
        let opening = Task { [manager] in try await manager.webSocket("login") }
        await events.wait()
        opening.cancel()
        await events.wait(for: 2)
        #expect(events.values == ["asked", "cancelled"])
        await #expect(throws: SessionError.self) { try await opening.value }
        #expect(server.requests.count == 1)
    }

    @Test func callsEveryHandlerDuringHandshake() async throws {
        server.route("/login", [.interim(103), .upgrade(), .echoFrames])
        server.route("/login", times: 1, .status(401, headers: ["WWW-Authenticate": "Basic realm=\"r\""]))
        let events = Recorder<String>()
        manager.redirectHandler = { _ in
            events.record("redirect")
            return .follow
        }
        manager.authenticationChallengeHandler = { _ in
            events.record("challenge")
            return .useCredential(Credential(user: "joe", password: "pw"))
        }
        let socket = try await manager.webSocket("moved") { request in
            request.informationalHandler = { events.record("\($0.status)") }
        }
        #expect(events.values == ["redirect", "challenge", "103"])
        try await socket.close()
    }
}
