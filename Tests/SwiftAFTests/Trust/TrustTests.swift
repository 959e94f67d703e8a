import AFTestServer
import FoundationEssentials
import SwiftAF
import Testing

/// Reports when its last reference is gone.
private final class Token: Sendable {
    private let end: @Sendable () -> Void

    init(_ end: @escaping @Sendable () -> Void) {
        self.end = end
    }

    deinit { end() }

    func passing<Value>(_ value: Value) -> Value { value }
}

/// Policies in sessions: what they refuse has seen nothing, and another policy means another session.
@Suite(.timeLimit(.minutes(10)))
struct TrustTests {
    private let authority: TestCertificate
    private let server: TestServer

    init() throws {
        authority = try .makeAuthority()
        server = try TestServer(tls: .init(authority.issue()))
        server.route("/", .text("ok"))
    }

    private func configuration(
        _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) -> SessionConfiguration {
        var configuration = SessionConfiguration()
        configuration.securityPolicy.anchors = .pem(Data(authority.pem.utf8))
        change(&configuration)
        return configuration
    }

    private func status(_ manager: HTTPSessionManager) async throws -> Int {
        try await manager.response(for: HTTPRequest(server.urlString("/"))).status
    }

    private func error(_ manager: HTTPSessionManager) async throws -> SessionError {
        do {
            _ = try await status(manager)
        } catch let error as SessionError {
            return error
        }
        Issue.record("nothing was refused")
        return SessionError(.unknown)
    }

    @Test func pinFailureReportsChainBeforeSendingBytes() async throws {
        let manager = HTTPSessionManager(
            configuration: configuration {
                $0.securityPolicy.pinning = .init(mode: .publicKey)
            })
        let error = try await error(manager)
        #expect(error.code == .untrusted)
        #expect(error.reason == .pin)
        #expect(error.trust?.pinning == .missed)
        #expect(error.trust?.chain.count == 2)
        #expect(await server.wait(for: .open(atMost: 0)))
        #expect(server.statistics.requests == 0)
        #expect(server.connections.allSatisfy { $0.received.isEmpty })
    }

    @Test func reportsTrustOnlyWhenRequested() async throws {
        let manager = HTTPSessionManager(configuration: configuration())
        var request = HTTPRequest(server.urlString("/"))
        #expect(try await manager.response(for: request).trust == nil)
        request.reportsTrust = true
        // The second time on the same connection.
        for _ in 0..<2 {
            let trust = try #require(try await manager.response(for: request).trust)
            #expect(trust.isAccepted && trust.isVerified && trust.reason == nil)
            #expect(trust.chain.count == 2)
        }
        #expect(server.statistics.accepted == 1)
        let plain = try TestServer()
        request.url = plain.urlString("/")
        #expect(try await manager.response(for: request).trust == nil)
    }

    @Test(arguments: [true, false])
    func reportsTrustForStreamsDownloadsUploadsAndTasks(isAsked: Bool) async throws {
        let manager = HTTPSessionManager(configuration: configuration())
        let folder = try TestFolder()
        var request = HTTPRequest(.put, server.urlString("/"), body: .text("a body"))
        request.reportsTrust = isAsked
        var reports: [TrustReport?] = []

        let stream = try await manager.stream(request)
        // With the head, before the body.
        reports.append(stream.trust)
        for try await _ in stream.bytes {}
        reports.append(try await manager.response(for: request).trust)
        let ends = Recorder<Void>()
        try folder.write("a body", to: "body")
        request.body = .file(folder.file("body"))
        let upload = manager.dataTask(for: request, with: DataResponseSerializer()) { _, _, _ in ends.record(()) }
        #expect(upload.kind == .upload)
        #expect(upload.trust == nil)
        upload.resume()
        request.method = .get
        request.body = .none
        reports.append(try await manager.download(request, to: folder.file("a")).trust)
        reports.append(try await manager.download(request, to: .named { _ in folder.file("b") }).trust)
        let download = manager.downloadTask(for: request, to: folder.file("c")) { _, _, _ in ends.record(()) }
        download.resume()
        await ends.wait(for: 2)
        reports += [upload.trust, download.trust]

        #expect(reports.count == 6)
        for report in reports {
            guard isAsked else {
                #expect(report == nil)
                continue
            }
            let trust = try #require(report)
            #expect(trust.isAccepted && trust.isVerified && trust.chain.count == 2)
        }
    }

    @Test func reportsTrustOfTaskFailingAfterHandshake() async throws {
        server.route("/cut", .truncated(body: Data("do".utf8), promising: 4))
        let manager = HTTPSessionManager(configuration: configuration())
        var request = HTTPRequest(server.urlString("/cut"))
        request.reportsTrust = true
        let ends = Recorder<Void>()
        let task = manager.dataTask(for: request, with: DataResponseSerializer()) { _, _, _ in ends.record(()) }
        task.resume()
        await ends.wait()
        #expect(task.error?.code == .truncated)
        #expect(task.error?.trust == nil && task.trust?.isVerified == true)
    }

    @Test func newPolicyKeepsRunningTransfersAndDropsConnections() async throws {
        server.route("/slow", .stall(at: "gate").then(.text("late")))
        let manager = HTTPSessionManager(configuration: configuration())
        let slow = Task { try await manager.response(for: HTTPRequest(server.urlString("/slow"))).text() }
        #expect(await server.wait(for: .stalled(at: "gate")))
        #expect(try await status(manager) == 200)
        var strict = manager.securityPolicy
        strict.pinning = .init(mode: .publicKey)
        manager.securityPolicy = strict
        #expect(manager.securityPolicy == strict)
        let requests = server.statistics.requests
        #expect(try await error(manager).reason == .pin)
        #expect(server.statistics.requests == requests)
        server.open("gate")
        #expect(try await slow.value == "late")
        manager.securityPolicy = configuration().securityPolicy
        #expect(try await status(manager) == 200)
    }

