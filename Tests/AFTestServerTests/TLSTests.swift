import AFTestServer
import Foundation
import Testing

/// OpenSSL's command line client, as a peer that shares no code with the server.
private enum OpenSSL {
    static let path = "/usr/bin/openssl"
    static let isInstalled = FileManager.default.isExecutableFile(atPath: path)

    /// Connects, asks for "/", and returns what was said about the handshake and the answer.
    static func get(_ server: TestServer, _ arguments: String...) throws -> String {
        let process = Process()
        process.executableURL = URL(filePath: path)
        process.arguments = ["s_client", "-connect", "127.0.0.1:\(server.port)", "-ign_eof"] + arguments
        let input = Pipe()
        let output = Pipe()
        process.standardInput = input
        process.standardOutput = output
        process.standardError = output
        // Before the process runs: one that has ended already, after a failed handshake, would raise SIGPIPE here.
        try input.fileHandleForWriting.write(
            contentsOf: Data("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".utf8))
        try process.run()
        let text = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return String(decoding: text, as: UTF8.self)
    }
}

/// A folder for the files that the command line client wants, gone with the test.
private final class Folder {
    private let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "AFTestServerTests-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
    }

    func path(_ name: String) -> String {
        url.appending(path: name).path(percentEncoded: false)
    }

    func file(_ name: String, _ text: String) throws -> String {
        try text.write(toFile: path(name), atomically: true, encoding: .utf8)
        return path(name)
    }
}

