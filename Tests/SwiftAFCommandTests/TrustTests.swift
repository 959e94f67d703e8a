import AFTestServer
import FoundationEssentials
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// Pins, client certificates, versions of TLS, and `trust`.
@Suite struct TrustTests {
    let authority: TestCertificate
    let leaf: TestCertificate
    let server: TestServer
    let anchors: TemporaryFile

    init() throws {
        authority = try .makeAuthority()
        leaf = try authority.issue()
        server = try TestServer(tls: .init(leaf))
        server.route("/", .text("ok"))
        anchors = try TemporaryFile(authority.pem)
    }

    private func pin(_ certificate: TestCertificate) -> String {
        "sha256//" + certificate.publicKeySHA256.base64EncodedString()
    }

    private func get(_ arguments: String...) async -> RunResult {
        await swiftaf(["get", server.urlString(), "--json"] + arguments)
    }

    /// A server that requires a client certificate.
    private func mutualServer() throws -> TestServer {
        var tls = TestServer.TLS(leaf)
        tls.clientAuthorityPEM = authority.pem
        tls.requiresClientCertificate = true
        return try TestServer(tls: tls)
    }

    private func expectRefused(_ run: RunResult, _ reason: String) {
        #expect(run.exit == 5)
        #expect(run.code == "untrusted")
        #expect(run.json["error"]?["reason"]?.string == reason)
        #expect(server.requests.isEmpty)
    }

    @Test func pinsOfKeys() async throws {
        let other = try pin(.makeAuthority())
        expectRefused(await get("--cacert", anchors.path, "--pin", other), "pin")
        expectRefused(await get("--insecure", "--pin", other), "pin")
        // Only the leaf of a chain that was not verified counts.
        expectRefused(await get("--insecure", "--pin", pin(authority)), "pin")
        #expect(await get("--insecure", "--pin", pin(leaf)).exit == 0)
        #expect(await get("--cacert", anchors.path, "--pin", other, "--pin", pin(authority)).exit == 0)
        #expect(await get("--cacert", anchors.path, "--pin", "sha256//short").exit == 1)
    }

    @Test func pinsOfCertificates() async throws {
        let own = try TemporaryFile(leaf.pem)
        let other = try TemporaryFile(TestCertificate.makeAuthority().pem)
        expectRefused(await get("--cacert", anchors.path, "--pin-cert", other.path), "pin")
        expectRefused(await get("--insecure", "--pin-cert", other.path), "pin")
        #expect(await get("--cacert", anchors.path, "--pin-cert", own.path).exit == 0)
        #expect(await get("--insecure", "--pin-cert", own.path).exit == 0)
        #expect(await get("--insecure", "--pin-cert", anchors.path).exit == 0)
        #expect(await get("--cacert", anchors.path, "--pin-cert", other.path, "--pin", pin(leaf)).exit == 0)
        #expect(await get("--pin-cert", "/no/such/file").exit == 1)
    }

    @Test func pinsHoldWithinTunnels() async throws {
        let relay = try Relay(tunnelTo: server.port)
        let proxy = ["--proxy", "http://127.0.0.1:\(relay.port)", "--cacert", anchors.path]
        let base = ["get", "https://localhost/", "--json"] + proxy
        let other = try pin(.makeAuthority())
        expectRefused(await swiftaf(base + ["--pin", other]), "pin")
        #expect(await swiftaf(base + ["--pin", pin(leaf)]).exit == 0)
        #expect(relay.heads.count == 2)
    }

    @Test func theCommonNameIsNoName() async throws {
        let named = try TestServer(tls: .init(authority.issue(hosts: [], commonName: "localhost")))
        let url = named.urlString().replacing("127.0.0.1", with: "localhost")
        expectRefused(await swiftaf("get", url, "--json", "--cacert", anchors.path), "wrongHost")
        #expect(named.requests.isEmpty)
    }

    @Test(.enabled(if: ProgramRun.isExpected, "the program was not built beside the tests"))
    func certificatesCanBePipes() async throws {
        let server = try mutualServer()
        let client = try authority.issueClient(commonName: "Client")
        let folder = try TemporaryFolder()
        let base: [RawText] = ["get", RawText(server.urlString()), "--json"]
        let files = [("ca", authority.pem), ("cert", client.pem), ("key", client.keyPEM)]
        for (name, text) in files { folder.write(text, to: RawText(name)) }
        let shell = files.map { name, _ in "mkfifo p\(name); cat \(name) > p\(name) &" }.joined(separator: " ")
        let run = try await Launch(
            base + ["--cacert", "pca", "--cert", "pcert", "--key", "pkey"], folder: folder.path,
            shell: shell + " true"
        ).end()
        #expect(run.exit == 0)
    }

    @Test func anchorsThatAreNoneNameTheOption() async throws {
        let (text, empty) = (try TemporaryFile("text"), try TemporaryFile(""))
        let run = await get("--cacert", text.path)
        #expect(run.exit == 1 && run.error.contains("--cacert: the anchors: no valid certificate found"))
        #expect(await get("--cacert", empty.path).error.contains("\(empty.path) has no certificates"))
    }

