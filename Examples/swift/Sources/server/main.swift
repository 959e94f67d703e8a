// A server on loopback that the other examples talk to. It runs until its standard input ends.
//
//     swift run server AUTHORITY       writes the certificate of its authority to a file, and prints two URLs
import AFTestServer
import Foundation
import SwiftAFImage

let authority = try TestCertificate.makeAuthority()
try Data(authority.pem.utf8).write(to: URL(fileURLWithPath: CommandLine.arguments.dropFirst().first ?? "authority.pem"))
let secure = try TestServer(tls: TestServer.TLS(try authority.issue()))
secure.route("/status", .json(#"{"ok": true}"#))

let server = try TestServer()
server.route("GET /users", .json(#"[{"id": 1, "name": "Ada"}, {"id": 2, "name": "Charles"}]"#))
server.route("POST /users", .json(#"{"id": 3, "name": "Grace"}"#, status: 201))
server.route("PUT /users/3", .json(#"{"id": 3, "name": "Grace Hopper"}"#))
server.route("DELETE /users/3", .status(204))
server.route(
    "GET /users/99",
    .respond(
        404, headers: ["Content-Type": "application/problem+json"],
        body: Data(#"{"title": "no such user", "status": 404}"#.utf8)))

server.route("POST /login", .status(204, headers: ["Set-Cookie": "session=abc; Max-Age=600; HttpOnly"]))
server.route("GET /profile") { request, connection in
    let isKnown = request["Cookie"] == "session=abc"
    try connection.run(isKnown ? .json(#"{"name": "Ada"}"#) : .status(401))
}
server.route("POST /token", .json(#"{"access": "fresh"}"#))
server.route("GET /secret") { request, connection in
    let isFresh = request["Authorization"] == "Bearer fresh"
    try connection.run(isFresh ? .json(#"{"text": "42"}"#) : .status(401, headers: ["WWW-Authenticate": "Bearer"]))
}
server.route("POST /upload", [.readBody, .status(201)])
server.route("GET /busy", times: 2, .status(503))
server.route("GET /busy", .text("here I am"))

// A film that breaks off in the middle, once.
let film = Data((0..<1 << 20).map { UInt8(truncatingIfNeeded: $0 / 251) })
let half = film.count / 2
server.route(
    "GET /film", times: 1,
    .truncated(headers: ["ETag": "\"1\""], body: film.prefix(half), promising: film.count))
server.route("GET /film") { request, connection in
    guard request["Range"] == "bytes=\(half)-", request["If-Range"] == "\"1\"" else {
        return try connection.respond(headers: ["ETag": "\"1\""], body: film)
    }
    let range = "bytes \(half)-\(film.count - 1)/\(film.count)"
    try connection.respond(206, headers: ["ETag": "\"1\"", "Content-Range": range], body: Data(film.suffix(half)))
}
server.route("GET /files", .json(#"["a.txt", "b.txt", "c.txt", "gone.txt"]"#))
server.route("GET /files/*") { request, connection in
    try connection.run(request.path == "/files/gone.txt" ? .status(404) : .text("the contents of \(request.path)"))
}
server.route(
    "GET /ticker",
    .respond(
        headers: ["Content-Type": "text/event-stream"],
        body: Data(
            "id: 1\nevent: price\ndata: 17.2\n\nid: 2\nevent: price\ndata: 17.4\n\nid: 3\nevent: end\ndata: closed\n\n"
                .utf8)))
server.route("GET /chat", [.upgrade(), .echoFrames])

let picture = Image(pixelWidth: 64, pixelHeight: 48, hasAlpha: false) { pixels in
    for y in 0..<48 {
        for x in 0..<64 {
            pixels.storeBytes(
                of: UInt32(x * 4 | y * 5 << 8 | 160 << 16 | 255 << 24), toByteOffset: (y * 64 + x) * 4, as: UInt32.self)
        }
    }
}
server.route("GET /pictures", .json(#"["one.png", "two.png"]"#))
server.route(
    "GET /pictures/*", .respond(headers: ["Content-Type": "image/png"], body: try picture?.data(as: .png) ?? Data()))

print(server.urlString("/"))
print(secure.urlString("/"))
fflush(nil)
while readLine() != nil {}
