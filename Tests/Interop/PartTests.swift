import Foundation
import SwiftAF
import Testing

extension Interop {
    /// Parts, heads and answers that say "you have it already": all without a body where others have one, on
    /// connections that go on being used.
    @Suite struct PartsAndConditions {
        let servers: RealServers
        let manager: HTTPSessionManager

        init() async throws {
            servers = try await RealServers.shared
            manager = servers.manager(servers.nginx.origin())
        }

        @Test(arguments: [Nginx.Listener.plain, .tls])
        func aRangeIsAPart(_ listener: Nginx.Listener) async throws {
            let url = servers.nginx.url("/files/small.bin", listener)
            let part = try await manager.response(for: HTTPRequest(url, headers: ["Range": "bytes=100-299"]))
            #expect(part.status == 206)
            #expect(part.headers["Content-Range"] == "bytes 100-299/10000")
            #expect(part.body == Payload.small[100..<300])
            let end = try await manager.response(for: HTTPRequest(url, headers: ["Range": "bytes=-10"]))
            #expect(end.body == Payload.small.suffix(10))
        }

        @Test func aRangeBeyondTheEndIsRefused() async throws {
            let request = HTTPRequest("/files/small.bin", headers: ["Range": "bytes=10000-"])
            let response = try await manager.response(for: request)
            #expect(response.status == 416)
            #expect(response.headers["Content-Range"] == "bytes */10000")
        }

        @Test func httpbinGivesRangesToo() async throws {
            let url = servers.httpbin.url("/range/1024?chunk_size=100")
            let part = try await manager.response(for: HTTPRequest(url, headers: ["Range": "bytes=26-51"]))
            #expect(part.status == 206)
            #expect(try part.text() == "abcdefghijklmnopqrstuvwxyz")
        }

        @Test func anInterruptedDownloadIsCompletedByARange() async throws {
            let whole = try await manager.response(for: HTTPRequest("/files/small.bin"))
            let tag = try #require(whole.headers["ETag"])
            let headers: HTTPHeaders = ["Range": "bytes=4000-", "If-Range": tag]
            let rest = try await manager.response(for: HTTPRequest("/files/small.bin", headers: headers))
            #expect(rest.status == 206)
            #expect(whole.body.prefix(4000) + rest.body == Payload.small)
            let changed: HTTPHeaders = ["Range": "bytes=4000-", "If-Range": "\"another\""]
            let again = try await manager.response(for: HTTPRequest("/files/small.bin", headers: changed))
            #expect(again.status == 200)
            #expect(again.body == Payload.small)
        }

        @Test(arguments: [Nginx.Listener.plain, .tls, .http2])
        func aHeadHasALengthAndNoBody(_ listener: Nginx.Listener) async throws {
            var request = HTTPRequest(.head, servers.nginx.url("/files/large.bin", listener))
            if listener == .http2 { request.httpVersion = .http2PriorKnowledge }
            var connections: Set<String> = []
            for _ in 0..<3 {
                let response = try await manager.response(for: request)
                #expect(response.status == 200)
                #expect(response.head.contentLength == 64 << 20)
                #expect(response.body.isEmpty)
                connections.insert(response.connection)
            }
            // libcurl before 8 can't use a connection twice that began with prior knowledge.
            #expect(connections.count == 1 || listener == .http2)
        }

        @Test func whatDidNotChangeHasNoBody() async throws {
            let first = try await manager.response(for: HTTPRequest("/files/small.bin"))
            let tag = try #require(first.headers["ETag"])
            let date = try #require(first.headers["Last-Modified"])
            for condition in ["If-None-Match": tag, "If-Modified-Since": date] {
                let request = HTTPRequest("/files/small.bin", headers: [condition.key: condition.value])
                let second = try await manager.response(for: request)
                #expect(second.status == 304)
                #expect(second.body.isEmpty)
                #expect(second.headers["ETag"] == tag)
                #expect(second.connection == first.connection)
            }
            let third = try await manager.response(for: HTTPRequest("/files/small.bin"))
            #expect(third.connection == first.connection)
            #expect(third.body == first.body)
        }

        @Test func httpbinKnowsConditionsToo() async throws {
            let etag = HTTPRequest(servers.httpbin.url("/etag/abc"), headers: ["If-None-Match": "\"abc\""])
            #expect(try await manager.response(for: etag).status == 304)
            let cache = HTTPRequest(servers.httpbin.url("/cache"), headers: ["If-None-Match": "\"any\""])
            #expect(try await manager.response(for: cache).status == 304)
            let fails = HTTPRequest(servers.httpbin.url("/etag/abc"), headers: ["If-Match": "\"other\""])
            #expect(try await manager.response(for: fails).status == 412)
        }
    }
}
