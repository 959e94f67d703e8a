import Foundation
import SwiftAF
import Testing

extension Interop {
    @Suite struct Redirects {
        let servers: RealServers
        let manager: HTTPSessionManager

        init() async throws {
            servers = try await RealServers.shared
            manager = servers.manager(servers.httpbin.origin)
        }

        @Test(arguments: ["/redirect/5", "/relative-redirect/5", "/absolute-redirect/5"])
        func areFollowedToTheEnd(_ path: String) async throws {
            let response = try await manager.response(for: HTTPRequest(path))
            #expect(response.status == 200)
            #expect(response.url == servers.httpbin.url("/get"))
            #expect(response.metrics.redirects.map(\.status) == [302, 302, 302, 302, 302])
            #expect(response.metrics.hops.dropFirst().allSatisfy { $0.isReused })
        }

        @Test func failsBeyondRedirectLimit() async throws {
            var request = HTTPRequest("/redirect/3")
            request.redirectPolicy = .follow(atMost: 3)
            #expect(try await manager.response(for: request).status == 200)
            request.redirectPolicy = .follow(atMost: 2)
            #expect(try await sessionError { try await manager.response(for: request) }.code == .redirect)
        }

        @Test func aLoopEnds() async throws {
            let loop = HTTPRequest(servers.nginx.url("/loop"))
            #expect(try await sessionError { try await manager.response(for: loop) }.code == .redirect)
        }

        @Test func areAnAnswerIfNotFollowed() async throws {
            var request = HTTPRequest("/redirect/3")
            request.redirectPolicy = .doNotFollow
            let response = try await manager.response(for: request)
            #expect(response.status == 302)
            #expect(response.headers["Location"] == "/relative-redirect/2")
            #expect(!response.body.isEmpty)
        }

        @Test func credentialsStayWithTheirOrigin() async throws {
            var headers: HTTPHeaders = ["Cookie": "id=1", "X-Plain": "kept"]
            headers.authorization = .bearer("secret")
            headers.add(name: "X-Token", value: "secret", isSecret: true)
            let away: [String: String] = try await manager.get(
                "/redirect-to", parameters: ["url": servers.nginx.url("/echo")], headers: headers)
            #expect(away["authorization"] == "")
            #expect(away["cookie"] == "")
            #expect(away["token"] == "")
            #expect(away["plain"] == "kept")
            #expect(away["host"] == servers.nginx.origin().replacing("http://", with: ""))

            let home: JSONValue = try await manager.get("/redirect-to?url=/anything", headers: headers)
            #expect(home["headers"]?["Authorization"] == "Bearer secret")
            #expect(home["headers"]?["Cookie"] == "id=1")
            #expect(home["headers"]?["X-Token"] == "secret")
        }

        @Test func credentialsOfTheURLStayWithTheirOrigin() async throws {
            let url = servers.httpbin.url("/redirect-to?url=" + servers.nginx.url("/echo"))
            let request = HTTPRequest(url.replacing("http://127", with: "http://ada:secret@127", maxReplacements: 1))
            let echo: [String: String] = try await manager.response(for: request).value()
            #expect(echo["authorization"] == "")
        }

        @Test(arguments: [(301, "GET"), (302, "GET"), (303, "GET"), (307, "POST"), (308, "POST")])
        func aPostIsRepeatedOrBecomesAGet(_ status: Int, _ method: String) async throws {
            let echo: JSONValue = try await manager.post(
                "/redirect-to?url=/anything&status_code=\(status)", parameters: ["name": "Ada"])
            #expect(echo["method"]?.string == method)
            #expect(echo["form"] == (method == "POST" ? ["name": "Ada"] : [:]))
            #expect((echo["headers"]?["Content-Type"] == nil) == (method == "GET"))
        }

        @Test(arguments: [301, 302, 307, 308])
        func aPutIsRepeated(_ status: Int) async throws {
            let echo: JSONValue = try await manager.put(
                "/redirect-to?url=/anything&status_code=\(status)", parameters: ["name": "Ada"])
            #expect(echo["method"] == "PUT")
            #expect(echo["form"] == ["name": "Ada"])
        }

        @Test func aStreamIsRepeatedIfItCanBe() async throws {
            let text = String(repeating: "again and ", count: 20_000)
            let body = HTTPBody.stream { Pieces(of: Data(text.utf8), size: 7000) }
            let response = try await manager.response(
                for: HTTPRequest(.post, servers.nginx.url("/to-httpbin"), body: body))
            #expect(try response.json()["data"]?.string == text)

            let once = HTTPBody.stream(once: Pieces(of: Data(text.utf8), size: 7000))
            var request = HTTPRequest(.post, servers.nginx.url("/to-httpbin"), body: once)
            request.continueExpectation = .never
            // nginx redirects without reading. If that is here before the first piece is sent, all of them still can be.
            do throws(SessionError) {
                #expect(try await manager.response(for: request).json()["data"]?.string == text)
            } catch {
                #expect(error.code == .bodyNotReplayable)
            }
        }

        @Test func leavingTLSIsRefusedUnlessAllowed() async throws {
            var request = HTTPRequest(servers.nginx.url("/to-httpbin", .tls))
            #expect(try await sessionError { try await manager.response(for: request) }.code == .redirect)
            request.redirectPolicy = RedirectPolicy(allowsInsecureDowngrade: true)
            #expect(try await manager.response(for: request).url == servers.httpbin.url("/anything"))
        }
    }
}
