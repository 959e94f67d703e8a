import AFTestServer
import FoundationEssentials
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// Which runs share stored responses, and how `cache` shows those that don't.
@Suite struct CachePartitionTests {
    private let server: TestServer
    private let folder: TemporaryFile

    init() throws {
        server = try TestServer()
        folder = try TemporaryFile()
        server.route("/", .respond(200, headers: ["Cache-Control": "private, max-age=1000"], body: Data("ok".utf8)))
    }

    private var option: String { "--cache=\(folder.path)" }

    /// Where the response of a run came from.
    private func source(_ url: String, _ arguments: [String]) async -> String? {
        let run = await swiftaf(["get", url, "--json", option] + arguments)
        #expect(run.exit == 0)
        return run.json["cache"]?.string
    }

    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
        (
            String(repeating: "a", count: 1_000_000),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
        ),
    ])
    func hashesAsTheStandardSays(text: String, digest: String) throws {
        #expect(try HTTPCache.fingerprint(of: Array(text.utf8)) == digest)
    }

    @Test(arguments: [
        ["-b", "sid=alice"], ["-b", "sid=bob"], ["Cookie:sid=alice"], ["--session", "PATH"], ["--cookies", "PATH"],
        ["--resolve", "a.test:80:127.0.0.1"],
    ])
    func optionsOfServersAndUsersKeepResponsesApart(arguments: [String]) async throws {
        let file = try TemporaryFile()
        let arguments = arguments.map { $0 == "PATH" ? file.path : $0 }
        let others = [[], ["-b", "sid=carol"]]
        for other in others { #expect(await source(server.urlString(), other) == "server") }
        #expect(await source(server.urlString(), arguments) == "server")
        for each in others + [arguments] { #expect(await source(server.urlString(), each) == "hit") }
        #expect(server.requests.count == 3)
    }

    @Test(arguments: [["Cookie:sid=ID"], ["-H", "Cookie: sid=ID"], ["-b", "sid=ID"], ["Cookie:a=b", "-b", "sid=ID"]])
    func usersWithOtherCookiesGetOtherResponses(arguments: [String]) async {
        for expected in ["server", "hit"] {
            for user in ["alice", "bob"] {
                let words = arguments.map { $0.replacing("ID", with: user) }
                #expect(await source(server.urlString(), words) == expected)
            }
        }
        #expect(await source(server.urlString(), []) == "server")
    }

    @Test func sessionThatSendsAnotherCookieGetsAnotherResponse() async throws {
        let session = try TemporaryFile()
        let arguments = ["--session", session.path]
        #expect(await source(server.urlString(), arguments + ["Cookie:sid=alice"]) == "server")
        #expect(await source(server.urlString(), arguments + ["Cookie:sid=bob"]) == "server")
        #expect(await source(server.urlString(), arguments + ["Cookie:"]) == "server")
        #expect(server.requests.map { $0["Cookie"] } == ["sid=alice", "sid=bob", nil])
    }

    @Test func responsesAreUsedUnderTheSameTrustOnly() async throws {
        let authority = try TestCertificate.makeAuthority()
        let server = try TestServer(tls: .init(authority.issue()))
        server.route("/", .respond(200, headers: ["Cache-Control": "public, max-age=1000"], body: Data("ok".utf8)))
        let anchors = try TemporaryFile(authority.pem)
        let trusting = ["--cacert", anchors.path]
        #expect(await source(server.urlString(), trusting) == "server")
        let pin = "sha256//" + Data(repeating: 0, count: 32).base64EncodedString()
        for arguments in [trusting + ["--pin", pin], []] {
            let run = await swiftaf(["get", server.urlString(), "--json", option] + arguments)
            #expect(run.exit == 5 && run.code == "untrusted")
        }
        #expect(await source(server.urlString(), trusting) == "hit")
        #expect(await swiftaf("cache", "show", server.urlString(), option).text.hasSuffix("ok"))
    }

    @Test func responsesForAClientCertificateAreForItOnly() async throws {
        let authority = try TestCertificate.makeAuthority()
        let leaf = try authority.issue()
        var tls = TestServer.TLS(leaf)
        tls.clientAuthorityPEM = authority.pem
        tls.requiresClientCertificate = true
        let server = try TestServer(tls: tls)
        server.route("/", .respond(200, headers: ["Cache-Control": "max-age=1000"], body: Data("ok".utf8)))
        let anchors = try TemporaryFile(authority.pem)
        let client = try authority.issueClient(commonName: "Client")
        let both = try TemporaryFile(client.pem + client.keyPEM)
        let named = ["--cacert", anchors.path, "--cert", both.path]
        for expected in ["server", "hit"] { #expect(await source(server.urlString(), named) == expected) }
        #expect(await swiftaf("get", server.urlString(), option, "--cacert", anchors.path).exit != 0)
    }

    @Test func listShowAndClearCoverAllPartitions() async {
        let url = server.urlString()
        for cookies in [[], ["-b", "sid=alice"]] { _ = await source(url, cookies) }
        let entries = await swiftaf("cache", "list", option, "--json").json["entries"]?.array ?? []
        #expect(entries.count == 2 && entries.count { $0["partition"]?.string?.utf8.count == 64 } == 1)
        #expect(await swiftaf("cache", "clear", url, option).text == "removed 2\n")
        _ = await source(url, ["-b", "sid=alice"])
        #expect(await swiftaf("cache", "show", url, option).text.hasSuffix("ok"))
        #expect(await swiftaf("cache", "clear", option).text == "removed 1\n")
    }

    /// A validation in the background would end with the program.
    @Test func staleResponseIsValidatedBeforeItIsUsed() async {
        let headers: Script.Headers = [
            "Cache-Control": "max-age=0, stale-while-revalidate=1000", "ETag": "\"one\"",
        ]
        server.route("/stale", .respond(200, headers: headers, body: Data("old".utf8)))
        #expect(await source(server.urlString("/stale"), []) == "server")
        server.route("/stale", .respond(200, headers: headers, body: Data("new".utf8)))
        let run = await swiftaf("get", server.urlString("/stale"), option)
        #expect(run.text == "new" && server.requests.count == 2)
    }
}
