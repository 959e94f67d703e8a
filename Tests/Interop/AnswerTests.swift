import Foundation
import SwiftAF
import Testing

extension Interop {
    /// Statuses, credentials, cookies, encodings: what an answer says and how it is written.
    @Suite struct Answers {
        let servers: RealServers
        let manager: HTTPSessionManager

        init() async throws {
            servers = try await RealServers.shared
            manager = servers.manager(servers.httpbin.origin)
        }

        @Test(arguments: [200, 201, 202, 203, 206, 299])
        func aStatusOfSuccessIsAccepted(_ status: Int) async throws {
            let body: Data = try await manager.get("/status/\(status)")
            #expect(body.isEmpty)
        }

        @Test(arguments: [204, 205])
        func aStatusWithoutContentIsAccepted(_ status: Int) async throws {
            for method in ["GET", "POST", "PUT", "DELETE"] as [HTTPMethod] {
                let value: JSONValue = try await manager.request(method, "/status/\(status)")
                #expect(value.isNull)
            }
        }

        @Test(arguments: [400, 403, 404, 405, 406, 409, 410, 418, 422, 429, 451, 500, 501, 502, 503, 504, 599])
        func aStatusOfFailureIsAnErrorWithTheAnswerInIt(_ status: Int) async throws {
            let answer = try await manager.response(.get, "/status/\(status)")
            #expect(answer.status == status)
            let error = try await sessionError {
                try await manager.get("/status/\(status)", as: Data.self)
            }
            #expect(error.code == .status)
            #expect(error.status == status)
            #expect(error.body == answer.body)
            #expect(error.url == servers.httpbin.url("/status/\(status)"))
        }

        @Test func theBodyOfAnErrorPageCanBeRead() async throws {
            struct Problem: Decodable, Equatable {
                let title: String
                let code: Int
            }
            for listener in [Nginx.Listener.plain, .tls] {
                let error = try await sessionError {
                    try await manager.post(servers.nginx.url("/missing", listener), as: JSONValue.self)
                }
                #expect(error.code == .status)
                #expect(error.response?.headers["Content-Type"] == "application/problem+json")
                let problem = try error.decodeBody(as: Problem.self)
                #expect(problem == Problem(title: "There is no such thing", code: 17))
            }
        }

        @Test func anotherTypeThanJSONIsRefused() async throws {
            let error = try await sessionError {
                try await manager.get("/html", as: JSONValue.self)
            }
            #expect(error.code == .contentType)
            let page: String = try await manager.get("/html")
            #expect(page.contains("Herman Melville"))
        }

        @Test func credentialsOfTheURLAreUsed() async throws {
            let origin = servers.httpbin.origin.replacing("http://", with: "")
            let request = HTTPRequest("http://ada%40home:p%3Aw%20%C3%A9@\(origin)/basic-auth/ada%40home/p%3Aw%20%C3%A9")
            let reply = try await manager.response(for: request).json()
            #expect(reply["authenticated"] == true)
            #expect(reply["user"] == "ada@home")
        }

        @Test func credentialsOfTheManagerAreUsed() async throws {
            manager.headers.authorization = .basic(user: "ada", password: "pass:word")
            let basic: JSONValue = try await manager.get("/basic-auth/ada/pass:word")
            #expect(basic["authenticated"] == true)
            manager.headers.authorization = .bearer("t0k3n")
            let bearer: JSONValue = try await manager.get("/bearer")
            #expect(bearer["token"] == "t0k3n")
        }

        @Test(arguments: ["/basic-auth/ada/secret", "/bearer", "/digest-auth/auth/ada/secret"])
        func missingCredentialsAreAStatus(_ path: String) async throws {
            let error = try await sessionError { try await manager.get(path, as: JSONValue.self) }
            #expect(error.code == .status)
            #expect(error.status == 401)
            #expect(error.response?.headers["WWW-Authenticate"] != nil)
        }

        @Test func cookiesAreNotKept() async throws {
            let set = try await manager.response(for: HTTPRequest("/cookies/set?id=1"))
            #expect(try set.json()["cookies"] == [:])
            #expect(set.metrics.redirects.count == 1)
            let later: JSONValue = try await manager.get("/cookies")
            #expect(later["cookies"] == [:])
            let given: JSONValue = try await manager.get("/cookies", headers: ["Cookie": "id=2; name=Ada"])
            #expect(given["cookies"] == ["id": "2", "name": "Ada"])
        }

        @Test(arguments: [("/gzip", "gzipped"), ("/deflate", "deflated"), ("/brotli", "brotli")])
        func encodedBodiesAreDecoded(_ path: String, _ flag: String) async throws {
            let value: JSONValue = try await manager.get(path)
            #expect(value[flag] == true)
            #expect(value["headers"]?["Accept-Encoding"]?.string?.contains("gzip") == true)
        }

        @Test func encodedBodiesStayAsTheyAreOnRequest() async throws {
            var request = HTTPRequest("/gzip")
            request.decompressesBody = false
            let response = try await manager.response(for: request)
            #expect(response.body.prefix(2) == Data([0x1f, 0x8b]))
            #expect(response.head.contentLength == Int64(response.body.count))
        }

        @Test func textsAreDecoded() async throws {
            let text: String = try await manager.get("/encoding/utf8")
            #expect(text.contains("∮ E⋅da = Q"))
            #expect(text.contains("コンニチハ"))
            #expect(text.contains("ሰማይ አይታረስ"))
        }

        @Test(arguments: [0, 1, 1023, 65_536, 102_400])
        func bodiesHaveTheirLength(_ count: Int) async throws {
            let body: Data = try await manager.get("/bytes/\(count)")
            #expect(body.count == count)
            let chunked: Data = try await manager.get("/stream-bytes/\(count)?chunk_size=1000")
            #expect(chunked.count == count)
        }

        @Test func anImageIsAnImage() async throws {
            let image: Data = try await manager.get("/image/png", headers: ["Accept": "image/png"])
            #expect(image.starts(with: [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]))
            #expect(image.suffix(8).prefix(4) == Data("IEND".utf8))
        }
    }
}
