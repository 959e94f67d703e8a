import AFTestServer
import FoundationEssentials
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// `--user`, `--auth` and user and password of the URL: what is sent when, what comes of it, and that it is in no
/// output.
@Suite(.timeLimit(.minutes(10))) struct CredentialTests {
    private let server: TestServer
    private static let basic = "Basic bWU6czNjcmV0"
    private static let digest = #"Digest realm="x", nonce="n", qop="auth", algorithm=SHA-256"#

    init() throws {
        server = try TestServer()
    }

    /// Asks for as long as the field doesn't begin as it should.
    private func guardRoot(_ challenges: [String], letting admitted: String) {
        server.route("/") { request, connection in
            let isRight = request["Authorization"]?.hasPrefix(admitted) == true
            let headers: Script.Headers = ["WWW-Authenticate": challenges.joined(separator: ", ")]
            try connection.run(isRight ? .text("in") : .respond(401, headers: headers, body: Data("who?".utf8)))
        }
    }

    private var sent: [String?] { server.requests.map { $0["Authorization"] } }

    @Test func anythingIsSentOnlyWhenItIsAskedFor() async {
        guardRoot(["Basic realm=x"], letting: Self.basic)
        let run = await swiftaf(["get", server.urlString(), "--user", "me:s3cret", "--json", "-v"])
        #expect(run.exit == 0)
        #expect(run.json["body"] == "in")
        #expect(run.json["redirects"]?.array?.isEmpty == true)
        #expect(sent == [nil, Self.basic])
        #expect(!run.error.contains("s3cret") && !run.error.contains("czNjcmV0"))
        #expect(!run.text.contains("s3cret") && !run.text.contains("czNjcmV0"))
    }

    /// For a `Character`, a colon before a combining mark isn't one.
    @Test func passwordMayBeginWithCombiningMark() async {
        guardRoot(["Basic realm=x"], letting: "Basic bWU6zIFzM2NyZXQ=")
        let user = "me:\u{301}s3cret"
        #expect(await swiftaf(["get", server.urlString(), "--user", user]).exit == 0)
        let curl = await swiftaf(["get", server.urlString(), "--user", user, "--as-curl"])
        #expect(curl.text.contains("--user me ") && !curl.text.contains("s3cret"))
    }

    @Test func basicIsSentAtOnce() async {
        guardRoot(["Basic realm=x"], letting: Self.basic)
        #expect(await swiftaf(["get", server.urlString(), "--user", "me:s3cret", "--auth", "basic"]).exit == 0)
        #expect(sent == [Self.basic])
    }

    @Test(arguments: ["any", "digest"])
    func digestGoesBeforeBasic(scheme: String) async {
        guardRoot(["Basic realm=x", Self.digest], letting: "Digest username=\"me\"")
        #expect(await swiftaf(["get", server.urlString(), "--user", "me:s3cret", "--auth", scheme]).exit == 0)
        #expect(sent.count == 2)
    }

    @Test func neverBasicWhereDigestIsOffered() async {
        guardRoot(["Basic realm=x", Self.digest], letting: "Basic")
        let run = await swiftaf(["get", server.urlString(), "--user", "me:s3cret", "--json"])
        #expect(run.exit == 7)
        #expect(run.json["error"]?["code"] == "authentication")
        #expect(run.json["status"] == 401)
        #expect(run.json["body"] == "who?")
        #expect(!sent.contains { $0?.hasPrefix("Basic") == true })
    }

    @Test func theURLMayName() async {
        guardRoot([Self.digest], letting: "Digest username=\"m e\"")
        let url = "http://m%20e:s3cret@127.0.0.1:\(server.port)/"
        let run = await swiftaf(["get", url, "--json", "-v"])
        #expect(run.exit == 0)
        #expect(sent.first == .some(nil))
        #expect(!run.error.contains("s3cret") && !run.text.contains("s3cret"))
        #expect(await swiftaf(["get", url, "--auth", "basic"]).exit == 7)
        #expect(sent.last == "Basic bSBlOnMzY3JldA==")
    }

    @Test func aBodyThatComesOnceIsNotCut() async throws {
        server.route("/", .status(401, headers: ["WWW-Authenticate": "Basic realm=x"]))
        let pipe = try InputPipe()
        pipe.send(Data("once".utf8))
        let run = await swiftaf(
            "post", server.urlString(), "-d", "@-", "Expect:", "--user", "me:s3cret", "--json", input: pipe.reading)
        #expect(run.exit == 3)
        #expect(server.requests.count == 1)
    }

    @Test(arguments: [
        ["--user", "me"], ["--auth", "digest"], ["--auth", "strange", "--user", "a:b"],
        ["--user", "a:s3cret", "--bearer", "s3cret"], ["--user", "a:s3cret", "Authorization:s3cret"],
    ])
    func refusesInvalidCredentialOptionsWithoutShowingSecrets(words: [String]) async {
        let run = await swiftaf(["get", server.urlString(), "--json"] + words)
        #expect(run.exit == 1)
        #expect(run.json["error"]?["code"] == "usage")
        #expect(!run.error.contains("s3cret"))
        #expect(server.requests.isEmpty)
    }

    @Test(arguments: [
        ["-u", "@s3cret:pw"], ["--bearer", "@s3cret"], ["-E", "/etc/hosts", "--key-password", "@s3cret"],
    ])
    func namesOfMissingSecretFilesAreNotShown(words: [String]) async {
        let run = await swiftaf(["get", server.urlString(), "--json"] + words)
        #expect(run.exit == 1 && run.code == "invalidInput")
        #expect(!run.error.contains("s3cret") && !run.text.contains("s3cret"))
        let option = words[words.count - 2] == "-u" ? "--user" : words[words.count - 2]
        #expect(run.error.contains("\(option): the file behind @ can't be read: No such file or directory"))
    }

    @Test func aSecretMayBeginWithAnAt() async {
        server.route("/", .text("in"))
        #expect(await swiftaf("get", server.urlString(), "--bearer", "@@token").exit == 0)
        #expect(sent == ["Bearer @token"])
    }

    @Test func passwordsAreAskedForOncePerOrigin() throws {
        let passwords = AskedPasswords()
        let asked = Locked(0)
        func ask(_ user: String, _ url: String) throws -> String {
            try passwords.password(of: user, for: url) { () throws(Failure) in
                asked.withLock { $0 += 1 }
                return "\(asked.withLock { $0 })"
            }
        }
        #expect(try ask("joe", "https://h.test/a") == "1")
        #expect(try ask("joe", "HTTPS://joe@H.test:443/b c") == "1")
        #expect(try ask("ann", "https://h.test/") == "2")
        #expect(try ask("joe", "https://h.test:8443/") == "3")
        #expect(try ask("joe", "http://h.test/") == "4")
    }

    @Test(arguments: ["X-Api-Key", "x-auth-token", "X-CSRF-Token", "Api-Key"])
    func keysAreNotSentToAnotherOrigin(name: String) async throws {
        let other = try TestServer()
        other.route("/", .text("in"))
        server.route("/", .redirect(to: other.urlString()))
        server.route("/same", .redirect(to: "/in"))
        server.route("/in", .text("in"))
        let run = await swiftaf("get", server.urlString(), "\(name):s3cret", "X-Other:1", "-v")
        #expect(run.exit == 0 && !run.error.contains("s3cret"))
        #expect(server.requests.last?[name] == "s3cret")
        #expect(other.requests.last?[name] == nil && other.requests.last?["X-Other"] == "1")
        #expect(await swiftaf("get", server.urlString("/same"), "-H", "\(name): s3cret").exit == 0)
        #expect(server.requests.last?[name] == "s3cret")
    }

    @Test(arguments: ["Authorization", "Cookie2", "X-Api-Key", "x-csrf-token"])
    func argumentsWithKeysAreBlanked(name: String) {
        let invocation = ArgumentParser.parse(["get", "http://h/", "\(name):s3cret", "-H", "\(name): s3cret", "X-A:b"])
        #expect(invocation.secrets.map(\.argument) == [2, 4])
        #expect(invocation.secrets.allSatisfy { $0.offset == name.count + 1 })
    }

    /// Also in a word that isn't seen to be a URL, and behind the name of an option.
    @Test(arguments: [
        (["joe:s3cret@myserver"], 0, 0), (["get", "http://h/", "--header=X-Api-Key: s3cret"], 2, 19),
    ])
    func secretsOfOneWordAreBlanked(words: [String], argument: Int, offset: Int) {
        let secrets = ArgumentParser.parse(words).secrets
        #expect(secrets.map(\.argument) == [argument] && secrets.map(\.offset) == [offset])
    }

    @Test(arguments: ["me:s3cret\n", "m\re:s3cret"])
    func lineBreaksAreRefused(user: String) async {
        let run = await swiftaf(["get", server.urlString(), "--json", "--user", user])
        #expect(run.exit == 1)
        #expect(run.json["error"]?["code"] == "invalidInput")
        #expect(!run.error.contains("s3cret"))
        #expect(server.requests.isEmpty)
    }

    @Test func secretsComeFromFilesAndVariables() async throws {
        let file = try TemporaryFile("a=fromFile\n")
        let environment = ["CK": "b=fromVariable"]
        let run = await swiftaf(
            "get", server.urlString(), "-b", "@\(file.path)", "-b", "env:CK", environment: environment)
        #expect(run.exit == 0 && run.error.isEmpty)
        #expect(server.requests.last?["Cookie"] == "a=fromFile; b=fromVariable")
        let none = await swiftaf("get", server.urlString(), "-b", "env:CK", "--json", environment: ["CK": "s3cret"])
        #expect(none.exit == 1 && none.code == "usage" && !none.error.contains("s3cret"))
        #expect(none.error.contains("-b: the environment variable CK has no NAME=VALUE"))
    }

    @Test func theProxyComesFromAFileOrAVariable() async throws {
        let proxy = server.urlString().replacing("://", with: "://me:s3cret@")
        server.route("/", .text("proxied"))
        let file = try TemporaryFile(proxy + "\n")
        for value in ["@\(file.path)", "env:PX"] {
            let run = await swiftaf("get", "http://a.test/", "--proxy", value, "-v", environment: ["PX": proxy])
            #expect(run.exit == 0 && run.text == "proxied" && !run.error.contains("s3cret"))
            let command = await swiftaf("h.test", "-x", value, "--as-curl", environment: ["PX": proxy])
            #expect(command.exit == 0 && command.text.contains("--proxy \(server.urlString())"))
        }
        #expect(await swiftaf("get", "http://a.test/", "-x", "env:NOPE").error.contains("NOPE isn't set"))
        // A host.
        #expect(await swiftaf("h.test", "-x", "env:1", "--as-curl").text.contains("--proxy env:1"))
    }

    @Test(arguments: ["me:s3cret@h:1", "http://me:a/s3cret@h:1", "socks5://me:a#s3cret@h:1"])
    func curlCommandHasNoPasswordOfTheProxy(proxy: String) async {
        let run = await swiftaf("h.test", "-x", proxy, "--as-curl")
        #expect(run.exit == 0 && run.text.contains("h:1 ") && !run.text.contains("s3cret"))
    }

    @Test(arguments: [("env:T", ""), ("env:T", " "), ("", "")]) func emptyTokensAreRefused(value: String, token: String)
        async
    {
        let run = await swiftaf("get", server.urlString(), "--bearer", value, "--json", environment: ["T": token])
        #expect(run.exit == 1 && run.code == "usage" && run.error.contains("--bearer: the token is empty"))
        #expect(server.requests.isEmpty)
    }

    @Test(arguments: [
        (["-u", "nl"], "", "nl:pw"), ([], "nl@", "nl:pw"), ([], "other@", "other:no"), ([], "any@", "any:fallback"),
        ([], "nl:own@", "nl:own"), ([], "stranger@", "stranger:"), (["-u", "nl:own"], "", "nl:own"),
        ([], "", "other:no"),
    ])
    func passwordOfUserComesFromNetrc(words: [String], userInfo: String, sent: String) async throws {
        let netrc = try TemporaryFile(
            """
            machine 127.0.0.1 login other password no
            machine 127.0.0.1 login nl password pw
            default login any password fallback
            """)
        let url = server.urlString().replacing("://", with: "://\(userInfo)")
        #expect(await swiftaf(["get", url, "--netrc=\(netrc.path)", "--auth", "basic"] + words).exit == 0)
        #expect(self.sent == ["Basic \(Data(sent.utf8).base64EncodedString())"])
    }

    /// The rest of the line would be taken for a part of the password, and sent.
    @Test(arguments: [
        "password \"s p", "login \"joe password p", "password \"s\\\" account a", "account \"a password p",
    ])
    func aQuoteThatIsNotClosedIsRefused(rest: String) async throws {
        let machine = "machine 127.0.0.1 login joe \(rest)"
        for end in ["", "\n", "\r\n", "\nmachine other.test login a password \"b\"\n"] {
            let netrc = try TemporaryFile("# \"\nmachine other.test login \"x\n\(machine)\(end)")
            let run = await swiftaf("get", server.urlString(), "--netrc=\(netrc.path)", "--auth", "basic")
            let word = rest.prefix { $0 != " " }
            let message = "\(netrc.path), line 3: the quote of the \(word) isn't closed; \\\" is a quote within quotes"
            #expect(run.exit == 1 && run.error.contains(message), "\(run.error)")
        }
        #expect(sent.isEmpty)
    }

    @Test func aDefaultWithAnOpenQuoteIsRefusedIfItIsUsed() async throws {
        let netrc = try TemporaryFile("machine 127.0.0.1 login joe password pw\ndefault login ann password \"x\n")
        let words = ["get", server.urlString(), "--netrc=\(netrc.path)", "--auth", "basic"]
        #expect(await swiftaf(words).exit == 0)
        #expect(await swiftaf(words + ["--user", "ann"]).error.contains("line 2: the quote of the password isn't"))
    }
}