    @Test func unreadablePolicyFailsRequestsUntilReplaced() async throws {
        let manager = HTTPSessionManager(configuration: configuration())
        let good = manager.securityPolicy
        manager.securityPolicy.anchors = .pem(Data("nonsense".utf8))
        #expect(try await error(manager).code == .invalidInput)
        manager.securityPolicy = good
        #expect(try await status(manager) == 200)
        manager.invalidate(cancellingTasks: false)
        manager.securityPolicy = .default
        #expect(try await error(manager).code == .closed)
    }

    @Test func invalidationReachesSessionsOfFormerPolicies() async throws {
        server.route("/slow", .stall(at: "gate").then(.text("late")))
        let manager = HTTPSessionManager(configuration: configuration())
        let slow = Task { try await manager.response(for: HTTPRequest(server.urlString("/slow"))) }
        #expect(await server.wait(for: .stalled(at: "gate")))
        manager.securityPolicy = .default
        manager.invalidate(cancellingTasks: true)
        await #expect { try await slow.value } throws: { ($0 as? SessionError)?.code == .cancelled }
    }

    @Test func asksHandlerDuringHandshake() async throws {
        let seen = Locked<[TrustReport]>([])
        let server = server
        let manager = HTTPSessionManager(
            configuration: configuration {
                $0.securityPolicy.anchors = .system
                $0.securityPolicy.handler = TrustHandler { report in
                    seen.withLock { $0.append(report) }
                    return server.statistics.requests == 0 ? .accept : .refuse
                }
            })
        #expect(try await status(manager) == 200)
        #expect(seen.withLock { $0.map(\.reason) } == [.unknownIssuer])
    }

    @Test(arguments: [TestServer.TLSVersion.v1_2, .v1_3])
    func presentsClientCertificateToItsHost(version: TestServer.TLSVersion) async throws {
        var tls = TestServer.TLS(try authority.issue())
        tls.minimumVersion = version
        tls.maximumVersion = version
        tls.clientAuthorityPEM = authority.pem
        tls.requiresClientCertificate = true
        let server = try TestServer(tls: tls)
        let client = try authority.issueClient(commonName: "Client")
        let certificate = ClientCertificate(
            Data(client.pem.utf8), key: Data(client.keyPEM.utf8), host: "127.0.0.1")
        #expect(!"\(certificate)".contains("PRIVATE"))
        let manager = HTTPSessionManager(configuration: configuration { $0.tls.clientCertificates = [certificate] })
        #expect(try await manager.response(for: HTTPRequest(server.urlString("/"))).status == 200)
        #expect(server.connections.first?.tls?.clientSubject?.contains("Client") == true)
        let stranger = HTTPSessionManager(configuration: configuration())
        await #expect { try await stranger.response(for: HTTPRequest(server.urlString("/"))) } throws: {
            ($0 as? SessionError)?.code == .tls
        }
    }

    @Test func handlerChoosesClientCertificate() async throws {
        var tls = TestServer.TLS(try authority.issue())
        tls.clientAuthorityPEM = authority.pem
        tls.requiresClientCertificate = true
        let server = try TestServer(tls: tls)
        let client = try authority.issueClient(commonName: "Chosen")
        let chosen = ClientCertificate(Data(client.pem.utf8), key: Data(client.keyPEM.utf8))
        let broken = ClientCertificate(Data("no certificate".utf8))
        let cases: [(ClientCertificateHandler.Decision, SessionError.Code?)] = [
            (.show(chosen), nil), (.show(broken), .invalidInput), (.cancel, .cancelled), (.decline, .tls),
            (.performDefaultHandling, .tls),
        ]
        for (decision, code) in cases {
            let seen = Locked<[ClientCertificateRequest]>([])
            let (released, release) = AsyncStream.makeStream(of: Void.self)
            do {
                let token = Token { release.finish() }
                let handler = ClientCertificateHandler { request in
                    seen.withLock { $0.append(request) }
                    return token.passing(decision)
                }
                let manager = HTTPSessionManager(
                    configuration: configuration { $0.tls.clientCertificateHandler = handler })
                #expect(try await manager.response(for: HTTPRequest(server.urlString("/"))).status == 200)
                #expect(code == nil)
            } catch {
                #expect(error.code == code)
            }
            let asked = ClientCertificateRequest(host: "127.0.0.1", authorities: ["CN=Test Authority"])
            #expect(seen.withLock { $0 } == [asked])
            // The session lets go of it when its thread ends.
            for await _ in released {}
        }
        #expect(server.connections.contains { $0.tls?.clientSubject?.contains("Chosen") == true })
    }

    @Test func enforcesMinimumTLSVersion() async throws {
        var tls = TestServer.TLS(try authority.issue())
        tls.maximumVersion = .v1_2
        let server = try TestServer(tls: tls)
        let manager = HTTPSessionManager(configuration: configuration { $0.tls.minimumVersion = .v1_3 })
        await #expect { try await manager.response(for: HTTPRequest(server.urlString("/"))) } throws: {
            ($0 as? SessionError)?.code == .tls
        }
    }
}
