import AFTestServer
import FoundationEssentials
import Glibc
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// Errors about values name the option as it was given, the value unless it may be a secret, and what is accepted.
@Suite struct OptionErrorTests {
    private func error(_ words: [String]) async -> String {
        let run = await swiftaf(words)
        #expect(run.exit == 1, "\(words)")
        return run.error
    }

    @Test(arguments: [
        (["--pin", "x"], "invalid value 'x' for --pin: expected sha256// and the Base64 of 32 bytes"),
        (["--pin", ""], "invalid value '' for --pin: "), (["--pin", "sha256//AAAA"], "for --pin: "),
        (["--pin", "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"], "for --pin: "),
        (["--pin", "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB="], "for --pin: "),
        (["--pin-cert", "/dev/null"], "--pin-cert: /dev/null has no certificates"),
        (["--pin-cert", "/etc/passwd"], "--pin-cert: the pinned certificates: no valid certificate"),
        (["--ciphers", "none of them"], "--ciphers: invalid ciphers: OpenSSL supports none of them"),
        (["--proxy", "ftp://x"], "--proxy: invalid proxy scheme: expected http, https, socks5 or socks5h"),
        (["--proxy", "http://"], "--proxy: invalid proxy address"),
        (["--bearer", "a\nb"], "--bearer: the token has a control character"),
        (["--bearer", "a\u{1F}b"], "--bearer: the token has a control character"),
        (["--user", "a\u{1B}b:c"], "--user: the user has a control character"),
        (["--user", "a:b\u{7F}"], "--user: the password has a control character"),
        (["--user", "a\tb:c"], "--user: the user has a control character"),
        (["--user", "a:b\tc"], "--user: the password has a control character"),
        (["-H", "none"], "invalid value for -H: expected 'Name: value'"),
        (["--header", ""], "invalid value for --header: expected 'Name: value'"),
        (["-H", "@file"], "invalid value for -H: a file of headers isn't read"),
        (["-p", "x"], "invalid value 'x' for -p: expected letters"),
        (["--print", "x"], "invalid value 'x' for --print: expected letters"),
        (["-F", "a\n=b"], "the part 'a\\u{A}': the name of the part contains a control character"),
    ])
    func namesTheOptionOfAnInvalidValue(words: [String], message: String) async {
        let error = await error(["https://127.0.0.1:1/"] + words)
        #expect(error.contains(message), "\(error)")
    }

    @Test(arguments: [
        ["--accept-status", "+404"], ["--accept-status", "404-+405"], ["--accept-status", "-0404"],
        ["--accept-status", "404-"], ["--accept-status", ""], ["--resolve", "a.example:+80:127.0.0.1"],
        ["--resolve", "a.example:-80:127.0.0.1"], ["--resolve", "a.example::127.0.0.1"],
        ["--resolve", "a.example:65536:127.0.0.1"], ["--retry", "+1"], ["--retry", ""],
    ])
    func refusesNumbersWithASignOrWithoutDigits(words: [String]) async {
        let error = await error(["http://127.0.0.1:1/"] + words)
        #expect(error.contains("invalid value '\(words[1])' for \(words[0]): expected "), "\(error)")
    }

    @Test(arguments: [
        (["--cacert", "/no/x"], "--cacert"), (["--cacert", "/dev/null"], "--cacert"), (["--cacert", "/"], "--cacert"),
        (["--pin-cert", "/no/x"], "--pin-cert"), (["-E", "/no/x"], "--cert"),
        (["--cert", "/etc/passwd", "--key", "/no/x"], "--key"), (["--netrc=/no/x"], "--netrc"),
        (["-d", "@/no/x"], "-d"), (["--data", "@/"], "-d"), (["-T", "/no/x"], "-T"),
        (["--data-urlencode", "a@/no/x"], "--data-urlencode"), (["--hsts", "/"], "--hsts"),
        (["--cookies", "/"], "--cookies"), (["-b", "/"], "-b"), (["-b", "/", "-c", "/"], "-c"),
        (["--cookies", "/etc/passwd"], "--cookies"),
    ])
    func namesTheOptionOfAFileThatCanNotBeRead(words: [String], option: String) async {
        let error = await error(["https://127.0.0.1:1/"] + words)
        #expect(error.hasPrefix("swiftaf: \(option): /"), "\(error)")
    }

    @Test func namesTheOptionOfASessionThatCanNotBeRead() async throws {
        let folder = try TemporaryFolder()
        folder.write("[]", to: "mine.json")
        let error = await error(["https://127.0.0.1:1/", "--session", folder.path + "/mine"])
        #expect(error.hasPrefix("swiftaf: --session: \(folder.path)/mine.json isn't a session"), "\(error)")
    }

    @Test(arguments: ["--cookies", "-c", "--hsts", "--har"])
    func namesTheOptionOfAFileThatCanNotBeWritten(option: String) async throws {
        let server = try TestServer()
        server.route("/", .respond(200, headers: ["Set-Cookie": "a=b"]))
        let run = await swiftaf(server.urlString(), option, "/no/x")
        #expect(run.exit == 8 && run.error.hasPrefix("swiftaf: \(option): /no/x can't be written"), "\(run.error)")
    }

