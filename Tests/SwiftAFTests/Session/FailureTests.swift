import AFTestServer
import FoundationEssentials
import Testing

@testable import SwiftAF

@Suite(.timeLimit(.minutes(10)))
struct FailureTests {
    private let server: TestServer
    private let manager: HTTPSessionManager

    init() throws {
        server = try TestServer()
        manager = HTTPSessionManager(baseURL: server.urlString("/"))
    }

    /// The error of a request; a request without an error is recorded as a failure of the test.
    private func error(
        of request: HTTPRequest, by manager: HTTPSessionManager? = nil
    ) async -> SessionError {
        do throws(SessionError) {
            let response = try await (manager ?? self.manager).response(for: request)
            Issue.record("no error but \(response.head)")
            return SessionError(.unknown)
        } catch {
            return error
        }
    }

    @Test(
        arguments: [
            HTTPRequest("http://"), HTTPRequest("ftp://host/"), HTTPRequest("a\r\nb"), HTTPRequest("/nul\0"),
            HTTPRequest("BAD METHOD", "x"), HTTPRequest("x", headers: ["A B": "c"]),
            HTTPRequest("x", headers: ["A": "b\r\nInjected: 1"]), HTTPRequest("x", headers: ["Content-Length": "1"]),
            HTTPRequest(.post, "x", body: .file("")), HTTPRequest("http://host:65536/"), HTTPRequest("http://[::1/"),
        ])
    func refusesInvalidRequestsBeforeConnecting(request: HTTPRequest) async {
        #expect(await error(of: request).code == .invalidInput)
        #expect(server.connections.isEmpty)
    }

    @Test func invalidSessionSettingFailsEveryRequest() async {
        let changes: [(String, @Sendable (inout SessionConfiguration) -> Void)] = [
            ("the total timeout is -1.0 s", { $0.timeouts.total = .seconds(-1) }),
            ("the rate limit of sending is -1", { $0.rateLimit.sendBytesPerSecond = -1 }),
            ("the redirect limit is -1", { $0.redirectPolicy.maximumCount = -1 }),
            ("the body limit is -1", { $0.limits.maximumBodySize = -1 }),
            ("the number of idle connections is -1", { $0.maximumIdleConnections = -1 }),
            ("the lifetime of idle connections is -1.0 s", { $0.idleConnectionLifetime = .seconds(-1) }),
            ("the age of connections is -1.0 s", { $0.maximumConnectionAge = .seconds(-1) }),
        ]
        for (fault, change) in changes {
            var configuration = SessionConfiguration()
            change(&configuration)
            let manager = HTTPSessionManager(baseURL: server.urlString("/"), configuration: configuration)
            let error = await error(of: HTTPRequest("x"), by: manager)
            #expect(error.code == .invalidInput && error.message == "\(fault): expected 0 or more")
        }
        #expect(server.connections.isEmpty)
    }

    @Test(arguments: [0, -1])
    func refusesConnectionNumbersBelowOne(value: Int) async {
        let numbers: [(String, WritableKeyPath<SessionConfiguration, Int?>)] = [
            ("connections per host", \.maximumConnectionsPerHost), ("connections", \.maximumConnections),
            ("requests per connection", \.maximumRequestsPerConnection),
        ]
        for (name, path) in numbers {
            var configuration = SessionConfiguration()
            configuration[keyPath: path] = value
            let manager = HTTPSessionManager(baseURL: server.urlString("/"), configuration: configuration)
            let error = await error(of: HTTPRequest("x"), by: manager)
            #expect(error.code == .invalidInput)
            #expect(error.message == "the number of \(name) is \(value): expected 1 or more, or nil for no limit")
        }
        #expect(server.connections.isEmpty)
    }

    @Test func refusesEmptyProxyURL() async {
        var configuration = SessionConfiguration()
        configuration.proxies = .url("")
        let manager = HTTPSessionManager(baseURL: server.urlString("/"), configuration: configuration)
        #expect(await error(of: HTTPRequest("x"), by: manager).message.contains("the URL of a proxy is empty"))
        #expect(server.connections.isEmpty)
    }

