import AFTestServer
import FoundationEssentials
import Glibc
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// Forms of parts, from the command line onto the wire.
@Suite struct UploadTests {
    let server: TestServer

    init() throws {
        server = try TestServer()
    }

    /// The parts of the only request, each as its head and body, once its boundary and length were checked.
    private func parts() throws -> [String] {
        let request = try #require(server.requests.first)
        let type = try #require(request["Content-Type"].flatMap { MediaType($0) })
        #expect(type.essence == "multipart/form-data")
        let boundary = try #require(type.parameter("boundary"))
        if let length = request["Content-Length"] { #expect(Int(length) == Int(request.bodyLength)) }
        let text = request.bodyText
        let end = "--\(boundary)--\r\n"
        #expect(text.hasSuffix(end))
        let pieces = text.dropLast(end.count).split(separator: "--\(boundary)\r\n", omittingEmptySubsequences: false)
        #expect(pieces.first == "")
        return pieces.dropFirst().map { piece in
            #expect(piece.hasSuffix("\r\n"))
            return String(piece.dropLast())
        }
    }

    private func disposition(_ name: String, _ rest: String) -> String {
        "Content-Disposition: form-data; name=\"\(name)\"\(rest)"
    }

    @Test func aPartIsStandardInput() async throws {
        let pipe = try InputPipe()
        pipe.send(Data("piped".utf8))
        let run = await swiftaf(server.urlString(), "-F", "f=@-;type=text/x", input: pipe.reading)
        #expect(run.exit == 0)
        #expect(try parts() == [disposition("f", "; filename=\"-\"\r\nContent-Type: text/x\r\n\r\npiped")])
    }

    @Test func partsHaveTypesAndNamesAsInCurl() async throws {
        let folder = try TemporaryFolder()
        folder.write("text", to: "a;b.png")
        let path = folder.path + "/a;b.png"
        let run = await swiftaf(
            server.urlString(), "-F", "a=1;type=text/x", "-F", #"b="2;type=x\"y\\z";filename=b.png"#, "-F", "c=3;4",
            "-F", "d=\"5", "-F", "e=<\(path);type=text/y", "-F", "f=<\(path)",
            "-F", "g=@\(path);filename=\"q\\\"; r.txt\"", "-F", "h=@\"\(path)\"", "-F", #"i="6\n"7"#)
        #expect(run.exit == 0)
        let type = "\r\nContent-Type: "
        #expect(
            try parts() == [
                disposition("a", "\(type)text/x\r\n\r\n1"),
                disposition("b", "; filename=\"b.png\"\(type)image/png\r\n\r\n2;type=x\"y\\z"),
                disposition("c", "\r\n\r\n3;4"),
                disposition("d", "\r\n\r\n\"5"),
                disposition("e", "\(type)text/y\r\n\r\ntext"),
                disposition("f", "\r\n\r\ntext"),
                disposition("g", "; filename=\"q%22; r.txt\"\(type)image/png\r\n\r\ntext"),
                disposition("h", "; filename=\"a;b.png\"\(type)image/png\r\n\r\ntext"),
                disposition("i", "\r\n\r\n\"6\\n\"7"),
            ])
        for wrong in ["a=1;type=x", "a=1;filename=", "a=@", "a=<", "a=@;type=a/b"] {
            #expect(await swiftaf(server.urlString(), "-F", wrong).exit == 1, "\(wrong)")
        }
    }

    @Test func partsInTheirOrder() async throws {
        let file = try TemporaryFile("file's text")
        let run = await swiftaf(
            "upload", server.urlString("/up"), "b=2", "a=@\(file.path)",
            "photo@\(file.path);type=image/png;filename=a\"b.png", "n:=5", "list:=[1,\"x\"]", "X-Trace:1", "q==1",
            "raw@\(file.path)")
        #expect(run.exit == 0)
        let request = try #require(server.requests.first)
        #expect(request.method == "POST")
        #expect(request.target == "/up?q=1")
        #expect(request["X-Trace"] == "1")
        #expect(request["Content-Length"] != nil)
        let type = "\r\nContent-Type: "
        #expect(
            try parts() == [
                disposition("b", "\r\n\r\n2"),
                disposition("a", "\r\n\r\nfile's text"),
                disposition("photo", "; filename=\"a%22b.png\"\(type)image/png\r\n\r\nfile's text"),
                disposition("n", "\r\n\r\n5"),
                disposition("list", "\r\n\r\n[1,\"x\"]"),
                disposition("raw", "; filename=\"file\"\(type)application/octet-stream\r\n\r\nfile's text"),
            ])
    }

