import Foundation
import SwiftAF
import Testing

extension Interop {
    /// Forms of parts, read by httpbin's parser and stored by nginx.
    @Suite struct Forms {
        let servers: RealServers
        let manager: HTTPSessionManager
        let folder: TemporaryFolder

        init() async throws {
            servers = try await RealServers.shared
            manager = servers.manager()
            folder = try TemporaryFolder()
        }

        /// What httpbin has understood.
        private func answer(_ form: MultipartFormData, _ path: String = "/post") async throws -> JSONValue {
            let request = HTTPRequest(.post, servers.httpbin.url(path), body: .multipart(form))
            let response = try await manager.response(for: request)
            #expect(response.status == 200)
            return try response.json()
        }

        private func form() throws -> MultipartFormData {
            var form = MultipartFormData()
            try form.append("ünï ✂\r\n--", name: "text")
            try form.append("", name: "empty")
            try form.append("1", name: "twice")
            try form.append("2", name: "twice")
            try form.append(Data("<p>".utf8), name: "page", fileName: "näh \"1\".html", mediaType: "text/html")
            try form.append(file: folder.write(Payload.small, to: "small.bin"), name: "small")
            try form.append(length: 10_000, name: "stream", fileName: "s", mediaType: "text/plain") {
                Pieces(of: Data(repeating: 0x61, count: 10_000), size: 999)
            }
            return form
        }

        private func check(_ answer: JSONValue) {
            #expect(
                answer["form"] == ["text": "ünï ✂\r\n--", "empty": "", "twice": ["1", "2"]])
            #expect(answer["files"]?["page"] == "<p>")
            let small = "data:application/octet-stream;base64," + Payload.small.base64EncodedString()
            #expect(answer["files"]?["small"]?.string == small)
            #expect(answer["files"]?["stream"]?.string == String(repeating: "a", count: 10_000))
        }

        @Test func everyPartIsUnderstood() async throws {
            let answer = try await answer(form())
            check(answer)
            #expect(answer["headers"]?["Content-Length"] != nil)
        }

        @Test func aRedirectSendsItAgain() async throws {
            check(try await answer(form(), "/redirect-to?url=/post&status_code=307"))
        }

        @Test func aFormOnDiskIsTheSame() async throws {
            let request = HTTPRequest(.post, servers.httpbin.url("/post"), body: .multipart(try form()))
            let spooled = try await request.writeMultipart(to: folder.file("spooled"))
            check(try await manager.response(for: spooled).json())
        }

        @Test(arguments: [Nginx.Listener.plain, .http2, .tls])
        func nginxStoresWhatIsWritten(_ listener: Nginx.Listener) async throws {
            let name = UUID().uuidString
            let form = try form()
            try await form.write(to: folder.file("form"))
            var request = HTTPRequest(.put, servers.nginx.url("/dav/\(name)", listener), body: .multipart(form))
            if listener == .http2 { request.httpVersion = .http2PriorKnowledge }
            #expect(try await manager.response(for: request).status == 201)
            defer { servers.nginx.forget(name) }
            let stored = try servers.nginx.uploaded(name)
            #expect(try stored == folder.read("form"))
            check(parts: try Self.readByPython(stored, type: form.contentType.description))
        }

        /// A part as Python's reader of mail understands it.
        private struct MailPart: Decodable, Equatable {
            var name: String
            var fileName: String?
            var type: String
            var body: Data
        }

        private static let reader = """
            import base64, email, email.policy, json, sys
            head = b"Content-Type: " + sys.argv[1].encode() + b"\\r\\n\\r\\n"
            policy = email.policy.HTTP.clone(utf8=True)
            message = email.message_from_bytes(head + sys.stdin.buffer.read(), policy=policy)
            print(json.dumps([{
                "name": part.get_param("name", header="Content-Disposition"),
                "fileName": part.get_filename(),
                "type": part.get_content_type() if "Content-Type" in part else "",
                "body": base64.b64encode(part.get_payload(decode=True)).decode(),
            } for part in message.iter_parts()]))
            """

        private static func readByPython(_ form: Data, type: String) throws -> [MailPart] {
            let process = Process()
            let (input, output) = (Pipe(), Pipe())
            process.executableURL = URL(filePath: Httpbin.python)
            process.arguments = ["-c", reader, type]
            process.standardInput = input
            process.standardOutput = output
            // The form is smaller than a pipe. It is written before the process can end, which would raise SIGPIPE.
            try input.fileHandleForWriting.write(contentsOf: form)
            try input.fileHandleForWriting.close()
            try process.run()
            let answer = try output.fileHandleForReading.readToEnd() ?? Data()
            process.waitUntilExit()
            return try JSONDecoder().decode([MailPart].self, from: answer)
        }

        private func check(parts: [MailPart]) {
            let texts = parts.prefix(4).map { [$0.name, String(decoding: $0.body, as: UTF8.self)] }
            #expect(texts == [["text", "ünï ✂\r\n--"], ["empty", ""], ["twice", "1"], ["twice", "2"]])
            #expect(parts.prefix(4).allSatisfy { $0.fileName == nil && $0.type.isEmpty })
            #expect(
                Array(parts.dropFirst(4)) == [
                    MailPart(
                        name: "page", fileName: "näh %221%22.html", type: "text/html", body: Data("<p>".utf8)),
                    MailPart(
                        name: "small", fileName: "small.bin", type: "application/octet-stream", body: Payload.small),
                    MailPart(
                        name: "stream", fileName: "s", type: "text/plain",
                        body: Data(repeating: 0x61, count: 10_000)),
                ])
        }
    }
}
