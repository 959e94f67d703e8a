import AFTestServer
import Foundation
import SwiftAF
import Testing

extension Interop {
    /// Certificates and versions, of TLS and of HTTP.
    @Suite struct Security {
        let servers: RealServers

        init() async throws {
            servers = try await RealServers.shared
        }

        private func response(
            _ listener: Nginx.Listener, _ path: String = "/small",
            _ change: (inout SessionConfiguration) -> Void = { _ in }
        ) async throws -> Response<Data> {
            try await servers.manager(nil, change).response(for: HTTPRequest(servers.nginx.url(path, listener)))
        }

        @Test(arguments: [(Nginx.Listener.tls12, "TLSv1.2"), (.tls13, "TLSv1.3"), (.tls, "TLSv1.3")])
        func theBestVersionIsSpoken(_ listener: Nginx.Listener, _ version: String) async throws {
            let response = try await response(listener)
            #expect(response.tls == version)
            #expect(response.head.version == (listener == .tls ? .http2 : .http1_1))
            #expect(response.metrics.hops.first?.tlsDone != nil)
        }

        @Test func theVersionOfHTTPCanBeChosen() async throws {
            let old = try await response(.tls) { $0.httpVersion = .http1_1 }
            #expect(old.head.version == .http1_1)
            #expect(old.protocol == "HTTP/1.1")
            let new = try await response(.tls) { $0.httpVersion = .http2 }
            #expect(new.head.version == .http2)
            #expect(new.protocol == "HTTP/2.0")
            let known = try await response(.http2) { $0.httpVersion = .http2PriorKnowledge }
            #expect(known.head.version == .http2)
            #expect(known.protocol == "HTTP/2.0")
        }

        @Test func aServerWithoutHTTP2AnswersAsItCan() async throws {
            #expect(try await response(.tls13) { $0.httpVersion = .http2 }.head.version == .http1_1)
        }

        @Test func anUnknownAuthorityIsNotTrusted() async throws {
            let error = try await sessionError { try await response(.tls) { $0.securityPolicy.anchors = .system } }
            #expect(error.code == .untrusted)
            #expect(error.reason == .unknownIssuer)
        }

        @Test(arguments: [
            (Nginx.Listener.expired, SessionError.Reason.expired), (.notYetValid, .notYetValid),
            (.wrongHost, .wrongHost), (.selfSigned, .selfSigned),
        ])
        func aBadCertificateIsNotTrusted(_ listener: Nginx.Listener, _ reason: SessionError.Reason) async throws {
            let error = try await sessionError { try await response(listener) }
            #expect(error.code == .untrusted)
            #expect(error.reason == reason)
            #expect(error.response == nil)
        }

        @Test(arguments: [Nginx.Listener.expired, .notYetValid, .selfSigned])
        func invalidCertificatesCanBeAllowed(_ listener: Nginx.Listener) async throws {
            #expect(try await response(listener) { $0.securityPolicy.allowsInvalidCertificates = true }.status == 200)
        }

        @Test func checksHostNameUnlessValidationIsDisabled() async throws {
            let error = try await sessionError {
                try await response(.wrongHost) { $0.securityPolicy.allowsInvalidCertificates = true }
            }
            #expect(error.reason == .wrongHost)
            #expect(try await response(.wrongHost) { $0.securityPolicy.validatesDomainName = false }.status == 200)
        }

        @Test func newPolicyReplacesHTTP2Connection() async throws {
            let manager = servers.manager()
            let request = HTTPRequest(servers.nginx.url("/small", .tls))
            let first = try await manager.response(for: request)
            let second = try await manager.response(for: request)
            #expect(first.head.version == .http2)
            #expect(second.headers["X-Connection"] == first.headers["X-Connection"])
            let policy = manager.securityPolicy
            manager.securityPolicy.pinningMode = .publicKey
            let error = try await sessionError { try await manager.response(for: request) }
            #expect(error.reason == .pin)
            manager.securityPolicy = policy
            let third = try await manager.response(for: request)
            #expect(third.headers["X-Connection"] != first.headers["X-Connection"])
        }

        @Test func pinsOfACertificateMatch() async throws {
            let pinned = Set([Data(servers.authority.pem.utf8)])
            let right = try await response(.tls) {
                $0.securityPolicy.pinning = .init(mode: .certificate, certificates: pinned)
            }
            #expect(right.status == 200)
            let other = try Data(TestCertificate.makeAuthority().pem.utf8)
            let error = try await sessionError {
                try await response(.tls) {
                    $0.securityPolicy.pinning = .init(mode: .certificate, certificates: [other])
                }
            }
            #expect(error.reason == .pin)
            #expect(error.trust?.chain.count == 2)
        }

        @Test func anchorsCanBeAFile() async throws {
            let folder = try TemporaryFolder()
            let path = try folder.write(servers.authority.pem, to: "authority.pem")
            #expect(try await response(.tls) { $0.securityPolicy.anchors = .file(path) }.status == 200)
        }

        @Test func theNameLocalhostIsFine() async throws {
            let url = servers.nginx.url("/small", .tls).replacing("127.0.0.1", with: "localhost")
            #expect(try await servers.manager().response(for: HTTPRequest(url)).status == 200)
        }

        @Test func aServerWithoutTLSIsAnError() async throws {
            let url = servers.nginx.url("/small").replacing("http:", with: "https:")
            let error = try await sessionError { try await servers.manager().response(for: HTTPRequest(url)) }
            #expect(error.code == .tls)
        }

        @Test func aServerWithTLSSaysWhatItMisses() async throws {
            let url = servers.nginx.url("/small", .tls12).replacing("https:", with: "http:")
            let response = try await servers.manager().response(for: HTTPRequest(url))
            #expect(response.status == 400)
            #expect(try response.text(validation: .any).contains("plain HTTP request was sent to HTTPS port"))
        }

        @Test(arguments: [Nginx.Listener.plain, .tls12, .tls])
        func trailersAreKept(_ listener: Nginx.Listener) async throws {
            let response = try await response(listener, "/trailed")
            #expect(response.body.split(separator: UInt8(ascii: "\n")).count == 3)
            #expect(response.head.trailers["X-Checksum"] == "4-8-15")
            #expect(response.head.trailers["X-Done"] == "yes")
            #expect(response.headers["X-Checksum"] == nil)
        }
    }
}
