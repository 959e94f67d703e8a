import Dispatch
import Foundation
import SwiftAF
import Testing

extension Interop {
    /// Downloads that break off and go on, by the range requests of a real server.
    @Suite struct Resumption {
        let servers: RealServers
        let manager: HTTPSessionManager
        let folder: TemporaryFolder

        init() async throws {
            servers = try await RealServers.shared
            manager = servers.manager()
            manager.completionQueue = DispatchQueue(label: "completions")
            folder = try TemporaryFolder()
        }

        /// A token from the middle.
        private func brokenOff(_ url: String, of size: Int = Payload.large.count) async throws -> ResumeToken {
            var request = HTTPRequest(url)
            request.rateLimit.receiveBytesPerSecond = 100_000
            let (moves, continuation) = AsyncStream.makeStream(of: Int64.self)
            let task = manager.downloadTask(
                for: request, to: folder.file("film"), options: .keepsPartialFile,
                progress: { continuation.yield($0.received) }, completionHandler: { _, _, _ in continuation.finish() })
            task.resume()
            for await received in moves where received > 0 { break }
            let token = try #require(await task.cancelProducingResumeToken())
            #expect(token.totalBytes == Int64(size))
            #expect(token.bytesReceived > 0)
            #expect(token.bytesReceived < Int64(size))
            return token
        }

        @Test(arguments: [Nginx.Listener.plain, .tls])
        func resumesDownloadWithToken(_ listener: Nginx.Listener) async throws {
            let token = try await brokenOff(servers.nginx.url("/files/large.bin", listener))
            let answer = try await servers.manager().download(token.url, to: .resuming(token))
            #expect(answer.status == 206)
            #expect(answer.resumption == .resumed)
            #expect(answer.offset == token.bytesReceived)
            #expect(try folder.read("film") == Payload.large)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["film"])
        }

        /// As after a program that was killed before it could note how much it had received.
        @Test func everythingThereIsEnough() async throws {
            let noted = try await brokenOff(servers.nginx.url("/files/large.bin"))
            let token = try ResumeToken(
                text: noted.text.replacing("received \(noted.bytesReceived)\n", with: "received 0\n"),
                filePath: noted.filePath)
            #expect(token.bytesReceived == 0)
            let part = try #require(FileHandle(forWritingAtPath: token.filePath + ".part"))
            let there = try part.seekToEnd()
            try part.write(contentsOf: Payload.large.dropFirst(Int(there)))
            try part.close()
            let answer = try await manager.download(token.url, to: .resuming(token))
            #expect(answer.status == 416)
            #expect(answer.resumption == .alreadyComplete)
            #expect(try folder.read("film") == Payload.large)
        }

        @Test func restartsWhenServerHasAnotherVersion() async throws {
            let name = "resumed-\(UInt64.random(in: 0 ... .max))"
            let url = servers.nginx.url("/dav/\(name)")
            defer { servers.nginx.forget(name) }
            _ = try await manager.response(for: HTTPRequest(.put, url, body: .data(Payload.upload)))
            let token = try await brokenOff(url, of: Payload.upload.count)
            let other = Payload.upload + Data("more".utf8)
            _ = try await manager.response(for: HTTPRequest(.put, url, body: .data(other)))
            let answer = try await manager.download(token.url, to: .resuming(token))
            #expect(answer.status == 200)
            #expect(answer.resumption == .restarted)
            #expect(try folder.read("film") == other)
        }
    }
}