    @Test func sendsFormWithOtherMethods() async throws {
        #expect(await swiftaf("upload", server.urlString(), "a=b", "--method", "PUT").exit == 0)
        #expect(await swiftaf("patch", server.urlString(), "a=b", "--multipart").exit == 0)
        #expect(server.requests.map(\.method) == ["PUT", "PATCH"])
        #expect(server.requests.allSatisfy { $0["Content-Type"]?.hasPrefix("multipart/form-data; boundary=") == true })
        let run = await swiftaf("post", server.urlString(), "a=b", "--method", "PUT", "--json")
        #expect(run.exit == 1)
        #expect(run.code == "usage")
        #expect(await swiftaf("upload", server.urlString(), "a=b", "-d", "x", "--json").code == "usage")
        #expect(await swiftaf("upload", server.urlString(), "--json").code == "usage")
        #expect(server.requests.count == 2)
    }

    /// Their size is 0, whatever can be read.
    @Test func filesOfTheKernelAreSentWhole() async throws {
        let content = try String(contentsOfFile: "/proc/version", encoding: .utf8)
        #expect(await swiftaf("post", server.urlString(), "-d", "@/proc/version").exit == 0)
        let input = open("/proc/version", O_RDONLY | O_CLOEXEC)
        #expect(await swiftaf("post", server.urlString(), input: input).exit == 0)
        close(input)
        #expect(await swiftaf("upload", server.urlString(), "f@/proc/version").exit == 0)
        let bodies = server.requests.map(\.bodyText)
        #expect(bodies.count == 3 && bodies.prefix(2).allSatisfy { $0 == content } && !content.isEmpty)
        #expect(bodies.last?.contains("\r\n\r\n\(content)\r\n") == true)
    }

    @Test func emptyFilesHaveALength() async throws {
        let file = try TemporaryFile("")
        #expect(await swiftaf("post", server.urlString(), "-d", "@\(file.path)").exit == 0)
        #expect(server.requests.first?["Content-Length"] == "0" && server.requests.first?.bodyText == "")
    }

    @Test func filesThatHaveNoLengthAreStreamed() async throws {
        let run = await swiftaf("upload", server.urlString(), "empty@/dev/null")
        #expect(run.exit == 0)
        #expect(server.requests.first?["Transfer-Encoding"] == "chunked")
        let head = disposition("empty", "; filename=\"null\"\r\nContent-Type: application/octet-stream")
        #expect(try parts() == ["\(head)\r\n\r\n"])
    }

    @Test func largeFilesAndWhatTheReportSays() async throws {
        let file = try TemporaryFile(Data(repeating: 0x61, count: 3_000_000))
        let run = await swiftaf("upload", server.urlString(), "film@\(file.path)", "--json")
        #expect(run.exit == 0)
        let request = try #require(server.requests.first)
        #expect(run.json["sent"]?.integer == Int64(request.bodyLength))
        #expect(request.bodyLength > 3_000_000)
    }

    @Test func returnsBodyOfRefusedUpload() async throws {
        server.route("/", .text("no", status: 413))
        let run = await swiftaf("upload", server.urlString(), "a=b", "--json")
        #expect(run.exit == 2)
        #expect(run.json["body"] == "no")
    }

    @Test func longUploadsShowABar() async throws {
        let file = try TemporaryFile(Data(repeating: 0x61, count: 40_000_000))
        server.route("/", [.readHeadOnly, .stall(at: "bar"), .readBody, .text("done")])
        // The body is read when the bar knows of it.
        let terminal = MemorySink(isTerminal: true) { [server] text in
            if text.contains("/38.1 MiB") { server.open("bar") }
        }
        let run = await swiftaf("upload", server.urlString(), "film@\(file.path)", error: terminal)
        #expect(run.text == "done")
        #expect(run.error.hasPrefix("\r"))
        #expect(run.error.contains("/38.1 MiB"))
        #expect(run.error.contains(" left"))
    }
}

/// What a process of its own shows: nothing else has a share in its memory.
@Suite(.enabled(if: ProgramRun.isExpected, "the program was not built beside the tests"))
struct UploadProgramTests {
    @Test func aLargeFileGoesThroughLittleMemory() async throws {
        let size = 300 << 20
        let file = try TemporaryFile("")
        #expect(truncate(file.path, off_t(size)) == 0)
        let server = try TestServer()
        // At the gate, the whole body has come.
        server.route("/", [.stall(at: "read"), .text("done")])
        let run = try ProgramRun(
            ProgramRun.path ?? "", "upload", server.urlString(), "film@\(file.path)", "--idle-timeout", "0")
        #expect(await server.wait(for: .stalled(at: "read")))
        #expect(server.requests[0].bodyLength > size)
        #expect(try #require(run.peakResidentBytes) < size / 3)
        server.open("read")
        #expect(await run.readAll() == "done")
        #expect(await run.wait() == 0)
    }
}
