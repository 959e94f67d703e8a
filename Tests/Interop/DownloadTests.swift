import Foundation
import SwiftAF
import Testing

extension Interop {
    /// Bodies that are received: in memory, in a file, piece by piece.
    @Suite struct Downloads {
        let servers: RealServers
        let manager: HTTPSessionManager
        let folder: TemporaryFolder

        init() async throws {
            servers = try await RealServers.shared
            manager = servers.manager()
            folder = try TemporaryFolder()
        }

        @Test(arguments: [Nginx.Listener.plain, .tls])
        func aLargeBodyComesIntoMemory(_ listener: Nginx.Listener) async throws {
            let response = try await manager.response(for: HTTPRequest(servers.nginx.url("/files/large.bin", listener)))
            #expect(response.body == Payload.large)
            #expect(response.head.bytesReceived >= Int64(Payload.large.count))
        }

        @Test(arguments: [Nginx.Listener.plain, .tls])
        func aLargeBodyComesIntoAFile(_ listener: Nginx.Listener) async throws {
            let request = HTTPRequest(servers.nginx.url("/files/large.bin", listener))
            let response = try await manager.download(request, to: folder.file("large"))
            #expect(response.fileSize == Int64(Payload.large.count))
            #expect(try folder.read("large") == Payload.large)
        }

        @Test(arguments: [Nginx.Listener.plain, .tls])
        func aLargeBodyComesInPieces(_ listener: Nginx.Listener) async throws {
            let streamed = try await manager.stream(HTTPRequest(servers.nginx.url("/files/large.bin", listener)))
            #expect(streamed.head.contentLength == Int64(Payload.large.count))
            var position = 0
            var isEqual = true
            for try await piece in streamed.bytes {
                isEqual = isEqual && piece == Payload.large[position..<min(position + piece.count, Payload.large.count)]
                position += piece.count
            }
            #expect(isEqual)
            #expect(position == Payload.large.count)
        }

        @Test func aStreamCanBeLeft() async throws {
            let request = HTTPRequest(servers.nginx.url("/files/large.bin"))
            for _ in 0..<5 {
                let streamed = try await manager.stream(request)
                for try await piece in streamed.bytes {
                    #expect(piece == Payload.large.prefix(piece.count))
                    break
                }
            }
            let after = try await manager.response(for: HTTPRequest(servers.nginx.url("/small")))
            #expect(try after.text() == "small")
        }

        @Test func aBodyBeyondTheLimitIsRefused() async throws {
            var request = HTTPRequest(servers.nginx.url("/files/large.bin"))
            request.limits.maximumBodySize = Int64(Payload.large.count) - 1
            #expect(try await sessionError { try await manager.response(for: request) }.code == .tooLarge)
        }

        @Test func anErrorPageLeavesTheFileAsItWas() async throws {
            try folder.write("old", to: "file")
            let request = HTTPRequest(servers.nginx.url("/missing"))
            let error = try await sessionError { try await manager.download(request, to: folder.file("file")) }
            #expect(error.code == .status)
            #expect(error.body?.isEmpty == false)
            #expect(try folder.read("file") == Data("old".utf8))
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["file"])
        }

        /// Over HTTP/2 only the stream ends, and the connection is used again.
        @Test func cancelledBodyKeepsHTTP2Connection() async throws {
            var request = HTTPRequest(servers.nginx.url("/files/large.bin", .tls))
            request.responseHandler = { _ in .cancel }
            _ = try await manager.response(for: HTTPRequest(servers.nginx.url("/small", .tls)))
            let error = try await sessionError { try await manager.response(for: request) }
            #expect(error.code == .cancelled)
            #expect(error.response?.version == .http2)
            #expect(error.response?.contentLength == Int64(Payload.large.count))
            let after = try await manager.response(for: HTTPRequest(servers.nginx.url("/small", .tls)))
            #expect(after.metrics.hops.last?.isReused == true)
        }

        @Test(arguments: [Nginx.Listener.plain, .tls])
        func aResponseBecomesADownload(_ listener: Nginx.Listener) async throws {
            var request = HTTPRequest(servers.nginx.url("/files/large.bin", listener))
            request.responseHandler = { [folder] in .download(to: folder.file($0.suggestedFileName)) }
            let response = try await manager.response(for: request)
            #expect(response.filePath == folder.file("large.bin"))
            #expect(response.body.isEmpty)
            #expect(try folder.read("large.bin") == Payload.large)
        }

        @Test func aSlowBodyShowsItsProgress() async throws {
            let progress = Locked<[TransferProgress]>([])
            let request = HTTPRequest(servers.nginx.url("/slow"))
            let response = try await manager.response(for: request) { value in progress.withLock { $0.append(value) } }
            #expect(response.body == Payload.medium)
            let seen = progress.withLock { $0 }
            let received = seen.map(\.received)
            #expect(received == received.sorted())
            #expect(received.contains { $0 > 0 && $0 < Int64(Payload.medium.count) })
            #expect(seen.last?.received == Int64(Payload.medium.count))
            #expect(seen.last?.receivedTotal == Int64(Payload.medium.count))
            #expect(seen.last?.fractionCompleted == 1)
        }

        @Test func aJSONLineComesAtATime() async throws {
            let streamed = try await manager.stream(HTTPRequest(servers.httpbin.url("/stream/25")))
            var text = Data()
            for try await piece in streamed.bytes { text += piece }
            let lines = text.split(separator: UInt8(ascii: "\n"))
            #expect(try lines.map { try JSONValue(parsing: Data($0))["id"]?.int } == Array(0..<25))
            #expect(streamed.headers["Transfer-Encoding"] == "chunked")
        }

        @Test func drippingBytesAllArrive() async throws {
            let streamed = try await manager.stream(HTTPRequest(servers.httpbin.url("/drip?numbytes=5&duration=2")))
            var pieces: [Data] = []
            for try await piece in streamed.bytes { pieces.append(piece) }
            #expect(Data(pieces.joined()) == Data("*****".utf8))
        }
    }
}
