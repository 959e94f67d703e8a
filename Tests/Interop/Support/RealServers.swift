import AFTestServer
import Foundation
import SwiftAF
import Testing

/// The servers that all suites share: started by the first test that asks, ended with the process.
struct RealServers: Sendable {
    let authority: TestCertificate
    let httpbin: Httpbin
    let webSockets: WebSocketEcho
    let nginx: Nginx

    /// The running servers. Throws for every test if they can't be started.
    static var shared: RealServers {
        get async throws { try await starting.value }
    }

    private static let starting = Task { try await RealServers() }

    private init() async throws {
        guard RealServers.missing.isEmpty else { throw StartFailure(RealServers.missing) }
        authority = try TestCertificate.makeAuthority()
        httpbin = try Httpbin()
        webSockets = try WebSocketEcho()
        nginx = try Nginx(
            authority: authority,
            files: ["large.bin": Payload.large, "medium.bin": Payload.medium, "small.bin": Payload.small],
            httpbinPort: httpbin.port, webSocketPort: webSockets.port)
        try await answers(nginx.url("/small"), nginx.process)
        try await answers(httpbin.url("/get"), httpbin.process)
    }

    /// Its sockets listen already, so a server that starts slowly is waited for and one that failed is noticed.
    private func answers(_ url: String, _ process: ServerProcess) async throws {
        var request = HTTPRequest(url)
        request.timeouts.total = .seconds(300)
        do {
            _ = try await HTTPSessionManager().response(for: request).validated()
        } catch {
            throw StartFailure("\(error)\n\(process.log)")
        }
    }

    struct StartFailure: Error, CustomStringConvertible {
        let description: String

        init(_ reason: String) {
            description = "the real servers can't be used: \(reason)"
        }
    }
}

extension RealServers {
    /// What is not installed, in words; empty if everything is.
    static let missing: String = {
        var missing: [String] = []
        if Nginx.program == nil { missing.append("nginx") }
        if access(Httpbin.python, X_OK) != 0 { missing.append("httpbin in \(Httpbin.python)") }
        return missing.isEmpty ? "" : "not installed: \(missing.joined(separator: ", ")); run Scripts/setup"
    }()

    /// False if the tests should be skipped. Where they must not be, they run and fail with the reason.
    static var areUsable: Bool {
        missing.isEmpty || ProcessInfo.processInfo.environment["AF_REQUIRE_INTEROP"] == "1"
    }

    /// A configuration that trusts the authority of these servers, and ends what hangs.
    var configuration: SessionConfiguration {
        var configuration = SessionConfiguration()
        configuration.timeouts.total = .seconds(300)
        configuration.securityPolicy.anchors = .pem(Data(authority.pem.utf8))
        return configuration
    }

    /// A session of a test's own.
    func manager(
        _ baseURL: String? = nil, _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) -> HTTPSessionManager {
        var configuration = configuration
        change(&configuration)
        return HTTPSessionManager(baseURL: baseURL, configuration: configuration)
    }
}

/// Every test with real servers is in an extension of this suite, which skips them where the servers are missing.
@Suite(.enabled(if: RealServers.areUsable, "\(RealServers.missing)"))
struct Interop {}
