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
            #expect(try servers.nginx.uploaded(name) == folder.read("form"))
        }
    }
}