    @Test func namesTheOptionOfAFileInTheReport() async {
        let run = await swiftaf("https://127.0.0.1:1/", "--json", "--cacert", "/no/x")
        #expect(run.exit == 1 && run.code == "invalidInput")
        #expect(run.json["error"]?["message"]?.string?.hasPrefix("--cacert: /no/x can't be read") == true)
    }

    @Test func acceptsTheHighestPinAndTheLowest() async {
        for bytes in [Data(repeating: 0, count: 32), Data(repeating: 255, count: 32)] {
            let run = await swiftaf("https://127.0.0.1:1/", "--pin", "sha256//\(bytes.base64EncodedString())")
            #expect(run.exit == 3)
        }
    }

    /// RFC 9110, section 5.5, allows them in values of fields.
    @Test func acceptsTabsInATokenForBearer() async {
        #expect(await swiftaf("https://127.0.0.1:1/", "--bearer", "a\tb").exit == 3)
    }

    /// As in curl, `-s` hides no error of the command line.
    @Test func showsErrorsOfTheCommandLineInSpiteOfSilence() async {
        #expect(await error(["-s", "get"]) == "swiftaf: the URL is missing\nswiftaf --help says how it is used\n")
        #expect(await error(["get", "--json"]) == "swiftaf: the URL is missing\n")
    }

    @Test(arguments: ["a b", "", "a,b", "ä"]) func namesTheOptionOfAnInvalidSubprotocol(name: String) async {
        let error = await error(["ws", "http://127.0.0.1:1/", "--subprotocol", name])
        #expect(error.contains("invalid value '\(name)' for --subprotocol: expected a token"))
    }

    @Test func namesTheFilesOfAClientCertificate() async throws {
        let authority = try TestCertificate.makeAuthority()
        let folder = try TemporaryFolder()
        folder.write(authority.pem, to: "one.pem")
        let path = folder.path + "/one.pem"
        let url = "https://127.0.0.1:1/"
        let keyless = await error([url, "--cert", path])
        #expect(keyless.contains("no private key in \(path); --key PATH"), "\(keyless)")
        let other = await error([url, "--cert", path, "--key", "/etc/passwd"])
        #expect(other.contains("no private key in /etc/passwd; --key PATH"), "\(other)")
        let none = await error([url, "-E", "/etc/passwd:secret"])
        #expect(none.contains("no certificate in /etc/passwd\n") && !none.contains("secret"), "\(none)")
    }

    /// The folder of a mistyped path isn't made: `-P` and `-o DIR/` make theirs.
    @Test func saysThatTheFolderOfAFileIsMissing() async throws {
        let server = try TestServer()
        server.route("/f", .text("abc"))
        let folder = try TemporaryFolder()
        let path = folder.path + "/no/f"
        for words in [["get", server.urlString("/f")], ["download", server.urlString("/f")]] {
            let run = await swiftaf(words + ["-o", path])
            #expect(run.exit == 8)
            #expect(
                run.error.contains("; there is no folder \(folder.path)/no/, which -P or -o DIR/ makes"), "\(run.error)"
            )
        }
        #expect(folder.names.isEmpty)
    }

    /// `upload` has no `-P`.
    @Test func advisesUploadsOnlyWithTheirOptions() async throws {
        let server = try TestServer()
        server.route("/f", .text("abc"))
        let folder = try TemporaryFolder()
        let missing = await swiftaf("upload", server.urlString("/f"), "a=b", "-o", folder.path + "/no/f")
        #expect(missing.exit == 8)
        #expect(
            missing.error.contains("; there is no folder \(folder.path)/no/, which -o DIR/ makes"), "\(missing.error)")
        let whole = await swiftaf("upload", server.urlString("/f"), "a=b", "-o", folder.path)
        #expect(whole.exit == 8)
        #expect(whole.error.contains("; -o \(folder.path)/ writes into this folder"), "\(whole.error)")
        let made = await swiftaf("upload", server.urlString("/f"), "a=b", "-o", folder.path + "/no/")
        #expect(made.exit == 0 && folder.names == [Array("no".utf8)])
    }

    /// The folder of `-P` is made, so its advice would be wrong if that fails.
    @Test(arguments: [["-P", "link/f"], ["-o", "link/f/"]])
    func advisesNothingAboutAFolderThatCanNotBeMade(words: [String]) async throws {
        let server = try TestServer()
        server.route("/f", .text("abc"))
        let folder = try TemporaryFolder()
        #expect(symlink("missing", folder.path + "/link") == 0)
        for command in ["get", "download"] {
            let run = await swiftaf([command, server.urlString("/f"), words[0], "\(folder.path)/\(words[1])"])
            #expect(run.exit == 8 && run.error.hasSuffix(": No such file or directory\n"), "\(run.error)")
        }
    }
}
