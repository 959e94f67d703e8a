import AFTestServer
import FoundationEssentials
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// `-v` over HTTP/2, TLS, tunnels and Unix-domain sockets, for requests and for `ws`.
@Suite struct TracedRouteTests {
    private let anchors: TemporaryFile
    private let certificate: TestCertificate

    init() throws {
        let authority = try TestCertificate.makeAuthority()
        anchors = try TemporaryFile(authority.pem)
        certificate = try authority.issue(hosts: ["localhost", "127.0.0.1"])
    }

    private func secureServer(alpn: [String] = []) throws -> TestServer {
        var tls = TestServer.TLS(certificate)
        tls.alpn = alpn
        return try TestServer(tls: tls)
    }

    /// The lines of standard error.
    private func lines(_ run: RunResult) -> [String] {
        run.error.split(separator: "\n").map(String.init)
    }

    /// The start lines and the notes about connections, in order, without what differs in each run.
    private func outline(_ run: RunResult) -> [String] {
        lines(run).filter { line in ["* ", "> GET", "> CONNECT", "< HTTP"].contains { line.hasPrefix($0) } }
    }

    /// An input with one line.
    private func oneLine() throws -> Int32 {
        let pipe = try InputPipe()
        pipe.send(Data("hi\n".utf8))
        return pipe.reading
    }

    // MARK: Requests

    @Test func interimAndFinalHeadsOfHTTP2AreShown() async throws {
        let server = try secureServer(alpn: ["h2"])
        server.onConnection(nil, .handler { _, connection in try HTTP2Peer.answer(connection) })
        let run = await swiftaf("-v", "--cacert", anchors.path, "https://localhost:\(server.port)/a?b=c", "X-A:1")
        #expect(run.exit == 0)
        let shown = lines(run)
        #expect(shown.first?.hasPrefix("* connected to 127.0.0.1 port \(server.port), TLSv1.3, TLS_") == true)
        #expect(shown.first?.contains(", ALPN h2, certificate ") == true)
        #expect(shown.dropFirst().first == "> GET /a?b=c HTTP/2")
        #expect(shown.contains { $0.lowercased() == "> x-a: 1" })
        let answer = shown.drop { !$0.hasPrefix("<") }.map { $0.replacing(" ", with: "") }
        #expect(answer == ["<HTTP/2103", "<link:l", "<", "<HTTP/2200", "<x-b:2", "<set-cookie:<hidden>", "<"])
    }

    @Test func interimHeadsOfHTTP1AreShown() async throws {
        let server = try TestServer()
        server.route("/", [.interim(103, headers: ["Link": "l"]), .text("in")])
        let run = await swiftaf("-v", server.urlString())
        #expect(run.text == "in")
        #expect(lines(run).filter { $0.hasPrefix("< HTTP/1.1 ") }.count == 2)
        let interim = lines(run).drop { !$0.hasPrefix("< HTTP/1.1 103") }.dropFirst().prefix(2)
        #expect(Array(interim) == ["< Link: l", "<"])
    }

