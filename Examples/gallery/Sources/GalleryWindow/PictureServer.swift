import AFTestServer
import FoundationEssentials
import Synchronization

/// The server of the gallery, in the same process: a catalogue that has a new picture at each refresh, the pictures,
/// and a page. It can be unplugged.
public final class PictureServer: Sendable {
    private let server: TestServer
    private let count: Mutex<Int>
    private let isPlugged = Mutex(true)

    /// Starts a server on loopback.
    ///
    /// - Parameter count: The number of pictures.
    public init(count: Int) throws {
        server = try TestServer()
        self.count = Mutex(count)
        route("GET /catalogue") { [weak self] _ in try self?.catalogue() ?? .reset }
        route("GET /pictures/*") { try Self.picture($0) }
        route("GET /about", Self.about)
    }

    /// The base URL.
    public var url: String { server.urlString("/") }

    /// Whether the server answers. If not, it resets each connection.
    public var isOnline: Bool {
        get { isPlugged.withLock { $0 } }
        set { isPlugged.withLock { $0 = newValue } }
    }

    private func route(_ pattern: String, _ answer: @escaping @Sendable (TestServer.Request) throws -> Script) {
        server.route(pattern) { [weak self] request, connection in
            try connection.run(self?.isOnline == true ? answer(request) : .reset)
        }
    }

    /// The newest picture first.
    private func catalogue() throws -> Script {
        let last = count.withLock { count in
            defer { count += 1 }
            return count
        }
        let entries = (1...max(1, last)).reversed().map { Picture(number: $0, title: Landscape(number: $0).title) }
        return .respond(headers: ["Content-Type": "application/json"], body: try JSONEncoder().encode(entries))
    }

    /// `/pictures/17/320`: picture 17 with a width of 320 pixels.
    private static func picture(_ request: TestServer.Request) throws -> Script {
        let parts = request.path.split(separator: "/").compactMap { Int($0) }
        guard parts.count == 2, (1...4096).contains(parts[1]),
            let file = try Landscape(number: parts[0]).image(width: parts[1], height: parts[1] * 3 / 4)?.data(as: .png)
        else { return .status(404) }
        guard parts[1] >= 1000 else { return .respond(headers: ["Content-Type": "image/png"], body: file) }
        // A large one takes its time, so that its progress can be seen.
        return [
            .send("HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: \(file.count)\r\n\r\n"),
            .send(file, inCrumbsOf: file.count / 20 + 1, pause: .milliseconds(40)),
        ]
    }

    @Sendable
    private static func about(_ request: TestServer.Request) -> Script {
        .respond(
            headers: ["Content-Type": "text/html; charset=utf-8"],
            body: Data(
                """
                <!doctype html><title>About the gallery</title>
                <style>
                body { font: 17px sans-serif; margin: 3em auto; max-width: 34em; line-height: 1.5; color: #333 }
                img { width: 100%; border-radius: 8px }
                </style>
                <h1>About the gallery</h1>
                <p><img src="/pictures/6/640" alt="A landscape">
                <p>The pictures are drawn by the server in this program. A session manager loaded this page; WebKit shows it.
                """.utf8))
    }
}
