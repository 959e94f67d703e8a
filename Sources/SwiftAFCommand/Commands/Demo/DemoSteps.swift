import AFTestServer
import FoundationEssentials
import SwiftAF

extension Demo {
    static let steps: [Step] = [
        get, post, many, stream, redirect, trust, timeout, limit, cancellation, images,
    ]

    private struct Person: Codable, Sendable {
        let name: String
        let born: Int
    }

    // MARK: JSON

    private static let get = Step(
        title: "JSON, decoded",
        code: "let ada: Person = try await manager.get(\"people/ada\")"
    ) { demo in
        demo.server.route("GET /people/ada", .json(#"{"name":"Ada Lovelace","born":1815}"#))
        let response = try await demo.manager.response(.get, "people/ada")
        let person: Person = try response.value()
        try expect(person.name == "Ada Lovelace" && person.born == 1815, "the person is another one")
        return ["\(response.status): \(person.name), born \(person.born)", timings(response.head)]
    }

    private static let post = Step(
        title: "JSON, sent",
        code: "try await manager.post(\"people\", parameters: grace)"
    ) { demo in
        demo.server.route("POST /people") { request, connection in
            try connection.respond(201, headers: ["Content-Type": "application/json"], body: request.body)
        }
        let grace: Parameters = ["name": "Grace Hopper", "born": 1906]
        let response = try await demo.manager.response(.post, "people", parameters: grace)
        let sent = demo.server.requests.last
        try expect(sent?["Content-Type"] == "application/json", "the body was not sent as JSON")
        try expect(response.json()["born"] == 1906, "another person came back")
        return ["\(response.status): \(sent?.bodyText ?? "")", timings(response.head)]
    }

    private static func timings(_ response: HTTPResponse) -> String {
        guard let hop = response.metrics.hops.last else { return "" }
        let phases = [("connect", hop.connectDone), ("first byte", hop.firstByte), ("total", hop.total)]
        let times = phases.map { name, time in "\(name) \(time.map(Format.milliseconds) ?? "—")" }
        return (times + (hop.isReused ? ["same connection"] : [])).joined(separator: "  ")
    }

    // MARK: Many and large

    private static let many = Step(
        title: "200 requests at once",
        code: "group.addTask { try await manager.response(for: request) }"
    ) { demo in
        demo.server.route("GET /small", .text("hello"))
        let before = demo.server.statistics
        let start = Instant.now
        let answers = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<200 {
                group.addTask { try await demo.manager.response(for: demo.request("/small")).status }
            }
            return try await group.reduce(into: 0) { count, status in count += status == 200 ? 1 : 0 }
        }
        let elapsed = Instant.now - start
        let after = demo.server.statistics
        try expect(answers == 200, "only \(answers) were answered")
        let most = demo.manager.configuration.maximumConnectionsPerHost ?? .max
        try expect(after.peakOpen <= most, "too many connections")
        let rate = Format.decimal(Double(answers) / max(elapsed.fractionalSeconds, 0.000_001), digits: 0)
        return [
            "\(after.requests - before.requests) answers in \(Format.milliseconds(elapsed)), \(rate) per second",
            "the server saw \(after.peakOpen) connections at most, \(after.accepted) since the start",
        ]
    }

    private static let stream = Step(
        title: "A streamed body",
        code: "for try await chunk in try await manager.stream(request).bytes"
    ) { demo in
        let size = 256 << 20
        let block = Data(repeating: 0x61, count: 64 << 10)
        demo.server.route("GET /large", .respond(repeating: block, count: size / block.count))
        let memory = PeakMemory()
        let start = Instant.now
        var received = 0
        for try await chunk in try await demo.manager.stream(demo.request("/large")).bytes { received += chunk.count }
        let elapsed = Instant.now - start
        let growth = memory.growth
        try expect(received == size, "\(received) bytes came instead of \(size)")
        try expect(growth < 64 << 20, "memory grew by \(Format.bytes(growth))")
        let rate = Format.bytes(Int64(Double(received) / max(elapsed.fractionalSeconds, 0.000_001)))
        return ["\(Format.bytes(Int64(received))) at \(rate)/s, peak memory \(Format.bytes(growth)) higher"]
    }

    // MARK: Where a request may go

    private static let redirect = Step(
        title: "A redirect elsewhere",
        code: "headers.authorization = .bearer(token)"
    ) { demo in
        let elsewhere = try TestServer()
        elsewhere.route("GET /there", .text("welcome"))
        demo.server.route("GET /here", .redirect(to: elsewhere.urlString("/there")))
        var request = demo.request("/here")
        request.headers.authorization = .bearer("secret")
        let response = try await demo.manager.response(for: request)
        try expect(response.status == 200, "the redirect was not followed")
        try expect(demo.server.requests.last?["Authorization"] == "Bearer secret", "the token was not sent")
        try expect(elsewhere.requests.first?["Authorization"] == nil, "the token went to another server")
        let hops = response.metrics.hops.map { "\($0.status)" }.joined(separator: " → ")
        return ["\(hops): the token was sent to the first server, and dropped for the other"]
    }

    private static let trust = Step(
        title: "A certificate of an unknown issuer",
        code: "configuration.securityPolicy.anchors = .pem(…)"
    ) { demo in
        let authority = try TestCertificate.makeAuthority()
        let server = try TestServer(tls: .init(authority.issue(hosts: ["127.0.0.1"])))
        server.fallback(.text("hello"))
        let error = try await expectError(.untrusted) {
            _ = try await demo.manager.response(for: HTTPRequest(server.urlString()))
        }
        try expect(server.requests.isEmpty, "a request was sent to a server that is not trusted")
        var configuration = SessionConfiguration()
        configuration.securityPolicy.anchors = .pem(Data(authority.pem.utf8))
        let trusting = HTTPSessionManager(configuration: configuration)
        let response = try await trusting.response(for: HTTPRequest(server.urlString()))
        try expect(response.status == 200, "the issuer was not trusted")
        return [describe(error), "with the issuer's certificate as anchor: \(response.status)"]
    }

    // MARK: Endings

    private static let timeout = Step(
        title: "A time limit",
        code: "request.timeouts.total = .milliseconds(150)"
    ) { demo in
        demo.server.route("GET /never", .stall(at: "never"))
        var request = demo.request("/never")
        request.timeouts.total = .milliseconds(150)
        let start = Instant.now
        let error = try await expectError(.timeout) { [request] in
            _ = try await demo.manager.response(for: request)
        }
        try expect(error.reason == .total, "another limit ended it")
        return ["after \(Format.milliseconds(Instant.now - start)): \(describe(error))"]
    }

    private static let limit = Step(
        title: "A size limit",
        code: "request.limits.maximumBodySize = 1 << 20"
    ) { demo in
        demo.server.route("GET /endless", .respond(repeating: Data(repeating: 0x61, count: 64 << 10), count: nil))
        var request = demo.request("/endless")
        request.limits.maximumBodySize = 1 << 20
        let error = try await expectError(.tooLarge) { [request] in
            _ = try await demo.manager.response(for: request)
        }
        return ["of an endless body: \(describe(error))"]
    }

    private static let cancellation = Step(
        title: "Cancellation",
        code: "task.cancel()"
    ) { demo in
        demo.server.route("GET /slow", .stall(at: "slow"))
        let closed = demo.server.statistics.closed
        let task = Task { _ = try await demo.manager.response(for: demo.request("/slow")) }
        try expect(await demo.server.wait(for: .stalled(at: "slow")), "the request did not come")
        task.cancel()
        let error = try await expectError(.cancelled) { try await task.value }
        // The server notices that a connection was closed only when it reads or writes.
        demo.server.open("slow")
        try expect(await demo.server.wait(for: .closes(closed + 1)), "the connection stayed open")
        return ["\(describe(error)); the server saw the connection close"]
    }

    private static func describe(_ error: SessionError) -> String {
        "\(error.code)\(error.reason.map { " (\($0))" } ?? ""), \(error.message)"
    }
}
