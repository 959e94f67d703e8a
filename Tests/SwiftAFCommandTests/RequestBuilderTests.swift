import AFTestServer
import FoundationEssentials
import SwiftAF
import Testing

@testable import SwiftAFCommand

@Suite struct RequestBuilderTests {
    private func build(_ arguments: String...) throws -> HTTPRequest {
        try build(arguments)
    }

    private func build(_ arguments: [String]) throws -> HTTPRequest {
        let invocation = ArgumentParser.parse(arguments)
        guard case .request(let command) = try parsed(invocation) else {
            throw UsageError("no request")
        }
        return try RequestBuilder(command: command, options: invocation.options, input: 0).build()
    }

    /// Returns the command, or throws the error as the program reports it.
    private func parsed(_ invocation: Invocation) throws -> Command {
        do {
            return try invocation.command.get()
        } catch {
            throw Failure(error)
        }
    }

    private func text(_ request: HTTPRequest) -> String? {
        request.body.data.map { String(decoding: $0, as: UTF8.self) }
    }

    // MARK: Head

    @Test func fieldsOfGAreQueryItems() async throws {
        let server = try TestServer()
        #expect(await swiftaf("-G", server.urlString("/?a=0"), "-d", "b=1", "c=2 3", "d==4").exit == 0)
        let request = server.requests.first
        #expect(request?.method == "GET" && request?.target == "/?a=0&b=1&c=2%203&d=4" && request?.bodyText == "")
    }

    @Test func setsDefaultsOfRequest() throws {
        let request = try build("get", "http://h/")
        #expect(request.headers.map(\.name) == ["Accept", "User-Agent"])
        #expect(request.headers["User-Agent"]?.hasPrefix("swiftaf/") == true)
        #expect(request.body.isNone)
        #expect(request.decompressesBody == true)
        #expect(request.redirectPolicy == .follow)
    }

    @Test func headersAreSentEachTimeAndInOrder() throws {
        let request = try build("get", "http://h/", "X-B:2", "x-a:1", "X-B:3", "accept:text/html", "User-Agent:")
        #expect(request.headers.map(\.name) == ["X-B", "x-a", "X-B", "accept"])
        #expect(request.headers.values(named: "X-B") == ["2", "3"])
        #expect(request.headers.suppressedDefaults == ["User-Agent"])
    }

    @Test func bearerTokensAreCredentials() throws {
        let request = try build("get", "http://h/", "--bearer", "t0ken")
        #expect(request.headers["Authorization"] == "Bearer t0ken")
        #expect(request.headers[0].isSecret)
    }

    @Test(arguments: [
        ("http://h", "http://h?a=1"), ("http://h/p?x=y", "http://h/p?x=y&a=1"), ("http://h/p?", "http://h/p?a=1"),
        ("http://h/p?x&", "http://h/p?x&a=1"), ("http://h/p#f?g", "http://h/p?a=1#f?g"),
    ])
    func appendsQueryItemsToURL(url: String, expected: String) throws {
        #expect(try build("get", url, "a==1").url == expected)
    }

    @Test(arguments: ["[b]", "[]", "[0]"])
    func refusesFieldsNestedMoreDeeplyThanJSONCanBe(step: String) throws {
        func field(_ levels: Int, _ value: String) -> String { "a" + String(repeating: step, count: levels) + value }
        // The object of the whole is a level, too.
        for (levels, value) in [(511, "=1"), (510, ":=[1]")] {
            let body = try #require(try build("post", "http://h/", field(levels, value)).body.data)
            #expect(throws: Never.self) { try JSONValue(parsing: body) }
        }
        for (levels, value) in [(512, "=1"), (511, ":=[1]"), (40_000, "=1")] {
            let failure = #expect(throws: Failure.self) { try build("post", "http://h/", field(levels, value)) }
            #expect(failure?.exit == .input && failure?.message.contains("expected at most 512") == true)
            #expect((failure?.message.utf8.count ?? 0) < 200)
        }
    }

    @Test func queryItemsAreEscaped() throws {
        #expect(try build("get", "http://h/", "a b==ä&=", "c==").url == "http://h/?a%20b=%C3%A4%26%3D&c=")
    }