    @Test func ciphersAreThoseOfTheOption() async throws {
        var tls = TestServer.TLS(leaf)
        tls.maximumVersion = .v1_2
        let server = try TestServer(tls: tls)
        let cipher = "ECDHE-ECDSA-AES256-GCM-SHA384"
        let run = await swiftaf("get", server.urlString(), "--cacert", anchors.path, "--ciphers", cipher)
        #expect(run.exit == 0 && server.connections.last?.tls?.cipher == cipher)
    }

    @Test(arguments: [("--http1.1", "http/1.1"), ("--http2", "h2,http/1.1")])
    func protocolsAreOffered(option: String, offered: String) async throws {
        for name in ["h2", "http/1.1"] {
            var tls = TestServer.TLS(leaf)
            tls.alpn = [name]
            let server = try TestServer(tls: tls)
            server.onConnection(nil, .close)
            _ = await swiftaf("get", server.urlString(), "--cacert", anchors.path, option)
            let isOffered = offered.split(separator: ",").contains { $0 == name }
            #expect((server.connections.last?.tls?.alpn == name) == isOffered)
        }
    }

    @Test func pinsHoldAfterRedirects() async throws {
        let second = try TestServer(tls: .init(authority.issue()))
        server.route("/", .redirect(to: second.urlString("/")))
        let run = await get("--cacert", anchors.path, "--pin", pin(leaf))
        #expect(run.exit == 5)
        #expect(run.json["error"]?["reason"]?.string == "pin")
        #expect(second.requests.isEmpty)
    }

    @Test func sendsClientCertificateToHostsOfTheCommandOnly() async throws {
        let (server, other) = (try mutualServer(), try mutualServer())
        let client = try authority.issueClient(commonName: "Client")
        let certificate = try TemporaryFile(client.pem + client.keyPEM)
        let words = ["--json", "--cacert", anchors.path, "--cert", certificate.path]
        server.route("/", .redirect(to: server.urlString("/f")))
        server.route("/f", .text("ok"))
        #expect(await swiftaf(["get", server.urlString()] + words).exit == 0)
        other.route("/g", .text("ok"))
        let elsewhere = other.urlString("/g").replacing("127.0.0.1", with: "localhost")
        server.route("/", .redirect(to: elsewhere))
        let refused = await swiftaf(["get", server.urlString()] + words)
        #expect(refused.exit == 5 && refused.code == "tls" && other.requests.isEmpty)
        let folder = try TemporaryFolder()
        let both = ["download", server.urlString("/f"), elsewhere, "-P", folder.path]
        #expect(await swiftaf(both + words).exit == 0)
    }

    @Test func authenticatesWithClientCertificate() async throws {
        let server = try mutualServer()
        let client = try authority.issueClient(commonName: "Client")
        let certificate = try TemporaryFile(client.pem)
        let key = try TemporaryFile(client.keyPEM)
        let both = try TemporaryFile(client.pem + client.keyPEM)
        let base = ["get", server.urlString(), "--json", "--cacert", anchors.path]
        #expect(await swiftaf(base + ["--cert", certificate.path, "--key", key.path]).exit == 0)
        #expect(await swiftaf(base + ["--cert", both.path]).exit == 0)
        let missing = await swiftaf(base)
        #expect(missing.exit == 5)
        #expect(missing.code == "tls" && missing.error.contains("certificate required; --cert PATH"))
        let keyless = await swiftaf(base + ["--cert", certificate.path])
        #expect(keyless.exit == 1 && keyless.error.contains("--key PATH") && keyless.error.contains("--key-password P"))
        #expect(await swiftaf(base + ["--cert", "/no/such/file"]).exit == 1)
        #expect(await swiftaf(base + ["--key", key.path]).code == "usage")
        #expect(await swiftaf(base + ["--key-password", "x"]).code == "usage")
    }

    @Test func passwordOfTheKeyFollowsTheCertificateAsInCurl() async throws {
        let server = try mutualServer()
        let client = try authority.issueClient(commonName: "Client")
        let both = try TemporaryFile(client.pem + client.encryptedKeyPEM(password: "a:b c"))
        let base = ["get", server.urlString(), "--json", "--cacert", anchors.path]
        #expect(await swiftaf(base + ["-E", both.path + ":a:b c"]).exit == 0)
        #expect(await swiftaf(base + ["-E", both.path, "--key-password", "a:b c"]).exit == 0)
        let wrong = await swiftaf(base + ["-E", both.path + ":wrong"])
        #expect(wrong.exit == 1 && wrong.error.contains("--key-password P") && !wrong.error.contains(":wrong"))
        #expect(await swiftaf(base + ["-E", both.path + ":a:b c", "--key-password", "x"]).code == "usage")
        let missing = await swiftaf(base + ["-E", "/no/such/file:secret"])
        #expect(missing.exit == 1 && missing.error.contains("/no/such/file can't be read"))
        #expect(!missing.error.contains("secret"))
        let nameless = await swiftaf(base + ["-E", ":secret"])
        #expect(nameless.code == "usage" && nameless.error.contains("-E needs the path of a file"))
        // A file of the whole name comes first.
        let named = both.path + ":x"
        try FileManager.default.copyItem(atPath: both.path, toPath: named)
        defer { try? FileManager.default.removeItem(atPath: named) }
        #expect(await swiftaf(base + ["-E", named, "--key-password", "a:b c"]).exit == 0)
        // Passwords are never printed, and what is printed means the same to curl.
        let curl = await swiftaf("get", "https://h/", "-E", "/no:secret", "--as-curl")
        #expect(curl.text.contains("--cert /no ") && !curl.text.contains("secret"))
        #expect(await swiftaf("get", "https://h/", "-E", named, "--as-curl").text.contains(#"\:x"#))
        let marked = await swiftaf("get", "https://h/", "-E", "/no\\:\u{301}:secret", "--as-curl")
        #expect(marked.text.utf8.firstRange(of: "/no\\:\u{301}'".utf8) != nil)
    }