@Suite(.enabled(if: OpenSSL.isInstalled)) struct TLSTests {
    private let authority: TestCertificate
    private let folder: Folder
    private let trust: String

    init() throws {
        authority = try TestCertificate.makeAuthority()
        folder = try Folder()
        trust = try folder.file("authority.pem", authority.pem)
    }

    /// OpenSSL has only 127 types for what moves a connection's bytes.
    @Test func makes140ServersWithTLSInOneProcess() throws {
        let certificate = try authority.issue()
        for _ in 0..<140 { #expect(try TestServer(tls: TestServer.TLS(certificate)).port > 0) }
    }

    @Test func recordsVersionNameAndProtocolOfAHandshake() throws {
        var tls = TestServer.TLS(try authority.issueAuthority().issue())
        tls.alpn = ["h2", "http/1.1"]
        let server = try TestServer(tls: tls)
        let said = try OpenSSL.get(
            server, "-CAfile", trust, "-verify_return_error", "-verify_hostname", "localhost", "-servername",
            "localhost", "-alpn", "http/1.1")
        #expect(said.contains("HTTP/1.1 200 OK\r\n") && said.contains("Verification: OK"))
        let handshake = try #require(server.connections[0].tls)
        #expect(handshake.version == "TLSv1.3" && handshake.alpn == "http/1.1")
        #expect(handshake.serverName == "localhost" && !handshake.isResumed)
        #expect(server.connections[0].received == Data("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".utf8))
    }

    @Test func failsHandshakesOfVersionsThatAreNotAllowed() throws {
        var tls = TestServer.TLS(try authority.issue())
        tls.maximumVersion = .v1_2
        tls.ciphers = "ECDHE-ECDSA-AES128-GCM-SHA256"
        let server = try TestServer(tls: tls)
        _ = try OpenSSL.get(server, "-tls1_3")
        #expect(server.waitBlocking(for: .failedHandshakes(1)))
        #expect(server.waitBlocking(for: .closes(1)))
        #expect(server.connections[0].ending == .handshakeFailed && server.connections[0].tlsError != nil)
        _ = try OpenSSL.get(server)
        #expect(server.connections[1].tls?.version == "TLSv1.2")
        #expect(server.connections[1].tls?.cipher == "ECDHE-ECDSA-AES128-GCM-SHA256")
    }

    @Test(arguments: [
        (TestCertificate.Validity.expired, "certificate has expired"),
        (.notYetValid, "certificate is not yet valid"),
    ])
    func issuesCertificatesThatClientsRefuseOutsideOfTheirValidity(
        validity: TestCertificate.Validity, complaint: String
    ) throws {
        let server = try TestServer(tls: .init(authority.issue(validity: validity)))
        #expect(try OpenSSL.get(server, "-CAfile", trust, "-verify_return_error").contains(complaint))
        #expect(server.waitBlocking(for: .failedHandshakes(1)))
    }

    @Test func issuesCertificatesThatClientsAcceptForTheirHostsOnly() throws {
        let server = try TestServer(tls: .init(authority.issue(hosts: ["*.example.test", "192.0.2.1"])))
        func said(_ kind: String, _ host: String) throws -> String {
            try OpenSSL.get(server, "-CAfile", trust, "-verify_return_error", kind, host)
        }
        #expect(try said("-verify_hostname", "a.example.test").contains("200 OK"))
        #expect(try said("-verify_ip", "192.0.2.1").contains("200 OK"))
        #expect(try said("-verify_hostname", "example.test").contains("hostname mismatch"))
        #expect(try said("-verify_ip", "192.0.2.2").contains("IP address mismatch"))
    }

    @Test func makesASelfSignedCertificateThatClientsRefuse() throws {
        let certificate = try TestCertificate.makeSelfSigned(key: .rsa2048)
        let server = try TestServer(tls: .init(certificate))
        #expect(try OpenSSL.get(server, "-CAfile", trust, "-verify_return_error").contains("self-signed certificate"))
        #expect(certificate.publicKeySHA256.count == 32 && certificate.der.first == 0x30)
    }

    @Test(arguments: [(true, "-tls1_3"), (false, "-tls1_3"), (true, "-tls1_2"), (false, "-tls1_2")])
    func resumesSessionsIfTheOptionIsSet(resumes: Bool, version: String) throws {
        var tls = TestServer.TLS(try authority.issue())
        tls.resumesSessions = resumes
        let server = try TestServer(tls: tls)
        let session = folder.path("session.pem")
        _ = try OpenSSL.get(server, version, "-sess_out", session)
        guard FileManager.default.fileExists(atPath: session) else {
            #expect(!resumes)
            return
        }
        _ = try OpenSSL.get(server, version, "-sess_in", session)
        #expect(server.connections.map { $0.tls?.isResumed } == [false, resumes])
        #expect(server.statistics.resumedHandshakes == (resumes ? 1 : 0))
    }

    @Test func failsTheHandshakeOfAClientWithoutTheRequiredCertificate() throws {
        var tls = TestServer.TLS(try authority.issue())
        tls.clientAuthorityPEM = authority.pem
        tls.requiresClientCertificate = true
        let server = try TestServer(tls: tls)
        let client = try authority.issueClient(commonName: "Ada")
        let certificate = try folder.file("client.pem", client.pem)
        let key = try folder.file("client.key", client.keyPEM)
        #expect(try OpenSSL.get(server, "-cert", certificate, "-key", key).contains("200 OK"))
        #expect(server.connections[0].tls?.clientSubject == "/CN=Ada")
        _ = try OpenSSL.get(server)
        #expect(server.waitBlocking(for: .failedHandshakes(1)))
    }

    @Test func staplesTheGivenOCSPResponse() throws {
        let certificate = try authority.issue()
        var tls = TestServer.TLS(certificate)
        tls.ocspResponse = try authority.ocspResponse(for: certificate, status: .revoked)
        let server = try TestServer(tls: tls)
        #expect(try OpenSSL.get(server, "-status").contains("Cert Status: revoked"))
    }

    @Test func sendsNoCloseNotifyWhenItClosesAbruptly() throws {
        let server = try TestServer(tls: .init(authority.issue()))
        server.route("/", [.send("HTTP/1.1 200 OK\r\n\r\npartial"), .closeAbruptly])
        #expect(try OpenSSL.get(server).contains("unexpected eof while reading"))
        server.route("/", [.send("HTTP/1.1 200 OK\r\n\r\nwhole"), .close])
        #expect(try OpenSSL.get(server).contains("unexpected eof while reading") == false)
    }

    @Test func runsTheScriptOfAnAcceptedConnectionBeforeItsHandshake() throws {
        let server = try TestServer(tls: .init(authority.issue()))
        server.onAccept(0, [.send("not TLS\r\n"), .close])
        _ = try OpenSSL.get(server)
        _ = try OpenSSL.get(server)
        #expect(server.connections.map { $0.tls != nil } == [false, true])
    }

    @Test func refusesKeysThatDoNotFitAndClientCertificatesWithoutAnAuthority() throws {
        let other = try authority.issue()
        #expect(throws: TestServerError.self) { try TestServer(tls: .init(chainPEM: other.pem, keyPEM: "no key")) }
        #expect(throws: TestServerError.self) {
            try TestServer(tls: .init(chainPEM: other.pem, keyPEM: authority.keyPEM))
        }
        var tls = TestServer.TLS(other)
        tls.requiresClientCertificate = true
        let error = #expect(throws: TestServerError.self) { try TestServer(tls: tls) }
        #expect(error?.message == "a client certificate is required, but no authority to verify it is set")
    }
}
