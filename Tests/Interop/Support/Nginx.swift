import AFTestServer
import Foundation

/// An nginx of our own: a port for each way of talking, and locations that show what a client can't know alone.
final class Nginx: Sendable {
    /// One port each.
    enum Listener: String, CaseIterable {
        /// HTTP/1.1 without TLS.
        case plain
        /// HTTP/2 without TLS, for clients that know.
        case http2
        /// TLS 1.2 and 1.3, HTTP/2 by ALPN.
        case tls
        case tls12, tls13
        /// TLS and HTTP/2, with no more than 8 requests at once on a connection.
        case narrow
        case expired, notYetValid, wrongHost, selfSigned
        /// Closes a connection after three requests.
        case threeRequests
        /// Closes a connection that is idle for a millisecond.
        case impatient
    }

    /// The program, if it is installed.
    static let program: String? = ["/usr/sbin/nginx", "/usr/local/sbin/nginx", "/usr/bin/nginx"]
        .first { access($0, X_OK) == 0 }

    private let ports: [Listener: Int]
    private let folder: TemporaryFolder
    let process: ServerProcess

    /// - Parameters:
    ///   - authority: Issues the certificates of the TLS ports.
    ///   - files: What is served under `/files/`.
    ///   - httpbinPort: What `/httpbin/` is forwarded to.
    ///   - webSocketPort: What `/sockets/` is forwarded to.
    init(authority: TestCertificate, files: [String: Data] = [:], httpbinPort: Int, webSocketPort: Int) throws {
        guard let program = Self.program else { throw SystemFailure("nginx") }
        folder = try TemporaryFolder()
        let sockets = try Listener.allCases.map { _ in try ListeningSocket() }
        ports = Dictionary(uniqueKeysWithValues: zip(Listener.allCases, sockets.map(\.port)))
        for name in ["files", "dav"] {
            try FileManager.default.createDirectory(atPath: folder.file(name), withIntermediateDirectories: false)
        }
        for (name, data) in files { try folder.write(data, to: "files/\(name)") }
        for (listener, certificate) in try Self.certificates(of: authority) {
            try folder.write(certificate.chainPEM, to: "\(listener).pem")
            try folder.write(certificate.keyPEM, to: "\(listener).key")
        }
        let configuration = NginxConfiguration(
            folder: folder.path, ports: ports, httpbinPort: httpbinPort, webSocketPort: webSocketPort)
        try folder.write(configuration.locations, to: "locations.conf")
        try folder.write(Data("user:{PLAIN}passwd\n".utf8), to: "users")
        let path = try folder.write(configuration.main, to: "nginx.conf")
        // nginx takes over the sockets named there whose addresses its configuration names too.
        let inherited = sockets.indices.map { "\(3 + $0);" }.joined()
        process = try ServerProcess(
            [program, "-p", folder.path, "-e", folder.file("log"), "-c", path],
            environment: ["NGINX": inherited], sockets: sockets, folder: folder)
    }

    private static func certificates(of authority: TestCertificate) throws -> [(Listener, TestCertificate)] {
        let valid = try authority.issue()
        return [
            (.tls, valid), (.tls12, valid), (.tls13, valid), (.narrow, valid),
            (.expired, try authority.issue(validity: .expired)),
            (.notYetValid, try authority.issue(validity: .notYetValid)),
            (.wrongHost, try authority.issue(hosts: ["elsewhere.example"])),
            (.selfSigned, try TestCertificate.makeSelfSigned()),
        ]
    }

    func origin(_ listener: Listener = .plain) -> String {
        let scheme = NginxConfiguration.usesTLS(listener) ? "https" : "http"
        return "\(scheme)://127.0.0.1:\(ports[listener] ?? 0)"
    }

    func url(_ path: String, _ listener: Listener = .plain) -> String { origin(listener) + path }

    /// A file that was put under `/dav/`.
    func uploaded(_ name: String) throws -> Data { try folder.read("dav/\(name)") }

    /// Deletes a file under `/dav/`.
    func forget(_ name: String) { unlink(folder.file("dav/\(name)")) }

    /// Replaces the worker by a new one. The old one answers what it has begun and closes its idle connections.
    func reload() throws {
        let text = String(decoding: try folder.read("nginx.pid"), as: UTF8.self)
        guard let master = pid_t(text.trimmingCharacters(in: .whitespacesAndNewlines)), kill(master, SIGHUP) == 0 else {
            throw SystemFailure("kill")
        }
    }
}