    @Test func transferStartedDuringInvalidationIsCancelled() async throws {
        server.route("/x", .stall(at: "never"))
        let request = try manager.prepare(HTTPRequest("x"), manager.snapshot)
        let socket = try manager.prepare(HTTPRequest("x"), manager.snapshot)
        manager.invalidate(cancellingTasks: true)
        #expect(await CoreTask(request).outcome().failure?.code == .cancelled)
        let opening = CoreWebSocket(socket, [], .init())
        let error = await #expect(throws: SessionError.self) { _ = try await opening.open(in: nil) }
        #expect(error?.code == .cancelled)
    }

    @Test func refusesRelativeURLWithoutBaseURL() async {
        #expect(await error(of: HTTPRequest("x"), by: HTTPSessionManager()).code == .invalidInput)
    }

    @Test(
        arguments: [
            (Script.reset, SessionError.Code.connectionLost),
            (.close, .connectionLost),
            (.truncated(body: Data("half".utf8), promising: 8), .truncated),
            (.send("HTP/1.1 200 OK\r\n\r\n").then(.close), .protocol),
            (.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab").then(.close), .protocol),
            (.respond(200, headers: ["X": String(repeating: "x", count: 300_000)]), .tooLarge),
            (.redirect(to: "ftp://host/"), .redirect),
        ])
    func serverFaultsMapToErrorCodes(script: Script, code: SessionError.Code) async {
        server.route("/x", script)
        let error = await error(of: HTTPRequest("x"))
        #expect(error.code == code)
        #expect(error.url == server.urlString("/x"))
    }

    @Test(
        arguments: [
            (Script.truncated(404, body: Data("half".utf8), promising: 8), 404),
            (.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n").then(.close), 200),
            (
                .send("HTTP/1.1 200 OK\r\nContent-Length: 99\r\nContent-Encoding: deflate\r\n\r\n")
                    .then(.send(Data([0x78, 1, 0, 4, 0, 0xFB, 0xFF]) + Data("half".utf8))).then(.close), 200
            ),
        ])
    func truncatedBodyIsKeptInError(script: Script, status: Int) async {
        server.route("/x", script)
        let error = await error(of: HTTPRequest("x"))
        #expect(error.code == .truncated)
        #expect(error.status == status)
        #expect(error.body == Data("half".utf8))
    }

    @Test func failsForUnknownHostAndClosedPort() async throws {
        #expect(await error(of: HTTPRequest("http://does-not-exist.invalid/")).code == .dns)
        let gone = try TestServer()
        let url = gone.url("/x")
        gone.stop()
        let error = await error(of: HTTPRequest(url))
        #expect(error.code == .connect)
        #expect(error.curlCode != nil)
        // It keeps its port from the servers of other tests.
        withExtendedLifetime(gone) {}
    }

    @Test func timeoutErrorsNameTheirLimit() async throws {
        server.route("/stall", [.stall(at: "never"), .text("late")])
        var idle = HTTPRequest("stall")
        idle.timeouts.idle = .milliseconds(50)
        var total = HTTPRequest("stall")
        total.timeouts.total = .milliseconds(50)
        let idleError = await error(of: idle)
        #expect(idleError.code == .timeout)
        #expect(idleError.reason == .idle)
        #expect(await error(of: total).reason == .total)

        var options = TestServer.Options()
        options.isUnreachable = true
        let unreachable = try TestServer(options: options)
        var connect = HTTPRequest(unreachable.url("/x"))
        connect.timeouts.connect = .milliseconds(50)
        #expect(await error(of: connect).reason == .connect)
        server.open("never")
    }

    @Test func enforcesLimitsOfSessionAndRequest() async throws {
        server.route("/big", .respond(repeating: Data(count: 1000), count: 100))
        var configuration = SessionConfiguration()
        configuration.limits.maximumBodySize = 99_999
        let strict = HTTPSessionManager(baseURL: server.urlString("/"), configuration: configuration)
        #expect(await error(of: HTTPRequest("big"), by: strict).code == .tooLarge)
        var generous = HTTPRequest("big")
        generous.limits.maximumBodySize = 100_000
        #expect(try await strict.response(for: generous).validated().body.count == 100_000)
        var small = HTTPRequest("big")
        small.limits.maximumHeaderCount = 1
        server.route("/fields", .respond(200, headers: ["A": "1", "B": "2", "C": "3"]))
        small.url = "fields"
        #expect(await error(of: small).code == .tooLarge)
    }

    @Test func invalidConfigurationFailsEveryRequest() async {
        var configuration = SessionConfiguration()
        configuration.securityPolicy.anchors = .pem(Data("no certificate".utf8))
        let broken = HTTPSessionManager(configuration: configuration)
        #expect(await error(of: HTTPRequest(server.url("/")), by: broken).code == .invalidInput)
        configuration.securityPolicy.anchors = .file("/does/not/exist.pem")
        let unreadable = HTTPSessionManager(configuration: configuration)
        #expect(await error(of: HTTPRequest(server.url("/")), by: unreadable).code == .file)
        configuration.securityPolicy = .default
        configuration.userAgent = "a\r\nInjected: 1"
        let injecting = HTTPSessionManager(configuration: configuration)
        #expect(await error(of: HTTPRequest(server.url("/")), by: injecting).code == .invalidInput)
    }

    @Test func untrustedCertificateFailsWithReason() async throws {
        let authority = try TestCertificate.makeAuthority()
        let expired = try TestServer(tls: .init(authority.issue(hosts: ["127.0.0.1"], validity: .expired)))
        let otherHost = try TestServer(tls: .init(authority.issue(hosts: ["other.test"])))
        let good = try TestServer(tls: .init(authority.issue(hosts: ["127.0.0.1"])))
        var configuration = SessionConfiguration()
        configuration.securityPolicy.anchors = .pem(Data(authority.pem.utf8))
        let trusting = HTTPSessionManager(configuration: configuration)
        #expect(try await trusting.response(for: HTTPRequest(good.url("/"))).status == 200)
        #expect(await error(of: HTTPRequest(expired.url("/")), by: trusting).reason == .expired)
        let wrong = await error(of: HTTPRequest(otherHost.url("/")), by: trusting)
        #expect(wrong.code == .untrusted)
        #expect(wrong.reason == .wrongHost)
        let unknown = await error(of: HTTPRequest(good.url("/")))
        #expect(unknown.code == .untrusted)

        configuration.securityPolicy = SecurityPolicy(allowsInvalidCertificates: true)
        let lax = HTTPSessionManager(configuration: configuration)
        #expect(try await lax.response(for: HTTPRequest(expired.url("/"))).status == 200)
        #expect(await error(of: HTTPRequest(otherHost.url("/")), by: lax).reason == .wrongHost)
        configuration.securityPolicy.validatesDomainName = false
        let laxer = HTTPSessionManager(configuration: configuration)
        #expect(try await laxer.response(for: HTTPRequest(otherHost.url("/"))).status == 200)
    }

    @Test func failsForUnreadableAndUnwritableFiles() async {
        let missing = HTTPRequest(.put, "x", body: .file("/does/not/exist"))
        let error = await error(of: missing)
        #expect(error.code == .file)
        #expect(error.systemError == 2)
        await #expect { try await manager.download(HTTPRequest("x"), to: "/does/not/exist") } throws: {
            ($0 as? SessionError)?.code == .file
        }
    }

    @Test func refusesHTTP3WhenUnsupported() async {
        var request = HTTPRequest("x")
        request.httpVersion = .http3
        #expect(await error(of: request).code == .unsupported)
    }
}