    @Test(
        arguments: [
            ("/no", "/no", nil), ("/no:", "/no", nil), ("/no:a:b", "/no", "a:b"), (#"/n\:o:p"#, "/n:o", "p"),
            (#"/n\\:p"#, #"/n\"#, "p"), (#"/n\o\"#, #"/n\o\"#, nil), ("/dev/null", "/dev/null", nil),
        ] as [(String, String, String?)])
    func certificatesAreSplitAsInCurl(value: String, path: String, password: String?) throws {
        var options = Options()
        options.certificatePath = RawText(value)
        let certificate = try #require(options.certificate)
        #expect(certificate.path.shown == path)
        #expect(certificate.password?.shown == password)
    }

    @Test func passwordOfTheKeyMustBeText() async throws {
        var options = Options()
        options.certificatePath = RawText(Array(anchors.path.utf8) + [UInt8(ascii: ":"), 0xFF])
        #expect { try options.configuration(for: [], [:]) } throws: {
            ($0 as? Failure)?.message == "the password of -E is not UTF-8"
        }
    }

    @Test func enforcesMinimumTLSVersion() async throws {
        var tls = TestServer.TLS(leaf)
        tls.maximumVersion = .v1_2
        let server = try TestServer(tls: tls)
        let base = ["get", server.urlString(), "--json", "--cacert", anchors.path]
        #expect(await swiftaf(base + ["--tls-min", "1.2"]).exit == 0)
        let refused = await swiftaf(base + ["--tls-min", "1.3"])
        #expect(refused.exit == 5)
        #expect(refused.code == "tls" && refused.error.contains("; --tls-min 1.2"))
        #expect(await swiftaf(base + ["--tls-min", "1.1"]).code == "usage")
    }

    @Test func scriptsKnowTheReasonsOfTheContract() async throws {
        let rooted = try TestServer(tls: .init(chainPEM: leaf.chainPEM + authority.pem, keyPEM: leaf.keyPEM))
        let run = await swiftaf("get", rooted.urlString(), "--json")
        #expect(run.json["error"]?["reason"]?.string == "unknownIssuer")
        let client = try TestServer(tls: .init(authority.issueClient(commonName: "Client")))
        let purpose = await swiftaf("get", client.urlString(), "--json", "--cacert", anchors.path)
        #expect(purpose.json["error"]?["reason"]?.string == "other")
    }

    @Test func trustShowsTheChain() async throws {
        let target = "127.0.0.1:\(server.port)"
        let good = await swiftaf("trust", target, "--cacert", anchors.path)
        #expect(good.exit == 0)
        for part in ["accepted", "CN=localhost", "names        localhost, 127.0.0.1", pin(leaf), pin(authority)] {
            #expect(good.text.contains(part))
        }
        let bad = await swiftaf("trust", target)
        #expect(bad.exit == 5)
        #expect(bad.text.contains("refused, unknownIssuer"))
        #expect(bad.error.contains("--cacert PATH") && !bad.error.contains("swiftaf trust"))
        #expect(bad.text.contains(pin(leaf)))
        let json = await swiftaf("trust", target, "--json")
        #expect(json.code == "untrusted")
        #expect(json.json["trust"]?["reason"] == "unknownIssuer")
        #expect(json.json["trust"]?["chain"]?[0]?["pin"]?.string == pin(leaf))
        #expect(server.requests.isEmpty)
        for wrong in [[], ["https://host/"], ["host/path"], ["a@b"], ["a", "b"]] {
            #expect(await swiftaf(["trust"] + wrong).exit == 1)
        }
        #expect(await swiftaf("trust", "127.0.0.1:1").exit == 3)
        let plain = try TestServer()
        plain.onConnection(nil, [.send("HTTP/1.1 400 Bad Request\r\n\r\n"), .waitForPeerClose])
        let clear = await swiftaf("trust", "127.0.0.1:\(plain.port)")
        #expect(clear.exit == 5 && clear.error.contains("doesn't use TLS on this port"))
        #expect(!clear.error.contains("http://"))
        let unreachable = await swiftaf("trust", "127.0.0.1:1", "--json")
        #expect(unreachable.code == "connect" && unreachable.json["url"] == "https://127.0.0.1:1/")
        #expect(json.json["url"]?.string == "https://\(target)/")
    }
}
