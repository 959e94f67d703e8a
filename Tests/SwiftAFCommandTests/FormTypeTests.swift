import AFTestServer
import FoundationEssentials
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// Forms with a Content-Type of the command line, and parts from standard input.
@Suite struct FormTypeTests {
    private let server: TestServer
    private var url: String { server.urlString("/") }

    init() throws {
        server = try TestServer()
        server.route("/", .text("done"))
    }

    @Test(arguments: [
        (["upload", "URL", "a=1", "Content-Type:multipart/form-data"], "multipart/form-data; boundary="),
        (
            ["post", "URL", "--multipart", "a=1", "content-type:multipart/related; type=x"],
            "multipart/related; type=x; boundary="
        ),
        (["-F", "a=1", "-H", "Content-Type: multipart/mixed", "URL"], "multipart/mixed; boundary="),
    ])
    func aMultipartTypeGetsTheBoundary(words: [String], type: String) async throws {
        let run = await swiftaf(words.map { $0 == "URL" ? url : $0 })
        let request = try #require(server.requests.first)
        let sent = try #require(request["Content-Type"])
        #expect(run.exit == 0 && sent.hasPrefix(type))
        #expect(request.bodyText.hasPrefix("--\(sent.dropFirst(type.count))\r\n"))
    }

    @Test(arguments: [
        ("true", "true"), ("null", "null"), ("false", "false"), ("1.50", "1.50"), (#""x y""#, "x y"), ("[]", "[]"),
        (#" {"b":1.0, "b":[2]} "#, #"{"b":1.0, "b":[2]}"#),
    ])
    func sendsJSONValueAsWritten(json: String, sent: String) async throws {
        let file = try TemporaryFile(json)
        for item in ["field:=\(json)", "field:=@\(file.path)"] {
            #expect(await swiftaf("post", url, "--multipart", item).exit == 0)
            #expect(server.requests.last?.bodyText.contains("name=\"field\"\r\n\r\n\(sent)\r\n--") == true)
            #expect(await swiftaf("post", url, "--form", item).exit == 0)
            #expect(server.requests.last?.bodyText == "field=\(ParameterEncoder.escape(sent))")
        }
    }

    @Test func refusesFormWithoutParts() async {
        #expect(await swiftaf("upload", url).error.contains("a form needs a field or a file"))
        #expect(server.requests.isEmpty)
    }

    @Test func aGivenBoundaryIsThatOfTheForm() async throws {
        let run = await swiftaf("upload", url, "a=1", "Content-Type:multipart/form-data; boundary=own")
        let request = try #require(server.requests.first)
        #expect(run.exit == 0 && request["Content-Type"] == "multipart/form-data; boundary=own")
        #expect(request.bodyText.hasPrefix("--own\r\n") && request.bodyText.hasSuffix("--own--\r\n"))
        let clash = await swiftaf("upload", url, "a=--own", "Content-Type:multipart/form-data; boundary=own")
        #expect(clash.exit == 1 && server.requests.count == 1)
    }

    @Test(arguments: ["application/json", "text/plain; boundary=x", "nonsense"])
    func otherTypesAreRefused(type: String) async {
        let run = await swiftaf("upload", url, "a=1", "Content-Type:\(type)", "--json")
        #expect(run.exit == 1 && run.code == "usage" && server.requests.isEmpty)
        #expect(run.error.contains("not as '\(type)'; --form "))
    }

    @Test func theCurlCommandHasTheType() async {
        let run = await swiftaf("-F", "a=1", url, "Content-Type:multipart/mixed", "--as-curl", "--ignore-stdin")
        #expect(run.text.contains("'Content-Type: multipart/mixed'"))
    }

    @Test(arguments: [("a=<-", ""), ("a=<-;type=text/x", "Content-Type: text/x\r\n")])
    func aPartHasTheTextOfStandardInput(part: String, type: String) async throws {
        let pipe = try InputPipe()
        pipe.send(Data("from a pipe".utf8))
        let run = await swiftaf(["-F", part, url], input: pipe.reading)
        let text = try #require(server.requests.first).bodyText
        #expect(run.exit == 0)
        #expect(text.contains("form-data; name=\"a\"\r\n\(type)\r\nfrom a pipe\r\n"), "\(text)")
    }

    @Test func theNameOfStandardInputDecidesItsType() async throws {
        let pipe = try InputPipe()
        pipe.send(Data("hi".utf8))
        let run = await swiftaf("-F", "f=@-;filename=z.txt", url, input: pipe.reading)
        #expect(run.exit == 0)
        #expect(try #require(server.requests.first).bodyText.contains("Content-Type: text/plain\r\n"))
    }
}
