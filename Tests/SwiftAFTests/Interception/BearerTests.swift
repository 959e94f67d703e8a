import AFTestServer
import FoundationEssentials
import Testing

@testable import SwiftAF

@Suite(.timeLimit(.minutes(10)))
struct BearerTests {
    private let server: TestServer
    private let manager: HTTPSessionManager
    /// What was to be refreshed, each time.
    private let refreshes = Recorder<BearerToken?>()

    init() throws {
        server = try TestServer()
        var configuration = SessionConfiguration()
        configuration.maximumConnectionsPerHost = nil
        manager = HTTPSessionManager(baseURL: server.urlString("/"), configuration: configuration)
        manager.completionQueue = .global()
        accept("new", at: "/x")
    }

    private struct NoLuck: Error {}

    private func accept(_ token: String, at path: String) {
        server.route(path) { request, connection in
            let isAccepted = request["Authorization"] == "Bearer \(token)"
            try connection.respond(isAccepted ? 200 : 401, body: Data("answer".utf8))
        }
    }

    /// Gives "new" for any other token, when `gate` has been recorded.
    private func authenticator(
        _ token: BearerToken? = BearerToken("old"), leeway: Duration? = nil, gate: Recorder<Bool>? = nil,
        fails: Bool = false
    ) -> BearerAuthenticator {
        BearerAuthenticator(for: server.urlString("/"), token: token, refreshingBefore: leeway) { [refreshes] token in
            refreshes.record(token)
            await gate?.wait()
            if fails { throw NoLuck() }
            return BearerToken("new")
        }
    }

