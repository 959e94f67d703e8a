import Foundation
import SwiftAF
import Testing

extension Interop {
    /// Basic, Digest and Bearer as httpbin and nginx ask for them.
    @Suite struct Authentication {
        let servers: RealServers
        let manager: HTTPSessionManager
        private static let right = Credential(user: "user", password: "passwd")
        private static let wrong = Credential(user: "user", password: "other")

        init() async throws {
            servers = try await RealServers.shared
            manager = servers.manager(servers.httpbin.origin)
        }

        private func answer(
            _ url: String, _ credential: Credential?, _ method: HTTPMethod = .get, body: HTTPBody = .none
        ) async throws -> Response<Data> {
            var request = HTTPRequest(method, url, body: body)
            request.credential = credential
            return try await manager.response(for: request)
        }

        private static func isIn(_ response: Response<Data>) throws -> Bool {
            try response.status == 200 && JSONValue(parsing: response.body)["authenticated"] == true
        }

        @Test func basicAuthenticatesAfterChallengeOrPreemptively() async throws {
            let path = "/basic-auth/user/passwd"
            #expect(try await answer(path, nil).status == 401)
            let response = try await answer(path, Self.right)
            #expect(try Self.isIn(response))
            #expect(response.metrics.hops.count == 2)
            #expect(try await answer(path, Self.wrong).status == 401)
            var atOnce = Self.right
            atOnce.isPreemptive = true
            #expect(try await answer(path, atOnce).metrics.hops.count == 1)
            // Says 404 without a challenge, so that only what comes unasked is let in.
            #expect(try await answer("/hidden-basic-auth/user/passwd", Self.right).status == 404)
            #expect(try Self.isIn(await answer("/hidden-basic-auth/user/passwd", atOnce)))
        }

        @Test(arguments: ["MD5", "SHA-256"], ["auth", "auth-int", "auth,auth-int"])
        func digestAuthenticatesWithEveryAlgorithmAndProtection(_ algorithm: String, _ protection: String) async throws
        {
            let path = "/digest-auth/\(protection)/user/passwd/\(algorithm)"
            #expect(try await answer(path, nil).status == 401)
            #expect(try Self.isIn(await answer(path, Self.right)))
            #expect(try await answer(path, Self.wrong).status == 401)
            var basic = Self.right
            basic.schemes = .basic
            #expect(try await answer(path, basic).status == 401)
        }

        @Test func bearerTokenAuthenticatesAfterChallenge() async throws {
            #expect(try await answer("/bearer", nil).status == 401)
            let token = Credential(bearerToken: "a.token", isPreemptive: false)
            let response = try await answer("/bearer", token)
            #expect(try JSONValue(parsing: response.body)["token"] == "a.token")
        }

        @Test func theHandlerAnswersForItsRealm() async throws {
            manager.authenticationChallengeHandler = { challenge in
                challenge.protectionSpace.realm == "Fake Realm" ? .useCredential(Self.right) : .performDefaultHandling
            }
            #expect(try Self.isIn(await answer("/basic-auth/user/passwd", nil)))
            #expect(try await answer("/digest-auth/auth/user/passwd", nil).status == 401)
        }

        @Test(arguments: [Nginx.Listener.plain, .tls])
        func nginxAsksForBasic(_ listener: Nginx.Listener) async throws {
            let url = servers.nginx.url("/private/files/medium.bin", listener)
            #expect(try await answer(url, nil).status == 401)
            #expect(try await answer(url, Self.wrong).status == 401)
            let open = try await answer(servers.nginx.url("/files/medium.bin", listener), nil)
            let response = try await answer(url, Self.right)
            #expect(response.status == 200 && response.body == open.body)
        }

        @Test(arguments: [Nginx.Listener.plain, .tls])
        func bodiesAreSentAgain(_ listener: Nginx.Listener) async throws {
            let name = "challenged-\(listener).bin"
            defer { servers.nginx.forget(name) }
            let body = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
            let url = servers.nginx.url("/private/dav/\(name)", listener)
            #expect(try await answer(url, Self.right, .put, body: .data(body)).status == 201)
            #expect(try servers.nginx.uploaded(name) == body)
        }
    }
}