    @Test func aTunnelAndTheRequestInItAreShown() async throws {
        let server = try secureServer()
        server.route("/", .text("in"))
        let relay = try Relay(tunnelTo: server.port)
        let run = await swiftaf(
            "-v", "--cacert", anchors.path, "--proxy", "http://me:s3cret@127.0.0.1:\(relay.port)",
            "https://host.test/", "--no-host-check")
        #expect(run.exit == 0 && run.text == "in")
        let shown = outline(run)
        try #require(shown.count == 6)
        #expect(shown[0] == "* connected to 127.0.0.1 port \(relay.port) (proxy)")
        #expect(shown[1...2] == ["> CONNECT host.test:443 HTTP/1.1", "< HTTP/1.1 200 Tunnel"])
        #expect(shown[3].hasPrefix("* connected to 127.0.0.1 port \(relay.port) (proxy), TLSv1.3, "))
        #expect(shown[4...5] == ["> GET / HTTP/1.1", "< HTTP/1.1 200 OK"])
        // All that the proxy saw, but for the credentials.
        for line in try #require(relay.heads.first).split(separator: "\r\n") where !line.contains("Authorization") {
            #expect(lines(run).contains("> \(line)"))
        }
        #expect(lines(run).contains("> Proxy-Authorization: <hidden>") && !run.error.contains("s3cret"))
    }

    // MARK: Sockets

    @Test func theHandshakeOfASocketIsShown() async throws {
        let server = try TestServer()
        server.route("/", [.upgrade(headers: ["Set-Cookie": "s3cret=1"]), .echoFrames])
        let run = await swiftaf(
            "ws", "-v", "localhost:\(server.port)/", "Cookie:s3cret", input: try oneLine())
        #expect(run.exit == 0 && run.text == "hi\n")
        #expect(
            outline(run) == [
                "* connected to 127.0.0.1 port \(server.port)", "> GET / HTTP/1.1",
                "< HTTP/1.1 101 Switching Protocols",
            ])
        let request = try #require(server.requests.first)
        let sent = String(decoding: request.head, as: UTF8.self).split(separator: "\r\n").map { "> \($0)" }
        let shown = lines(run).filter { $0.hasPrefix("> ") }
        #expect(shown == sent.map { $0.hasPrefix("> Cookie") ? "> Cookie: <hidden>" : $0 })
        #expect(lines(run).contains("< Set-Cookie: <hidden>"))
    }

    @Test func refusedHandshakesAndAnsweredChallengesAreShown() async throws {
        let server = try TestServer()
        server.route("/", [.upgrade(), .echoFrames])
        server.route("/", times: 1, .status(401, headers: ["WWW-Authenticate": "Basic realm=\"r\""]))
        let url = "ws://localhost:\(server.port)/"
        let run = await swiftaf("ws", "-v", "-u", "me:s3cret", url, input: try oneLine())
        #expect(run.exit == 0 && !run.error.contains("s3cret"))
        #expect(lines(run).filter { $0.hasPrefix("< HTTP/1.1 ") }.count == 2)
        #expect(lines(run).contains("> Authorization: <hidden>"))
        server.route("/no", .status(403))
        let refused = await swiftaf("ws", "-v", url + "no", input: try oneLine())
        #expect(refused.exit == 2 && lines(refused).contains("< HTTP/1.1 403 Forbidden"))
    }

    @Test func socketsOverTLSNeedTheAuthority() async throws {
        let server = try secureServer(alpn: ["h2", "http/1.1"])
        server.route("/", [.upgrade(), .echoFrames])
        let url = "wss://localhost:\(server.port)/"
        let run = await swiftaf("ws", "-v", "--cacert", anchors.path, url, input: try oneLine())
        #expect(run.exit == 0 && run.text == "hi\n")
        #expect(outline(run).first?.contains(", TLSv1.3, TLS_") == true)
        // Over HTTP/2 there is no such handshake.
        #expect(outline(run).first?.contains(", ALPN http/1.1, ") == true)
        let refused = await swiftaf("ws", "-v", url, input: try oneLine())
        #expect(refused.exit == 5 && !refused.error.contains("> GET"))
    }

    @Test(arguments: [false, true])
    func socketsGoThroughATunnel(isSecure: Bool) async throws {
        let server = isSecure ? try secureServer() : try TestServer()
        server.route("/", [.upgrade(), .echoFrames])
        let relay = try Relay(tunnelTo: server.port)
        let run = await swiftaf(
            "ws", "-v", "--cacert", anchors.path, "--proxy", "http://127.0.0.1:\(relay.port)",
            "\(isSecure ? "wss" : "ws")://localhost:\(server.port)/", input: try oneLine())
        #expect(run.exit == 0 && run.text == "hi\n")
        let shown = outline(run).filter { !$0.hasPrefix("*") }
        #expect(
            shown == [
                "> CONNECT localhost:\(server.port) HTTP/1.1", "< HTTP/1.1 200 Tunnel", "> GET / HTTP/1.1",
                "< HTTP/1.1 101 Switching Protocols",
            ])
    }

    @Test func socketsGoThroughAUnixDomainSocket() async throws {
        let server = try TestServer()
        server.route("/", [.upgrade(), .echoFrames])
        let folder = try TemporaryFolder()
        let relay = try Relay(path: folder.path + "/s", to: server.port)
        let run = await swiftaf(
            "ws", "-v", "--unix-socket", folder.path + "/s", "ws://host.test/", input: try oneLine())
        #expect(run.exit == 0 && run.text == "hi\n")
        #expect(lines(run).first == "* connected to a Unix-domain socket")
        #expect(server.requests.first?["Host"] == "host.test")
        withExtendedLifetime(relay) {}
    }
}

/// As much of a server of HTTP/2 as one answer needs (RFC 9113, RFC 7541).
private enum HTTP2Peer {
    /// Answers the first request with 103 and 200.
    static func answer(_ connection: TestServer.Connection) throws {
        var received: [UInt8] = []
        while !hasRequest(received) {
            let bytes = try connection.read(upTo: 64 << 10)
            guard !bytes.isEmpty else { return }
            received += bytes
        }
        // SETTINGS, and the acknowledgement of the client's.
        var answer = frame(4, 0, stream: 0, []) + frame(4, 1, stream: 0, [])
        // 8 is the name :status in the static table, 0x88 the whole field with 200.
        answer += frame(1, 4, stream: 1, [8] + text("103") + field("link", "l"))
        answer += frame(1, 5, stream: 1, [0x88] + field("x-b", "2") + field("set-cookie", "s3cret"))
        try connection.send(Data(answer))
        while try !connection.read(upTo: 64 << 10).isEmpty {}
    }

    /// Whether a frame HEADERS is complete.
    private static func hasRequest(_ received: [UInt8]) -> Bool {
        var rest = received.dropFirst(24)
        while rest.count >= 9 {
            let head = Array(rest.prefix(9))
            let size = 9 + (Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2]))
            guard rest.count >= size else { return false }
            if head[3] == 1 { return true }
            rest = rest.dropFirst(size)
        }
        return false
    }

    private static func frame(_ kind: UInt8, _ flags: UInt8, stream: UInt8, _ payload: [UInt8]) -> [UInt8] {
        [0, 0, UInt8(payload.count), kind, flags, 0, 0, 0, stream] + payload
    }

    /// A literal field that isn't added to the table.
    private static func field(_ name: String, _ value: String) -> [UInt8] { [0] + text(name) + text(value) }

    private static func text(_ text: String) -> [UInt8] { [UInt8(text.utf8.count)] + Array(text.utf8) }
}
