import Foundation
import SwiftAF
import Testing

extension Interop {
    /// What httpbin says it was sent.
    @Suite struct Verbs {
        let servers: RealServers
        let manager: HTTPSessionManager

        init() async throws {
            servers = try await RealServers.shared
            manager = servers.manager(servers.httpbin.origin)
        }

        /// The part of httpbin's answer that these tests read.
        struct Echo: Decodable, Sendable {
            let args: [String: String]
            let form: [String: String]?
            let data: String?
            let method: String?
            let url: String
            let headers: [String: String]
        }

        static let parameters: Parameters = ["name": "Ada Lovelace", "born": 1815]
        static let fields = ["name": "Ada Lovelace", "born": "1815"]

        @Test func getSendsAQuery() async throws {
            let echo: Echo = try await manager.get("/get", parameters: Self.parameters)
            #expect(echo.args == Self.fields)
            #expect(echo.url == servers.httpbin.url("/get?born=1815&name=Ada%20Lovelace"))
        }

        @Test func deleteSendsAQuery() async throws {
            let echo: Echo = try await manager.delete("/delete", parameters: Self.parameters)
            #expect(echo.args == Self.fields)
            #expect(echo.data == "")
        }

        @Test func postPutAndPatchSendAForm() async throws {
            let post: Echo = try await manager.post("/post", parameters: Self.parameters)
            let put: Echo = try await manager.put("/put", parameters: Self.parameters)
            let patch: Echo = try await manager.patch("/patch", parameters: Self.parameters)
            for echo in [post, put, patch] {
                #expect(echo.form == Self.fields)
                #expect(echo.args.isEmpty)
                #expect(echo.headers["Content-Type"] == "application/x-www-form-urlencoded")
                #expect(echo.headers["Content-Length"] == "\("born=1815&name=Ada%20Lovelace".utf8.count)")
            }
        }

        @Test(arguments: ["GET", "POST", "PUT", "PATCH", "DELETE"] as [HTTPMethod])
        func anyMethodArrives(_ method: HTTPMethod) async throws {
            let echo: Echo = try await manager.request(method, "/anything/at/all", parameters: Self.parameters)
            #expect(echo.method == method.rawValue)
            #expect(echo.url.hasPrefix(servers.httpbin.url("/anything/at/all")))
            #expect(echo.args.merging(echo.form ?? [:]) { first, _ in first } == Self.fields)
        }

        @Test func headHasAHeadOnly() async throws {
            let head = try await manager.head("/get", parameters: Self.parameters)
            #expect(head.status == 200)
            #expect(head.head.mediaType?.isJSON == true)
            #expect((head.head.contentLength ?? 0) > 0)
            let again: Echo = try await manager.get("/get")
            #expect(again.args.isEmpty)
        }

        @Test func optionsSaysWhatIsAllowed() async throws {
            let response = try await manager.response(.options, "/get")
            #expect(response.status == 200)
            let allowed = try #require(response.headers["Allow"])
            #expect(Set(allowed.split(separator: ",").map { $0.trimming(" ") }) == ["GET", "HEAD", "OPTIONS"])
            #expect(response.body.isEmpty)
        }

        @Test func aMethodOfNoStandardIsRefusedByTheServer() async throws {
            let response = try await manager.response("BREW", "/get")
            #expect(response.status == 405)
        }

        @Test func aJSONBodyIsReadAsTheSameValue() async throws {
            let value: JSONValue = [
                "text": "Zoë → 漢字 \u{1F600} \"quoted\" back\\slash \u{0} \u{7f}", "large": 9_007_199_254_740_993,
                "negative": -17, "half": 0.5, "tiny": .double(.leastNonzeroMagnitude), "yes": true, "no": false,
                "nothing": nil,
                "list": [1, [2, [3, []]], [:]], "": ["empty key": ""],
            ]
            manager.requestSerializer = JSONRequestSerializer()
            let echo: JSONValue = try await manager.post("/post", parameters: Parameters(value))
            #expect(echo["json"] == value)
            #expect(echo["headers"]?["Content-Type"]?.string == "application/json")
        }

        @Test func anEncodableValueIsSentAsJSON() async throws {
            struct Person: Codable, Equatable {
                var name = "Grace"
                var ranks = ["Commander", "Rear admiral"]
            }
            struct Reply: Decodable { let json: Person }
            manager.requestSerializer = JSONRequestSerializer()
            let reply: Reply = try await manager.put("/put", parameters: .encodable(Person()))
            #expect(reply.json == Person())
        }

        @Test func headersArriveAndRepeatsStayInOrder() async throws {
            var headers: HTTPHeaders = ["X-Single": "one", "X-Latin": "caf\u{e9}", "Accept": "application/json"]
            for value in ["c", "a", "b"] { headers.add(name: "X-Repeated", value: value) }
            let echo: Echo = try await manager.get("/anything", headers: headers)
            #expect(echo.headers["X-Single"] == "one")
            #expect(echo.headers["X-Repeated"]?.filter { $0 != " " } == "c,a,b")
            #expect(echo.headers["Accept"] == "application/json")
            #expect(echo.headers["User-Agent"] == DefaultHeaders.all["User-Agent"])
        }

        @Test func repeatedResponseHeadersStayApartAndInOrder() async throws {
            let response = try await manager.response(.get, "/response-headers?X-B=2&X-A=3&X-B=1&X-B=")
            #expect(response.headers.values(named: "x-b") == ["2", "1", ""])
            #expect(response.headers.first(named: "X-A") == "3")
        }

        @Test func closuresWorkToo() async throws {
            manager.completionQueue = DispatchQueue(label: "interop.completion")
            let echo: JSONValue = try await withCheckedThrowingContinuation { continuation in
                manager.post(
                    "/post", parameters: Self.parameters,
                    success: { _, value in continuation.resume(returning: value) },
                    failure: { _, error in continuation.resume(throwing: error) })
            }
            #expect(echo["form"] == ["born": "1815", "name": "Ada Lovelace"])
        }
    }
}

extension StringProtocol {
    fileprivate func trimming(_ characters: String) -> String {
        trimmingCharacters(in: CharacterSet(charactersIn: characters))
    }
}
