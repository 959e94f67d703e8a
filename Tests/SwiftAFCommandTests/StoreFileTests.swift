import AFTestServer
import FoundationEssentials
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// Which files `--cookies` and `--hsts` replace: jars and files of hosts only.
@Suite struct StoreFileTests {
    private let server: TestServer

    init() throws {
        server = try TestServer()
        server.route("/", .respond(200, headers: ["Set-Cookie": "k=v"]))
    }

    @Test(arguments: [
        "1\t2\t3\t4\t5\t6\t7\n", "# My cookie recipes\n\nflour\n", "#!/bin/sh\n# sets a cookie\n",
        "h\tFALSE\t/\tFALSE\tsoon\ta\tb\n", "h\tFALSE\t/\tFALSE\t0\ta\n",
        "# Netscape HTTP Cookie File\nh\tFALSE\t/\tFALSE\t0\ta\tb\nmore\n", "# Netscape HTTP Cookie File\n\u{0}\n",
        "#HttpOnly_h\tFALSE\t/\tno\t0\ta\tb\n", "h\tFALSE\t/\tFALSE\t+4102444800\ta\tb\n",
        "h\tFALSE\t/\tFALSE\t9223372036854775808\ta\tb\n", "h\tFALSE\t/\tFALSE\t0.x\ta\tb\n",
    ])
    func cookiesReplaceNoOtherFile(content: String) async throws {
        let file = try TemporaryFile(content)
        let run = await swiftaf(server.urlString(), "--cookies", file.path, "--json")
        #expect(run.exit == 1 && run.code == "invalidInput")
        #expect(run.error.contains("\(file.path) isn't a cookie jar") && run.error.contains("-c PATH"))
        #expect(server.requests.isEmpty && file.content == Data(content.utf8))
    }

    @Test(arguments: [
        "", " \r\n\n", "# Netscape HTTP Cookie File\r\n# https://curl.se/docs/http-cookies.html\n",
        "# HTTP Cookie File\n",
        "# mine\n#HttpOnly_h\tFALSE\t/\ttrue\t0\ta\tb\r\n.h\ttrue\t/\tfalse\t4102444800\tc\tv\twith a tab\n",
    ])
    func cookiesReplaceJars(content: String) async throws {
        let file = try TemporaryFile(content)
        #expect(await swiftaf(server.urlString(), "--cookies", file.path).exit == 0)
        #expect(file.content.map { String(decoding: $0, as: UTF8.self).contains("\tk\tv\n") } == true)
    }

    /// As curl writes cookies of `localhost`, of addresses and of names in upper case; and as extensions of browsers
    /// and Python write times.
    @Test(arguments: [
        ".localhost\tTRUE\t/\tFALSE\t4102444800\tsid\tabc\n", "127.0.0.1\tTRUE\t/\tFALSE\t4102444800\tsid\tabc\n",
        "LOCALHOST\tFALSE\t/\tFALSE\t4102444800\tsid\tabc\n", "h\tFALSE\tx\tFALSE\t4102444800\tsid\tabc\n",
        "h\tFALSE\t/\tFALSE\t4102444800.25\tsid\tabc\n", "h\tFALSE\t/\tFALSE\t\tsid\tabc\n",
        "h\tFALSE\t/\tFALSE\t9223372036854775807\tsid\tabc\n",
    ])
    func cookiesOfOtherProgramsStayInTheirJar(content: String) async throws {
        let file = try TemporaryFile(content)
        #expect(await swiftaf(server.urlString(), "--cookies", file.path).exit == 0)
        #expect(file.content.map { String(decoding: $0, as: UTF8.self).contains("\tsid\tabc\n") } == true)
    }

    /// JavaScript writes `true`.
    @Test(arguments: ["-b", "--cookies"], ["TRUE", "true", "True"])
    func marksOfCookiesCountInAnyCase(option: String, mark: String) async throws {
        let file = try TemporaryFile(
            """
            .jar.test\t\(mark)\t/\tFALSE\t4102444800\ta\t1
            jar.test\tFALSE\t/\t\(mark)\t4102444800\tb\t2
            sub.jar.test\tFALSE\t/\t\(mark)\t4102444800\tc\t3

            """)
        let url = "http://sub.jar.test:\(server.port)/"
        let words = [url, option, file.path, "--resolve", "sub.jar.test:\(server.port):127.0.0.1"]
        #expect(await swiftaf(words).exit == 0)
        // The other cookies are for TLS, and for another host.
        #expect(server.requests.last?["Cookie"] == "a=1")
        guard option == "--cookies" else { return }
        let content = String(decoding: file.content ?? Data(), as: UTF8.self)
        #expect(content.contains(".jar.test\tTRUE\t/\tFALSE") && content.contains("jar.test\tFALSE\t/\tTRUE"))
    }

