import AFTestServer
import FoundationEssentials
import SwiftAF

/// A server with one file at `/file`, in versions, that can be asked for in ranges, and that breaks off on order.
struct RangeServer {
    static let size = 200_000
    static let half = 80_000

    let server: TestServer

    init() throws {
        server = try TestServer()
        serve(version: 1)
    }

    var manager: HTTPSessionManager { HTTPSessionManager(baseURL: server.urlString("/")) }

    /// Different at every place, and in every version.
    static func content(_ version: Int) -> Data {
        Data((0..<size).map { UInt8(truncatingIfNeeded: $0 / 251 &+ $0 &* version) })
    }

    static func tag(_ version: Int) -> String { "\"version-\(version)\"" }

    /// Answers from now on with this version.
    func serve(version: Int) {
        let content = Self.content(version)
        let tag = Self.tag(version)
        server.route("/file") { request, connection in
            guard let range = request["Range"], request["If-Range"] == tag,
                let start = Int(range.dropFirst("bytes=".count).dropLast())
            else { return try connection.respond(headers: ["ETag": tag], body: content) }
            guard start < content.count else {
                return try connection.respond(416, headers: ["Content-Range": "bytes */\(content.count)"])
            }
            let fields: Script.Headers = [
                "ETag": tag, "Content-Range": "bytes \(start)-\(content.count - 1)/\(content.count)",
            ]
            try connection.respond(206, headers: fields, body: content[start...])
        }
    }

    /// The next answer is the first ``half`` of the file.
    func breakOff(tag: String = tag(1)) {
        let body = Self.content(1).prefix(Self.half)
        server.route("/file", times: 1, .truncated(headers: ["ETag": tag], body: Data(body), promising: Self.size))
    }

    /// The next answer is all of the file, but one that doesn't say so at its end.
    func forgetTheEnd() {
        server.route(
            "/file", times: 1,
            [.chunkedHead(headers: ["ETag": Self.tag(1)]), .chunk(Self.content(1)), .close])
    }

    /// The next answer has no file, but the status.
    func refuse(_ status: Int) {
        server.route("/file", times: 1, .respond(status, body: Data("no".utf8)))
    }
}