    @Test func valuesFromFilesEndBeforeTheirLastLineBreak() throws {
        let (one, two) = (try TemporaryFile("one\r\n\n"), try TemporaryFile("a b\nc\n"))
        #expect(try build("get", "http://h/", "X-A:@\(one.path)").headers["X-A"] == "one")
        #expect(try build("get", "http://h/", "q==@\(one.path)").url == "http://h/?q=one")
        #expect(try build("get", "http://h/", "q==@\(two.path)").url == "http://h/?q=a%20b%0Ac")
        let failure = #expect(throws: Failure.self) { try build("get", "http://h/", "X-A:@\(two.path)") }
        #expect(
            failure?.code.name == "invalidInput"
                && failure?.message.contains("'X-A' in \(two.path) has a line break") == true)
    }

    @Test func theHomeFolderIsExpandedBehindAnAt() throws {
        let file = try TemporaryFile("[1]\n")
        func build(_ words: String...) throws -> HTTPRequest {
            let invocation = ArgumentParser.parse(["post", "http://h/"] + words)
            guard case .request(let command) = try parsed(invocation) else {
                throw UsageError("no request")
            }
            let home = file.folder
            return try RequestBuilder(
                command: command, options: invocation.options, input: -1, environment: { ["HOME": home] }
            ).build()
        }
        #expect(try build("-d", "@~/file").body.filePath == file.path)
        #expect(try text(build("a=@~/file", "b:=@~/file")) == "{\"a\":\"[1]\\n\",\"b\":[1]\n}")
        let request = try build("X:@~/file", "q==@~/file", "--bearer", "@~/file")
        #expect(request.headers["X"] == "[1]" && request.url == "http://h/?q=%5B1%5D")
        #expect(request.headers.authorization == .bearer("[1]"))
        #expect(try build("--multipart", "f@~/file", "g=@~/file", "-F", "h=<~/file;type=text/x").body.isReplayable)
        #expect(throws: Failure.self) { try build("a=@~joe/file") }
    }

    // MARK: Body

    @Test func fieldsAreJSON() throws {
        let request = try build(
            "post", "http://h/", "name=Ada", "born:=1815", "url=http://x/", "list:=[1,{\"a\":null}]")
        #expect(text(request) == #"{"name":"Ada","born":1815,"url":"http://x/","list":[1,{"a":null}]}"#)
        #expect(request.headers["Content-Type"] == "application/json")
    }

    @Test func fieldsAsForm() throws {
        let request = try build("post", "http://h/", "--form", "b=2 &", "a=ä", "n:=5", "t:=[1,2]", "b=3")
        #expect(text(request) == "b=2%20%26&a=%C3%A4&n=5&t=%5B1%2C2%5D&b=3")
        #expect(request.headers["Content-Type"] == "application/x-www-form-urlencoded")
        let empty = try build("post", "http://h/", "--form", "--ignore-stdin")
        #expect(text(empty) == nil && empty.headers["Content-Type"] == nil)
    }

    @Test func ownContentTypeWins() throws {
        let request = try build("post", "http://h/", "a=b", "content-type:application/vnd.x+json")
        #expect(request.headers.values(named: "Content-Type") == ["application/vnd.x+json"])
    }

    @Test func rawDataHasNoTypeOfItsOwn() throws {
        let request = try build("post", "http://h/", "-d", "raw")
        #expect(text(request) == "raw")
        #expect(!request.headers.contains(named: "Content-Type"))
        #expect(try text(build("post", "http://h/", "-d", "")) == "")
        #expect(try build("post", "http://h/", "-d", "@-").body.length == nil)
    }

    @Test func readsBodiesAndFieldsFromFiles() throws {
        let file = try TemporaryFile("text\n")
        #expect(try build("post", "http://h/", "-d", "@\(file.path)").body.filePath == file.path)
        #expect(try text(build("post", "http://h/", "a=@\(file.path)")) == #"{"a":"text\n"}"#)
        #expect(try build("post", "http://h/", "-d", "@/dev/null").body.length == nil)
    }

    // MARK: Refused

    private static let secret = "s3cret"

    @Test(
        arguments: [
            (["-d", "x", "a=b"], "usage", "can't be combined with"),
            (["-d", "x", "a=@/f"], "usage", "can't be combined with"),
            (["-d", "x", "--form"], "usage", "--form"),
            (["a@/etc/hosts"], "usage", "file part"),
            (["a@/etc/hosts", "--form"], "usage", "file part"),
            (["-d", "x", "--form", "a=b"], "usage", "--data can't be combined with body fields"),
            (["-d", "x", "--multipart"], "usage", "--data"),
            (["--multipart"], "usage", "a field or a file"),
            (["a==b", "X:y", "--multipart"], "usage", "a field or a file"),
            (["--multipart", "a@/no/such/file"], "invalidInput", "No such file"),
            (["--multipart", "a@/tmp"], "invalidInput", "Is a directory"),
            (["--multipart", "a=@/no/such/file"], "invalidInput", "No such file"),
            (["--multipart", "a\r\nb=s3cret"], "invalidInput", "control character"),
            (["--multipart", "a@/etc/hosts;filename=b\nc"], "invalidInput", "control character"),
            (["--bearer", "s3cret", "Authorization:s3cret"], "usage", "--bearer"),
            (["-d", "@/no/such/file"], "invalidInput", "No such file"),
            (["-d", "@/tmp"], "invalidInput", "Is a directory"),
            (["a=@/no/such/file"], "invalidInput", "No such file"),
            (["Content-Length:3"], "invalidInput", "Content-Length"),
            (["transfer-encoding:chunked"], "invalidInput", "transfer-encoding"),
            (["X-A:s3cret\r\nX-B: 2"], "invalidInput", "control character"),
            (["X-A:s3cret\n"], "invalidInput", "control character"),
            (["X A:s3cret"], "invalidInput", "the header name 'X …' is not a token"),
            (["--bearer", "s3cret\n"], "invalidInput", "control character"),
        ] as [([String], String, String)])
    func refusesInvalidBodiesWithoutShowingSecrets(arguments: [String], code: String, message: String) {
        let failure = #expect(throws: Failure.self) { try build(["post", "http://h/"] + arguments) }
        #expect(failure?.exit == .input)
        #expect(failure?.code.name == code)
        #expect(failure?.message.contains(message) == true)
        #expect(failure?.message.contains(Self.secret) == false)
    }

    @Test(arguments: [
        "", "h:x", "/x", "ftp://h/", "http://", "http:///p", "http://h:x/", "http://h/a\nb", "http://h/\u{7}",
    ])
    func badURLs(url: String) {
        let failure = #expect(throws: Failure.self) { try build("get", url) }
        #expect(failure?.code.name == "invalidInput")
    }

    @Test func refusesInvalidMethodNames() {
        #expect(throws: Failure.self) { try build("request", "GE T", "http://h/") }
        #expect(throws: Failure.self) { try build("request", "", "http://h/") }
    }

    @Test func textOfAFileHasToBeText() throws {
        let file = try TemporaryFile(Data([0xFF, 0xFE]))
        let failure = #expect(throws: Failure.self) { try build("post", "http://h/", "a=@\(file.path)") }
        #expect(failure?.message.contains("UTF-8") == true)
    }

    // MARK: URLs in output

    @Test(arguments: [
        ("http://u:p@h/x@y", "http://h/x@y"), ("http://u@h", "http://h"), ("http://a@b@h?c@d", "http://h?c@d"),
        ("http://h/p", "http://h/p"), ("//u:p@h/", "//h/"), ("/path@x", "/path@x"), ("", ""),
        ("https://u:p@[::1]:8/", "https://[::1]:8/"), ("http://@h/", "http://h/"), ("1http://u:p@h/x", "1http://h/x"),
        ("http://h/?//u:p@h", "http://h/?//u:p@h"),
    ])
    func userInfoIsTakenOut(url: String, expected: String) {
        #expect(URLText(url).withoutUserInfo == expected)
    }
}