    @Test(arguments: [
        "h\tFALSE\t/\tFALSE\t4102444800\ta\tb;c\n", "h\tFALSE\t/\tFALSE\t4102444800\ta\tb;\u{301}c\n",
        "h\tFALSE\t/\tFALSE\t4102444800\t__Secure-a\tb\n",
        "#HttpOnly_.h\tTRUE\t/\tTRUE\t4102444800\t__Host-a\tb\n",
    ])
    func aJarWithACookieThatWouldBeLostIsKept(line: String) async throws {
        let content = "# Netscape HTTP Cookie File\n" + line
        let file = try TemporaryFile(content)
        let run = await swiftaf(server.urlString(), "--cookies", file.path, "--json")
        #expect(run.exit == 1 && run.code == "invalidInput" && run.error.contains("\(file.path), line 2: "))
        #expect(server.requests.isEmpty && file.content == Data(content.utf8))
    }

    @Test(arguments: [
        "b\u{FC}cher.localhost \"20301231 00:00:00\"\n", "h.test \"20301331 00:00:00\"\n",
        "h.test \"20301232 00:00:00\"\n", "h.test \"20301231 24:00:00\"\n",
    ])
    func aFileWithAHostThatWouldBeLostIsKept(content: String) async throws {
        let file = try TemporaryFile(content)
        let run = await swiftaf(server.urlString(), "--hsts", file.path)
        #expect(run.exit == 1 && server.requests.isEmpty && file.content == Data(content.utf8))
    }

    @Test func aJarIsKeptIfNothingWasReceived() async throws {
        let content = "127.0.0.1\tFALSE\t/\tFALSE\t0\told\t1\n"
        let (file, closed) = (try TemporaryFile(content), try TestServer())
        let url = closed.urlString()
        closed.stop()
        for words in [["get", url], ["download", url + "a", url + "b"]] {
            #expect(await swiftaf(words + ["-c", file.path]).exit == 3)
            #expect(file.content == Data(content.utf8))
        }
        withExtendedLifetime(closed) {}
        server.route("/none", .text("no cookies", status: 404))
        #expect(await swiftaf(server.urlString("/none"), "-c", file.path).exit == 2)
        #expect(file.content.map { !String(decoding: $0, as: UTF8.self).contains("old") } == true)
    }

    /// What the program wrote it accepts, whatever is in the cookies.
    @Test func cookiesAreReadAgain() async throws {
        server.route("/", .respond(200, headers: ["Set-Cookie": "a=1\t2; Secure; HttpOnly; SameSite=Lax"]))
        let file = try TemporaryFile()
        for _ in 1...2 { #expect(await swiftaf(server.urlString(), "--cookies", file.path).exit == 0) }
        #expect(CookieFile.isJar(try CookieStorage().exported(includingSession: true)))
    }

    @Test(arguments: [
        "text\n", "a.test \"unlimited\"\nnotes\n", "a.test tomorrow\n", "a.test \"2030-01-01\"\n",
        "a.test \"unlimited\"\r\r\n", "{ \"unlimited\"} \"unlimited\"\n", "# \u{0}\n",
    ])
    func hostsReplaceNoOtherFile(content: String) async throws {
        let file = try TemporaryFile(content)
        let run = await swiftaf(server.urlString(), "--hsts", file.path, "--json")
        #expect(run.exit == 1 && run.code == "invalidInput")
        #expect(run.error.contains("--hsts: \(file.path) isn't a file of HSTS hosts"))
        #expect(server.requests.isEmpty && file.content == Data(content.utf8))
    }

    @Test(arguments: [
        "", "\n", "# Your HSTS cache. https://curl.se/docs/hsts.html\n",
        "a.test \"unlimited\"\n.b.test \"20400101 00:00:00\"\n\n# end\n",
        "# mine\r\na.test \"unlimited\"\r\n.b.test \"20400101 00:00:00\"\r\n\r\n",
    ])
    func hostsReplaceTheirFiles(content: String) async throws {
        let file = try TemporaryFile(content)
        #expect(await swiftaf(server.urlString(), "--hsts", file.path).exit == 0)
        #expect(await swiftaf(server.urlString(), "--hsts", file.path).exit == 0)
        let written = try #require(file.content)
        #expect(String(decoding: written, as: UTF8.self).contains(".b.test") == content.contains(".b.test"))
        #expect(!written.contains(UInt8(ascii: "\r")))
    }

    @Test func aFileOfHostsThatIsTooLargeIsNamed() async throws {
        let file = try TemporaryFile(Data(repeating: 0x0A, count: 9 << 20))
        let run = await swiftaf(server.urlString(), "--hsts", file.path)
        #expect(run.exit == 1 && server.requests.isEmpty)
        #expect(run.error.contains("--hsts: \(file.path) ") && !run.error.contains("/proc/"))
    }
}
