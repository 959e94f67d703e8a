import AFTestServer
import FoundationEssentials
import SwiftAF
import Testing

/// Challenges as a session meets them. What goes where is tested in C (auth_test.c, proxy_auth_test.c).
@Suite(.timeLimit(.minutes(10))) struct AuthenticationTests {
    private let server: TestServer
    private let manager: HTTPSessionManager
    private static let right = Credential(user: "user", password: "passwd")
    private static let field = "Basic dXNlcjpwYXNzd2Q="

    private struct OwnError: Error, Equatable {
        let number: Int
    }

    init() throws {
        server = try TestServer()
        manager = HTTPSessionManager(baseURL: server.urlString())
        server.route("/*") { request, connection in
            let isRight = request["Authorization"] == Self.field
            let refusal = Script.respond(401, headers: ["WWW-Authenticate": "Basic realm=\"Fake Realm\""])
            try connection.run(isRight ? .text("in") : refusal)
        }
    }

    private func status(_ request: HTTPRequest) async throws -> Int {
        try await manager.response(for: request).status
    }

    // MARK: The handler

    @Test func testAuthenticationChallengeHandlerCredentialResult() async throws {
        let asked = Recorder<AuthenticationChallenge>()
        manager.authenticationChallengeHandler = { challenge in
            asked.record(challenge)
            let isRight = challenge.protectionSpace.realm == "Fake Realm"
            return isRight ? .useCredential(Self.right) : .performDefaultHandling
        }
        #expect(try await status(HTTPRequest("/a")) == 200)
        let challenge = try #require(asked.values.first)
        #expect(asked.values.count == 1)
        #expect(
            challenge.protectionSpace
                == ProtectionSpace(
                    scheme: "http", host: "127.0.0.1", port: server.port, realm: "Fake Realm",
                    authenticationScheme: .basic))
        #expect(challenge.offeredSchemes == .basic)
        #expect(challenge.previousFailureCount == 0)
        #expect(challenge.proposedCredential == nil)
        #expect(challenge.response.status == 401)
        #expect(challenge.response.url == server.urlString("/a"))
    }

    @Test func defaultHandlingLeavesTheAnswer() async throws {
        manager.authenticationChallengeHandler = { _ in .performDefaultHandling }
        #expect(try await status(HTTPRequest("/a")) == 401)
    }

    @Test func cancelDecisionFailsAsCancelled() async {
        manager.authenticationChallengeHandler = { _ in .cancel }
        await #expect { try await status(HTTPRequest("/a")) } throws: { SessionError.Code.cancelled ~= $0 }
    }

    @Test func anErrorOfOnesOwnIsTheErrorOfTheTask() async {
        manager.authenticationChallengeHandler = { _ in .fail(OwnError(number: 1)) }
        await #expect { try await status(HTTPRequest("/a")) } throws: { error in
            let error = error as? SessionError
            return error?.code == .authentication && error?.underlying as? OwnError == OwnError(number: 1)
        }
        manager.authenticationChallengeHandler = { _ in throw SessionError(.unsupported) }
        await #expect { try await status(HTTPRequest("/a")) } throws: { SessionError.Code.unsupported ~= $0 }
    }

    @Test func whatIsNoCredentialIsAnErrorOfTheInput() async {
        manager.authenticationChallengeHandler = { _ in .useCredential(Credential(user: "a\nb", password: "")) }
        await #expect { try await status(HTTPRequest("/a")) } throws: { SessionError.Code.invalidInput ~= $0 }
    }

    @Test func wrongOnesAreCounted() async throws {
        let counts = Recorder<Int>()
        manager.authenticationChallengeHandler = { challenge in
            counts.record(challenge.previousFailureCount)
            let isThird = challenge.previousFailureCount == 2
            return .useCredential(isThird ? Self.right : Credential(user: "user", password: "wrong"))
        }
        #expect(try await status(HTTPRequest("/a")) == 200)
        #expect(counts.values == [0, 1, 2])
    }

    @Test func tasksAndStreamsAskToo() async throws {
        manager.authenticationChallengeHandler = { _ in .useCredential(Self.right) }
        let stream = try await manager.stream(HTTPRequest(server.urlString("/a")))
        #expect(stream.status == 200)
        var body = Data()
        for try await chunk in stream.bytes { body += chunk }
        #expect(body == Data("in".utf8))
        manager.completionQueue = .global()
        let answers = Recorder<Data?>()
        manager.dataTask(for: HTTPRequest("/a"), with: DataResponseSerializer()) { _, value, _ in answers.record(value)
        }.resume()
        #expect(await answers.wait() == [Data("in".utf8)])
    }

    @Test func cancellingTheTaskCancelsTheHandler() async {
        let asked = AsyncStream<Void>.makeStream()
        let over = AsyncStream<Void>.makeStream()
        let never = AsyncStream<Void>.makeStream()
        manager.authenticationChallengeHandler = { _ in
            asked.continuation.yield()
            // Ends only by being cancelled.
            for await _ in never.stream {}
            over.continuation.yield()
            return .useCredential(Self.right)
        }
        let task = Task { try await status(HTTPRequest("/a")) }
        for await _ in asked.stream { break }
        task.cancel()
        await #expect { _ = try await task.value } throws: { SessionError.Code.cancelled ~= $0 }
        for await _ in over.stream { break }
        never.continuation.finish()
    }

    // MARK: Credentials

    @Test func requestsAndSessionsHaveCredentials() async throws {
        var request = HTTPRequest("/a")
        request.credential = Self.right
        #expect(try await status(request) == 200)
        #expect(server.requests.map { $0["Authorization"] } == [nil, Self.field])
        request.credential?.isPreemptive = true
        #expect(try await status(request) == 200)
        #expect(server.requests.last?["Authorization"] == Self.field)
        #expect(server.requests.count == 3)

        var configuration = SessionConfiguration()
        configuration.credential = Self.right
        configuration.credential?.isPreemptive = true
        let own = HTTPSessionManager(baseURL: server.urlString(), configuration: configuration)
        #expect(try await own.response(for: HTTPRequest("/b")).status == 200)
        #expect(server.requests.count == 4)
        let stranger = HTTPSessionManager(baseURL: "http://other.test", configuration: configuration)
        #expect(try await stranger.response(for: HTTPRequest(server.urlString("/b"))).status == 401)
        #expect(server.requests.last?["Authorization"] == nil)
    }

    @Test func theHandlerSeesWhatWouldBeUsed() async throws {
        manager.authenticationChallengeHandler = { challenge in
            #expect(challenge.proposedCredential?.user == "user")
            return .performDefaultHandling
        }
        var request = HTTPRequest("/a")
        request.credential = Self.right
        #expect(try await status(request) == 200)
    }

    @Test func aStorageRemembersForTheSession() async throws {
        let asked = Recorder<Int>()
        manager.authenticationChallengeHandler = { challenge in
            asked.record(challenge.previousFailureCount)
            if challenge.proposedCredential != nil { return .performDefaultHandling }
            return .useCredential(Credential(user: "user", password: "passwd", persistence: .forSession))
        }
        #expect(try await status(HTTPRequest("/a")) == 200)
        manager.authenticationChallengeHandler = nil
        #expect(try await status(HTTPRequest("/b")) == 200)
        #expect(asked.values == [0])
        let storage = try #require(manager.credentialStorage as? MemoryCredentialStorage)
        let space = try #require(storage.spaces.first)
        #expect(storage.credential(for: space)?.user == "user")
        storage.removeCredential(for: space)
        #expect(try await status(HTTPRequest("/b")) == 401)
    }

    @Test func aRefusedCredentialIsNotKept() async throws {
        manager.authenticationChallengeHandler = { challenge in
            if challenge.previousFailureCount > 1 { return .performDefaultHandling }
            return .useCredential(
                Credential(user: "user", password: "typo \(challenge.previousFailureCount)", persistence: .forSession))
        }
        #expect(try await status(HTTPRequest("/a")) == 401)
        let storage = try #require(manager.credentialStorage as? MemoryCredentialStorage)
        #expect(storage.spaces.isEmpty)
    }

    @Test func ownCredentialForTheSessionIsKept() async throws {
        var request = HTTPRequest("/a")
        request.credential = Credential(user: "user", password: "passwd", persistence: .forSession)
        #expect(try await status(request) == 200)
        #expect(try await status(HTTPRequest("/b")) == 200)
        request.credential = Credential(user: "user", password: "typo", persistence: .forSession)
        #expect(try await status(request) == 401)
        #expect(try await status(HTTPRequest("/b")) == 401)
    }

    @Test func proposedCredentialForTheSessionIsKept() async throws {
        manager.authenticationChallengeHandler = { challenge in
            challenge.proposedCredential.map { .useCredential($0) } ?? .performDefaultHandling
        }
        var request = HTTPRequest("/a")
        request.credential = Credential(user: "user", password: "passwd", persistence: .forSession)
        #expect(try await status(request) == 200)
        #expect(try await status(HTTPRequest("/b")) == 200)
    }

    @Test(arguments: [true, false])
    func removesRefusedCredentialStoredForSession(isForSession: Bool) async throws {
        let storage = try #require(manager.credentialStorage as? MemoryCredentialStorage)
        let space = ProtectionSpace(
            scheme: "http", host: "127.0.0.1", port: server.port, realm: "Fake Realm", authenticationScheme: .basic)
        let credential = Credential(
            user: "user", password: "old", persistence: isForSession ? .forSession : .none)
        storage.store(credential, for: space)
        #expect(try await status(HTTPRequest("/a")) == 401)
        #expect(storage.credential(for: space) == (isForSession ? nil : credential))
    }

    @Test func aServerCannotFillTheStorage() async throws {
        let storage = MemoryCredentialStorage()
        let spaces = (0..<3000).map { realm in
            ProtectionSpace(
                scheme: "http", host: "h", port: 80, realm: "\(realm)", authenticationScheme: .basic)
        }
        for space in spaces { storage.store(Self.right, for: space) }
        #expect(storage.spaces.count == 1000)
        #expect(storage.credential(for: spaces[1999]) == nil)
        #expect(storage.credential(for: spaces[2000]) == Self.right)
        storage.removeCredential(for: spaces[2000])
        storage.store(Self.right, for: spaces[0])
        #expect(storage.spaces.count == 1000)
        #expect(storage.credential(for: spaces[2001]) == Self.right)
    }

    @Test func secretsAreInNoText() {
        let proxies = ProxyConfiguration(
            http: "http://ada:s3cret@h:1", https: "ada:s3cret@h", all: "socks5://ada:s3cret@h")
        var configuration = SessionConfiguration()
        configuration.proxies = proxies
        configuration.credential = Credential(user: "ada", password: "s3cret")
        var request = HTTPRequest("https://ada:s3cret@h/p?key=s3cret", headers: ["Authorization": "s3cret"])
        request.proxy = .url("http://ada:s3cret@h:1")
        request.credential = Credential(bearerToken: "s3cret")
        let values: [Any] = [
            Credential(user: "me", password: "s3cret"), Credential(bearerToken: "s3cret"), proxies, configuration,
            request, HTTPRequest.Proxy.url("ada:s3cret@h"), HTTPRequest.Proxy.url("http://\u{301}:s3cret@h"),
            HTTPHeaders.Authorization(rawValue: "s3cret"), HTTPHeaders.Authorization.bearer("s3cret"),
            Cookie(name: "sid", value: "s3cret", domain: "h"),
        ]
        for value in values {
            var dumped = ""
            dump(value, to: &dumped)
            for text in ["\(value)", String(reflecting: value), dumped] {
                #expect(!text.contains("s3cret"), "\(type(of: value))")
            }
        }
        #expect(HTTPHeaders.Authorization.bearer("s3cret").description == "Bearer <hidden>")
        #expect(proxies.description.contains("h:1"))
    }

    /// A proxy isn't a URL: the core takes all up to the last `@` for user and password.
    @Test(arguments: [
        ("ada:s3cret@h:1", "h:1"), ("http://ada:s3cret@h", "http://h"), ("SOCKS5://ada:s3cret@h", "SOCKS5://h"),
        ("http://ada:a/s3cret@h:1", "http://h:1"), ("http://ada:a?s3cret@h:1", "http://h:1"),
        ("https://ada:a#s3cret@h:1", "https://h:1"), ("ada:a@s3cret@h", "h"), ("ada:s3cret://@h", "h"),
        ("http:/ada:s3cret@h", "h"), ("ada:s3cret@h h", "h h"), ("http://h:1", "http://h:1"), ("h:1", "h:1"),
    ])
    func proxyIsShownWithoutItsPassword(proxy: String, shown: String) {
        #expect(HTTPRequest.Proxy.url(proxy).description == shown)
        #expect(ProxyConfiguration.url(proxy).description == "given, all: \(shown)")
    }

    @Test(arguments: ["a\rb", "\0", "a\u{7F}"])
    func whatCannotBeSentIsRefused(text: String) async {
        var request = HTTPRequest("/a")
        request.credential = Credential(user: text, password: "s3cret")
        await #expect { _ = try await status(request) } throws: { error in
            SessionError.Code.invalidInput ~= error && !"\(error)".contains("s3cret")
        }
        #expect(server.requests.isEmpty)
    }
}