    private func statuses(_ count: Int) async -> [Result<Int, SessionError>] {
        await withTaskGroup(of: Result<Int, SessionError>.self) { group in
            for _ in 0..<count {
                group.addTask {
                    do throws(SessionError) {
                        return .success(try await manager.response(.get, "x").status)
                    } catch {
                        return .failure(error)
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test func refusedRequestsShareOneRefresh() async throws {
        server.route("/x", times: 100, [.stall(at: "old"), .status(401)])
        manager.interceptors = [authenticator()]
        async let all = statuses(100)
        #expect(await server.wait(for: .stalled(at: "old", count: 100)))
        server.open("old")
        let statuses = try await all.map { try $0.get() }
        #expect(statuses == Array(repeating: 200, count: 100))
        #expect(refreshes.values == [BearerToken("old")])
        #expect(server.requests.count == 200)
    }

    @Test func refreshesTokenAfter401ToUnreplayableBody() async throws {
        manager.interceptors = [authenticator()]
        func send() async throws -> Int {
            let chunks = AsyncStream<Data> { continuation in
                continuation.yield(Data("once".utf8))
                continuation.finish()
            }
            return try await manager.response(for: HTTPRequest(.put, "x", body: .stream(once: chunks))).status
        }
        #expect(try await [send(), send()] == [401, 200])
        #expect(refreshes.values == [BearerToken("old")])
        #expect(server.requests.count == 2)
    }

    @Test(arguments: 0..<10)
    func refusalsInAnyOrderShareOneRefresh(round: Int) async throws {
        manager.interceptors = [authenticator()]
        let statuses = try await statuses(100).map { try $0.get() }
        #expect(statuses == Array(repeating: 200, count: 100))
        #expect(refreshes.values.count == 1)
    }

    @Test func tasksShareOneRefresh() async throws {
        manager.interceptors = [authenticator()]
        let ends = Recorder<Int?>()
        for _ in 0..<100 {
            manager.dataTask(for: HTTPRequest("x"), with: DataResponseSerializer()) { response, _, _ in
                ends.record(response?.status)
            }.resume()
        }
        #expect(await ends.wait(for: 100) == Array(repeating: 200, count: 100))
        #expect(refreshes.values.count == 1)
    }

    @Test func failedRefreshFailsAllWaitingRequests() async throws {
        server.route("/x", times: 100, [.stall(at: "old"), .status(401)])
        manager.interceptors = [authenticator(fails: true)]
        async let all = statuses(100)
        #expect(await server.wait(for: .stalled(at: "old", count: 100)))
        server.open("old")
        for result in await all {
            guard case .failure(let error) = result else {
                Issue.record("a request was answered")
                continue
            }
            #expect(error.code == .authentication)
            #expect(error.underlying is NoLuck)
        }
        #expect(refreshes.values.count == 1)
        #expect(server.requests.count == 100)
        // Who comes later may try anew.
        _ = await statuses(1)
        #expect(refreshes.values.count == 2)
    }

    @Test func requestAfterChangeOfUsersGetsNewToken() async throws {
        let gate = Recorder<Bool>()
        let bearer = BearerAuthenticator(for: server.urlString("/"), token: BearerToken("alice")) { [refreshes] token in
            refreshes.record(token)
            if token?.value == "alice" { await gate.wait() }
            return BearerToken(token == nil ? "new" : "alice's new")
        }
        manager.interceptors = [bearer]
        async let first = manager.response(.get, "x").status
        await refreshes.wait()
        bearer.token = nil
        async let second = manager.response(.get, "x").status
        // The second request waits for the refresh by now, or comes after it: both end in the same way.
        gate.record(true)
        // The first one was Alice's, and may be refused.
        _ = try await first
        #expect(try await second == 200)
        #expect(refreshes.values.contains(nil) && bearer.token == BearerToken("new"))
        let sent = server.requests.map { $0["Authorization"] }
        #expect(sent.filter { $0 == "Bearer alice's new" }.count <= 1 && sent.contains("Bearer new"))
    }

    @Test func late401ForReplacedTokenSkipsRefresh() async throws {
        manager.interceptors = [authenticator()]
        server.route("/late", times: 1, [.stall(at: "late"), .status(401)])
        accept("new", at: "/late")
        async let late = manager.response(.get, "late")
        #expect(await server.wait(for: .stalled(at: "late")))
        #expect(try await manager.response(.get, "x").status == 200)
        server.open("late")
        #expect(try await late.status == 200)
        #expect(refreshes.values.count == 1)
    }

    @Test(arguments: [0, 1])
    func cancellingOneRequestKeepsSharedRefresh(position: Int) async throws {
        let gate = Recorder<Bool>()
        manager.interceptors = [authenticator(nil, gate: gate)]
        // The first of them has started the refresh.
        let first = Task { try await manager.response(.get, "x").status }
        await refreshes.wait()
        let second = Task { try await manager.response(.get, "x").status }
        let (gone, other) = position == 0 ? (first, second) : (second, first)
        gone.cancel()
        await #expect { try await gone.value } throws: { ($0 as? SessionError)?.code == .cancelled }
        gate.record(true)
        #expect(try await other.value == 200)
        #expect(refreshes.values.count == 1)
    }

    @Test func refreshesMissingOrExpiredTokenBeforeSending() async throws {
        for token in [nil, BearerToken("old", expires: Date(timeIntervalSinceNow: -1))] {
            manager.interceptors = [authenticator(token)]
            #expect(try await manager.response(.get, "x").status == 200)
        }
        #expect(server.requests.map { $0["Authorization"] } == ["Bearer new", "Bearer new"])
        #expect(refreshes.values.count == 2)
    }

    @Test func usesTokenWhileRefreshingItAhead() async throws {
        accept("old", at: "/x")
        let gate = Recorder<Bool>()
        let token = BearerToken("old", expires: Date(timeIntervalSinceNow: 3600))
        let authenticator = authenticator(token, leeway: .seconds(7200), gate: gate)
        manager.interceptors = [authenticator]
        for _ in 0..<3 { #expect(try await manager.response(.get, "x").status == 200) }
        await refreshes.wait()
        #expect(refreshes.values.count == 1)
        gate.record(true)
    }

    @Test func refreshOverSameManagerDoesNotDeadlock() async throws {
        server.route("POST /token", .text("new"))
        let refreshes = refreshes
        manager.interceptors = [
            BearerAuthenticator(for: server.urlString("/")) { [weak manager] token in
                refreshes.record(token)
                return BearerToken(try await manager?.post("token", as: String.self) ?? "")
            }
        ]
        #expect(try await manager.response(.get, "x").status == 200)
        #expect(server.requests.map { $0["Authorization"] } == [nil, "Bearer new"])
        #expect(refreshes.values.count == 1)
    }

    /// With one connection, that of the refused stream, whose body doesn't end.
    private func streamingManager() -> HTTPSessionManager {
        server.route("/stream") { request, connection in
            let isAccepted = request["Authorization"] == "Bearer new"
            try connection.run(
                isAccepted ? .text("fine") : [.chunkedHead(401), .chunk("denied"), .waitForPeerClose])
        }
        server.route("POST /token", .text("new"))
        var configuration = SessionConfiguration()
        configuration.maximumConnectionsPerHost = 1
        let manager = HTTPSessionManager(baseURL: server.urlString("/"), configuration: configuration)
        manager.interceptors = [
            BearerAuthenticator(for: server.urlString("/"), token: BearerToken("old")) { [weak manager] _ in
                BearerToken(try await manager?.post("token", as: String.self) ?? "")
            }
        ]
        return manager
    }

    @Test func refusedStreamFreesItsConnectionForRefresh() async throws {
        let response = try await streamingManager().stream("stream")
        #expect(response.status == 200)
        #expect(try await response.collect(upTo: 100) == Data("fine".utf8))
    }

    /// A response that can't be retried is the caller's, with its body.
    @Test func refusedStreamOfUnreplayableBodyIsReturned() async throws {
        let manager = streamingManager()
        manager.interceptors = [authenticator()]
        let chunks = AsyncStream<Data> { continuation in
            continuation.yield(Data("once".utf8))
            continuation.finish()
        }
        let response = try await manager.stream(HTTPRequest(.put, "stream", body: .stream(once: chunks)))
        #expect(response.status == 401)
        var iterator = response.makeAsyncIterator()
        #expect(try await iterator.next() == Data("denied".utf8))
        #expect(refreshes.values == [BearerToken("old")])
    }

    @Test func aChallengeOfTheRefreshIsAnsweredOverTheSameManager() async throws {
        server.route("/password", .text("passwd"))
        server.route("POST /token") { request, connection in
            let isRight = request["Authorization"] == "Basic dXNlcjpwYXNzd2Q="
            try connection.run(
                isRight ? .text("new") : .respond(401, headers: ["WWW-Authenticate": "Basic realm=\"token\""]))
        }
        manager.authenticationChallengeHandler = { [weak manager] _ in
            let password = try await manager?.get("password", as: String.self) ?? ""
            return .useCredential(Credential(user: "user", password: password))
        }
        manager.interceptors = [
            BearerAuthenticator(for: server.urlString("/")) { [weak manager] _ in
                BearerToken(try await manager?.post("token", as: String.self) ?? "")
            }
        ]
        #expect(try await manager.response(.get, "x").status == 200)
        #expect(server.requests.map(\.path) == ["/token", "/password", "/token", "/x"])
    }

    @Test func aTaskOfARefreshGetsTheTokenAfterIt() async throws {
        let (ended, statuses) = (Recorder<Bool>(), Recorder<Int?>())
        manager.interceptors = [
            BearerAuthenticator(for: server.urlString("/")) { [weak manager] _ in
                Task {
                    await ended.wait()
                    statuses.record(try? await manager?.response(.get, "x").status)
                }
                return BearerToken("new")
            }
        ]
        #expect(try await manager.response(.get, "x").status == 200)
        ended.record(true)
        #expect(await statuses.wait() == [200])
        #expect(server.requests.map { $0["Authorization"] } == ["Bearer new", "Bearer new"])
    }

    @Test func tokenIsSentToItsOriginOnly() async throws {
        let other = try TestServer()
        other.route("/x", .status(401))
        server.route("/moved", .redirect(to: other.urlString("/x")))
        manager.interceptors = [authenticator(BearerToken("new"))]
        #expect(try await manager.response(.get, other.urlString("/x")).status == 401)
        #expect(try await manager.response(.get, "moved").status == 401)
        #expect(other.requests.map { $0["Authorization"] } == [nil, nil])
        #expect(server.requests.map { $0["Authorization"] } == ["Bearer new"])
        #expect(refreshes.values.isEmpty)
    }

    @Test(arguments: ["api.example.org", "https://api.example.org/", "api.example.org:443"])
    func originWithoutSchemeUsesHTTPS(origin: String) async throws {
        let bearer = BearerAuthenticator(for: origin, token: BearerToken("new")) { _ in BearerToken("other") }
        let ours = try await bearer.adapt(HTTPRequest("https://api.example.org/x"), for: RequestAttempt())
        #expect(ours.headers["Authorization"] == "Bearer new")
        let plain = try await bearer.adapt(HTTPRequest("http://api.example.org/x"), for: RequestAttempt())
        #expect(plain.headers["Authorization"] == nil)
    }

    @Test(
        arguments: [
            "api example.org", "https://ho st/", "http://127.0.0.1:99999", "http://", "http:/127.0.0.1",
            "http//127.0.0.1", "ftp://127.0.0.1", "http://[::1", "", "HTTPS:/x",
        ])
    func invalidServerURLFailsEveryRequest(text: String) async throws {
        let bearer = BearerAuthenticator(for: "https://api.example.org", text) { _ in BearerToken("a") }
        let error = try await #require(throws: SessionError.self) {
            try await bearer.adapt(HTTPRequest("https://api.example.org/x"), for: RequestAttempt())
        }
        #expect(error.code == .invalidInput && error.message.contains("\"\(text)\""))
    }

    @Test func errorForInvalidServerURLHidesPassword() async throws {
        let bearer = BearerAuthenticator(for: "ftp://ada:s3cret@host") { _ in BearerToken("a") }
        let error = try await #require(throws: SessionError.self) {
            try await bearer.adapt(HTTPRequest("https://api.example.org/x"), for: RequestAttempt())
        }
        #expect(!error.message.contains("s3cret") && error.message.contains("ftp://host"))
    }

    /// A refresh that signs out, and fails or returns a token.
    @Test(arguments: [true, false]) func signingOutInsideTheRefreshEndsTheRequest(fails: Bool) async throws {
        let bearers = Recorder<BearerAuthenticator>()
        let bearer = BearerAuthenticator(for: server.urlString("/"), token: BearerToken("old")) { [refreshes] token in
            refreshes.record(token)
            // Lets the test end that shows no limit.
            if refreshes.values.count > 10 { return BearerToken("new") }
            bearers.values.first?.token = nil
            if fails { throw NoLuck() }
            return BearerToken("ignored")
        }
        bearers.record(bearer)
        manager.interceptors = [bearer]
        let error = try await #require(throws: SessionError.self) { try await manager.response(.get, "x") }
        #expect(error.code == .authentication && error.status == 401)
        #expect(error.underlying is NoLuck == fails)
        #expect(refreshes.values.count == (fails ? 1 : 2))
        #expect(bearer.token == nil && server.requests.count == 1)
    }

    @Test func failedRefreshIncludesRefusedResponse() async throws {
        manager.interceptors = [authenticator(fails: true)]
        let error = try await #require(throws: SessionError.self) { try await manager.response(.get, "x") }
        #expect(error.code == .authentication && error.status == 401 && error.body == Data("answer".utf8))
        #expect(error.response?.url == server.urlString("/x") && error.underlying is NoLuck)
        manager.interceptors = [authenticator(nil, fails: true)]
        let early = try await #require(throws: SessionError.self) { try await manager.response(.get, "x") }
        #expect(early.code == .authentication && early.status == nil && early.body == nil)
    }

    @Test func theErrorOfAFailedRefreshIsDecodedByTheManagersDecoder() async throws {
        struct Reason: Decodable, Sendable {
            var errorCode: Int
        }
        manager.decoder = JSONCoder(keys: .snakeCase)
        manager.interceptors = [authenticator(fails: true)]
        server.route("/x", .json(#"{"error_code": 7}"#, status: 401))
        let error = try await sessionError { try await manager.get("x") }
        #expect(try error.decodeBody(as: Reason.self).errorCode == 7)
        let ends = Recorder<SessionError?>()
        manager.dataTask(for: HTTPRequest("x"), with: DataResponseSerializer()) { ends.record($2) }.resume()
        #expect(try await ends.value()?.decodeBody(as: Reason.self).errorCode == 7)
        let ofSocket = try await sessionError { _ = try await manager.webSocket("x") }
        #expect(try ofSocket.decodeBody(as: Reason.self).errorCode == 7)
        // The body of a stream isn't collected.
        #expect(try await sessionError { _ = try await manager.stream("x") }.body == nil)
    }

    // MARK: The cache

    private func cachingManager(_ bearer: BearerAuthenticator) throws -> HTTPSessionManager {
        var configuration = SessionConfiguration()
        configuration.cache = try HTTPCache()
        let manager = HTTPSessionManager(baseURL: server.urlString("/"), configuration: configuration)
        manager.interceptors = [bearer]
        server.route("/stored") { request, connection in
            let isAccepted = request["Authorization"] == "Bearer new"
            try connection.respond(isAccepted ? 200 : 401, headers: ["Cache-Control": "private, max-age=600"])
        }
        return manager
    }

    @Test(arguments: [HTTPRequest.CachePolicy.returnCacheDataElseLoad, .returnCacheDataDontLoad])
    func storedResponsesNeedNoRefresh(policy: HTTPRequest.CachePolicy) async throws {
        let bearer = authenticator(BearerToken("new"), fails: true)
        let manager = try cachingManager(bearer)
        #expect(try await manager.get("stored").cacheStatus == .server)
        bearer.token?.expires = Date(timeIntervalSinceNow: -1)
        let stored = try await manager.get("stored") { $0.cachePolicy = policy }
        #expect(stored.cacheStatus.isFromCache && refreshes.values.isEmpty)
        #expect(server.requests.count == 1)
    }

    @Test func whatIsNotStoredIsLoadedWithANewToken() async throws {
        let expired = BearerToken("old", expires: Date(timeIntervalSinceNow: -1))
        let manager = try cachingManager(authenticator(expired))
        #expect(try await manager.get("stored") { $0.cachePolicy = .returnCacheDataElseLoad }.status == 200)
        #expect(refreshes.values == [expired])
        #expect(server.requests.map { $0["Authorization"] } == ["Bearer old", "Bearer new"])
    }

    @Test func onlyTheCacheIsAskedWithoutAToken() async throws {
        let manager = try cachingManager(authenticator(nil))
        let missing = try await manager.response(.get, "stored") { $0.cachePolicy = .returnCacheDataDontLoad }
        #expect(missing.head.cacheStatus == .missing)
        #expect(refreshes.values.isEmpty && server.requests.isEmpty)
    }

    /// A refresh for a request that has ended isn't followed by another one.
    @Test func cancelledWhileTheTokenIsReplaced() async throws {
        let gate = Recorder<Bool>()
        let bearer = BearerAuthenticator(for: server.urlString("/"), token: nil) { [refreshes] token in
            refreshes.record(token)
            await gate.wait()
            return BearerToken("new")
        }
        manager.interceptors = [bearer]
        let task = Task { try await manager.response(.get, "x").status }
        await refreshes.wait()
        bearer.token = nil
        task.cancel()
        await #expect { try await task.value } throws: { ($0 as? SessionError)?.code == .cancelled }
        gate.record(true)
        await manager.shutdown()
        #expect(refreshes.values.count == 1 && server.requests.isEmpty)
    }

    enum Failover: CaseIterable {
        case adapting, wrapping

        func interceptor(to url: String) -> Interceptor {
            @Sendable func moved(_ request: HTTPRequest) -> HTTPRequest {
                var request = request
                request.url = url
                return request
            }
            return switch self {
            case .adapting: Interceptor(adapt: { request, _ in moved(request) })
            case .wrapping: Interceptor(intercept: { request, next in try await next(moved(request)) })
            }
        }
    }

    @Test(arguments: Failover.allCases, [true, false])
    func anInterceptorThatChangesTheServerTakesTheTokenToGivenServersOnly(
        failover: Failover, isGiven: Bool
    ) async throws {
        let mirror = try TestServer()
        mirror.fallback(.status(200))
        let url = mirror.urlString("/x")
        let token = BearerToken("new")
        let bearer =
            isGiven
            ? BearerAuthenticator(for: server.urlString("/"), url, token: token) { _ in token }
            : BearerAuthenticator(for: server.urlString("/"), token: token) { _ in token }
        let mover = failover.interceptor(to: url)
        for interceptors in [[mover, bearer], [bearer, mover]] as [[any RequestInterceptor]] {
            manager.interceptors = interceptors
            #expect(try await manager.response(.get, "x").status == 200)
        }
        let expected = isGiven ? "Bearer new" : nil
        #expect(mirror.requests.map { $0["Authorization"] } == [expected, expected])
        #expect(server.requests.isEmpty)
    }

    @Test(arguments: [true, false])
    func waitingRequestUsesTokenSetDuringRefresh(fails: Bool) async throws {
        let gate = Recorder<Bool>()
        let bearer = authenticator(nil, gate: gate, fails: fails)
        manager.interceptors = [bearer]
        async let status = manager.response(.get, "x").status
        await refreshes.wait()
        accept("of another user", at: "/x")
        bearer.token = BearerToken("of another user")
        gate.record(true)
        #expect(try await status == 200)
        #expect(server.requests.map { $0["Authorization"] } == ["Bearer of another user"])
        #expect(bearer.token == BearerToken("of another user"))
    }

    @Test func keepsAuthorizationOfRequest() async throws {
        manager.interceptors = [authenticator()]
        var request = HTTPRequest("x", headers: ["Authorization": "Bearer mine"])
        #expect(try await manager.response(for: request).status == 401)
        request.headers.suppressDefault("Authorization")
        #expect(try await manager.response(for: request).status == 401)
        #expect(server.requests.map { $0["Authorization"] } == ["Bearer mine", nil])
        #expect(refreshes.values.isEmpty)
    }

    @Test func returns401AfterTwoRefreshedTokensAreRefused() async throws {
        server.route("/x", .status(401))
        manager.interceptors = [authenticator()]
        #expect(try await manager.response(.get, "x").status == 401)
        #expect(server.requests.count == 3)
        #expect(refreshes.values.count == 2)
    }

    @Test func refusesMalformedTokenWithoutShowingIt() async throws {
        manager.interceptors = [authenticator(BearerToken("secret\r\nX: y"))]
        await #expect { _ = try await manager.response(.get, "x") } throws: { error in
            "\(error)".contains("invalidInput") && !"\(error)".contains("secret")
        }
        #expect(server.requests.isEmpty)
    }

    @Test func combinesWithRetryPolicy() async throws {
        var policy = RetryPolicy()
        policy.baseDelay = .zero
        manager.interceptors = [authenticator(), policy]
        server.route("/x", times: 1, .status(503))
        server.route("/x", times: 1, .status(401))
        server.route("/x", times: 1, .status(503))
        #expect(try await manager.response(.get, "x").status == 200)
        #expect(server.requests.map { $0["Authorization"] } == ["old", "old", "new", "new"].map { "Bearer \($0)" })
    }
}
