import Foundation
import SwiftAF
import Testing

extension Interop {
    /// Bodies that are sent: nginx stores them, httpbin shows them.
    @Suite struct Uploads {
        let servers: RealServers
        let manager: HTTPSessionManager
        let folder: TemporaryFolder

        init() async throws {
            servers = try await RealServers.shared
            manager = servers.manager()
            folder = try TemporaryFolder()
        }

        static let listeners = [Nginx.Listener.plain, .http2, .tls, .tls12]

        /// Puts a body under a name of its own and gives what nginx has stored.
        private func stored(_ body: HTTPBody, _ listener: Nginx.Listener) async throws -> Data {
            let name = UUID().uuidString
            var request = HTTPRequest(.put, servers.nginx.url("/dav/\(name)", listener), body: body)
            if listener == .http2 { request.httpVersion = .http2PriorKnowledge }
            #expect(try await manager.response(for: request).status == 201)
            defer { servers.nginx.forget(name) }
            return try servers.nginx.uploaded(name)
        }

        @Test(arguments: listeners)
        func uploadedDataArrivesUnchanged(_ listener: Nginx.Listener) async throws {
            #expect(try await stored(.data(Payload.upload), listener) == Payload.upload)
        }

        @Test(arguments: listeners)
        func aFileArrives(_ listener: Nginx.Listener) async throws {
            let path = try folder.write(Payload.upload, to: "upload")
            #expect(try await stored(.file(path), listener) == Payload.upload)
        }

        @Test(arguments: listeners)
        func aStreamOfUnknownLengthArrives(_ listener: Nginx.Listener) async throws {
            let data = Payload.upload.prefix(1 << 20)
            let body = HTTPBody.stream { Pieces(of: data, size: 10_007) }
            #expect(try await stored(body, listener) == data)
        }

        @Test(arguments: listeners)
        func aStreamOfKnownLengthArrives(_ listener: Nginx.Listener) async throws {
            let data = Payload.upload.prefix(1 << 20)
            let body = HTTPBody.stream(length: Int64(data.count)) { Pieces(of: data, size: 333_333) }
            #expect(try await stored(body, listener) == data)
        }

        @Test(arguments: listeners)
        func anEmptyBodyArrives(_ listener: Nginx.Listener) async throws {
            #expect(try await stored(.data(Data()), listener).isEmpty)
            #expect(try await stored(.stream { Pieces(of: Data(), size: 1) }, listener).isEmpty)
        }

        @Test func manyUploadsShareHTTP2Connections() async throws {
            let data = Payload.upload.prefix(300_000)
            let answers = try await withThrowingTaskGroup(of: (String, Response<Data>).self) { group in
                for index in 0..<20 {
                    let name = "shared-\(index)"
                    let body = HTTPBody.stream { Pieces(of: data.dropFirst(index), size: 20_011 + index) }
                    group.addTask {
                        let request = HTTPRequest(.put, servers.nginx.url("/dav/\(name)", .tls), body: body)
                        return (name, try await manager.response(for: request))
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(Set(answers.map(\.1.connection)).count <= manager.maximumHTTP2Connections)
            for index in 0..<20 {
                #expect(try servers.nginx.uploaded("shared-\(index)") == data.dropFirst(index))
                servers.nginx.forget("shared-\(index)")
            }
        }

        @Test(arguments: ["chunked to gunicorn", "through nginx over HTTP/2"])
        func httpbinReadsAStream(_ way: String) async throws {
            struct Reply: Decodable {
                let data: String
                let headers: [String: String]
            }
            let text = String(repeating: "0123456789abcdef", count: 65_536)
            let isDirect = way.hasPrefix("chunked")
            let url = isDirect ? servers.httpbin.url("/post") : servers.nginx.url("/httpbin/post", .tls)
            let body = HTTPBody.stream { Pieces(of: Data(text.utf8), size: 50_021) }
            let response = try await manager.response(
                for: HTTPRequest(.post, url, headers: ["Content-Type": "text/plain"], body: body))
            let reply = try response.value(as: Reply.self)
            #expect(reply.data == text)
            #expect(reply.headers["Transfer-Encoding"] == (isDirect ? "chunked" : nil))
            #expect(response.head.version == (isDirect ? .http1_1 : .http2))
        }

        @Test(arguments: [Nginx.Listener.plain, .tls])
        func aServerThatWantsNoneOfItIsHeard(_ listener: Nginx.Listener) async throws {
            let request = HTTPRequest(.post, servers.nginx.url("/unwilling", listener), body: .data(Payload.upload))
            let response = try await manager.response(for: request)
            #expect(response.status == 413)
            #expect(String(decoding: response.body, as: UTF8.self).contains("413 Request Entity Too Large"))
        }

        @Test func progressGrowsToTheWhole() async throws {
            let progress = Locked<[TransferProgress]>([])
            let path = try folder.write(Payload.upload, to: "upload")
            let request = HTTPRequest(.put, servers.nginx.url("/dav/progress"), body: .file(path))
            _ = try await manager.response(for: request) { value in progress.withLock { $0.append(value) } }
            servers.nginx.forget("progress")
            let sent = progress.withLock { $0.map(\.sent) }
            #expect(sent == sent.sorted())
            #expect(sent.last == Int64(Payload.upload.count))
            #expect(progress.withLock { $0.last?.sentTotal } == Int64(Payload.upload.count))
        }
    }
}
