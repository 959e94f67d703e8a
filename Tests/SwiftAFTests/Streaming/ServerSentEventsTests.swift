import AFTestServer
import FoundationEssentials
import Testing

@testable import SwiftAF

@Suite(.timeLimit(.minutes(10)))
struct ServerSentEventsTests {
    private let server: TestServer
    private let manager: HTTPSessionManager
    private let waits = Recorder<Duration>()

    init() throws {
        server = try TestServer()
        manager = HTTPSessionManager(baseURL: server.urlString("/"))
    }

    /// Events whose waits are over at once, and are recorded.
    private func events(
        from path: String = "events", headers: HTTPHeaders = [:],
        _ change: (inout ServerSentEvents.Options) -> Void = { _ in },
        onConnectionChange: (@Sendable (ConnectionChange) async -> Void)? = nil
    ) -> ServerSentEvents {
        var options = ServerSentEvents.Options()
        change(&options)
        var events = manager.events(
            from: path, headers: headers, options: options, onConnectionChange: onConnectionChange)
        events.pacing = .init(wait: { [waits] in waits.record($0) }, random: { 1 })
        return events
    }

    private func collect(_ events: ServerSentEvents) async throws -> [ServerSentEvent] {
        var all: [ServerSentEvent] = []
        for try await event in events { all.append(event) }
        return all
    }

    @Test func reconnectsWithLastEventIDUntil204() async throws {
        server.route("/events", times: 1, .events("id: 1\ndata: a\n\nid: 2\ndata: b\n\nid: 3\ndata: lost\n"))
        server.route("/events", times: 1, .events("retry: 7000\ndata: c\n\n"))
        server.route("/events", times: 1, .events("id\ndata: d\n\n"))
        server.route("/events", .status(204))
        let all = try await collect(events())
        #expect(all.map(\.data) == ["a", "b", "c", "d"])
        #expect(all.map(\.id) == ["1", "2", "2", ""])
        #expect(waits.values == [.seconds(3), .seconds(7), .seconds(7)])
        #expect(server.requests.map { $0["Last-Event-ID"] } == [nil, "2", "2", nil])
        #expect(server.requests.allSatisfy { $0["Accept"] == "text/event-stream" })
        #expect(server.requests.allSatisfy { $0["Cache-Control"] == "no-cache" })
    }

    @Test(
        arguments: [
            (HTTPHeaders(), "text/event-stream"), (["Accept": "text/x-own"] as HTTPHeaders, "text/x-own"),
        ])
    func acceptOfCallOverridesManagersAccept(headers: HTTPHeaders, sent: String) async throws {
        server.route("/events", times: 1, .events("data: a\n\n"))
        server.route("/events", .status(204))
        manager.headers["Accept"] = "application/json"
        manager.headers["X-Other"] = "1"
        _ = try await collect(events(headers: headers))
        #expect(server.requests.map { $0["Accept"] } == [sent, sent])
        #expect(server.requests.map { $0["X-Other"] } == ["1", "1"])
    }

    @Test func omitsIdentifierThatNoHeaderCanCarry() async throws {
        server.route("/events", times: 1, .events("id: 1\u{1}\ndata: a\n\n"))
        server.route("/events", times: 1, .events("data: b\n\n"))
        server.route("/events", .status(204))
        #expect(try await collect(events()).map(\.id) == ["1\u{1}", "1\u{1}"])
        #expect(server.requests.map { $0["Last-Event-ID"] } == [nil, nil, nil])
    }

    @Test func omitsIdentifierLongerThan4096Bytes() async throws {
        let (longest, longer) = (String(repeating: "i", count: 4096), String(repeating: "i", count: 4097))
        server.route("/events", times: 1, .events("id: \(longest)\ndata: a\n\n"))
        server.route("/events", times: 1, .events("id: \(longer)\ndata: b\n\n"))
        server.route("/events", .status(204))
        #expect(try await collect(events()).map(\.id) == [longest, longer])
        #expect(server.requests.map { $0["Last-Event-ID"] } == [nil, longest, nil])
    }

    @Test func eachConnectionUsesCurrentManagerSettings() async throws {
        struct Price: Decodable { let lastPrice: Int }
        server.route("/events", times: 2, .events("data: {\"last_price\": 7}\n\n"))
        server.route("/events", .status(204))
        manager.headers.authorization = .bearer("old")
        manager.decoder = JSONCoder(keys: .snakeCase)
        var prices: [Int] = []
        for try await event in events() {
            manager.headers.authorization = .bearer("new")
            prices.append(try event.value(as: Price.self).lastPrice)
        }
        #expect(prices == [7, 7])
        #expect(server.requests.map { $0["Authorization"] } == ["Bearer old", "Bearer new", "Bearer new"])
    }

    @Test func retries503BetweenStreamsWithLastEventID() async throws {
        server.route("/events", times: 1, .events("id: 1\ndata: a\n\n"))
        server.route("/events", times: 1, .status(503))
        server.route("/events", times: 1, .events("data: b\n\n"))
        server.route("/events", .status(204))
        let all = try await collect(events { $0.retriedStatusCodes = [503] })
        #expect(all.map(\.data) == ["a", "b"])
        #expect(server.requests.map { $0["Last-Event-ID"] } == [nil, "1", "1", "1"])
    }

    @Test func decodesDataWithoutShowingItInErrors() throws {
        let event = ServerSentEvent(data: #"{"born": 1815}"#)
        #expect(try event.value(as: [String: Int].self) == ["born": 1815])
        let number: JSONValue = try event.value()
        #expect(number["born"] == 1815)
        let error = #expect(throws: SessionError.self) { try event.value(as: [String].self) }
        #expect(error?.code == .serialization)
        #expect(
            error?.message
                == "the data of an event can't be decoded as Array<String>: expected an array, found an object")
    }

    @Test(arguments: [1, 7, 4096])
    func streamCutAnywhereYieldsSameEvents(size: Int) async throws {
        let text = "\u{FEFF}: hello\r\n\r\nevent: näme\r\nid: 漢\r\ndata: one\r\ndata: two\r\n\r\ndata\r\n\r\n"
        let bytes = Array(text.utf8)
        let pieces = stride(from: 0, to: bytes.count, by: size).map { start in
            Script.chunk(Data(bytes[start..<min(bytes.count, start + size)]))
        }
        server.route("/events", times: 1, [.chunkedHead(headers: Script.eventFields), Script(pieces), .lastChunk()])
        server.route("/events", .status(204))
        let all = try await collect(events())
        #expect(
            all == [
                ServerSentEvent(id: "漢", event: "näme", data: "one\ntwo"), ServerSentEvent(id: "漢", data: ""),
            ])
    }

    @Test func yieldsEventWhileConnectionStaysOpen() async throws {
        server.route(
            "/events",
            [.chunkedHead(headers: Script.eventFields), .chunk(Data("data: now\n\n".utf8)), .waitForPeerClose])
        var iterator: ServerSentEvents.Iterator? = events().makeAsyncIterator()
        #expect(try await iterator?.next()?.data == "now")
        iterator = nil
        #expect(await server.wait(for: .closes(1)))
    }

    @Test func reconnectsAfterLossesWithBackoff() async throws {
        server.route("/events", times: 2, [.reset])
        server.route(
            "/events", times: 1,
            [.chunkedHead(headers: Script.eventFields), .chunk(Data("id: 1\ndata: a\n\nid: 2\nda".utf8)), .close])
        server.route("/events", times: 1, [.reset])
        server.route("/events", times: 1, .events("data: b\n\n"))
        server.route("/events", .status(204))
        let all = try await collect(events())
        #expect(all.map(\.data) == ["a", "b"])
        #expect(waits.values == [6, 9, 3, 6, 3].map { .seconds($0) })
        #expect(server.requests.map { $0["Last-Event-ID"] } == [nil, nil, nil, "1", "1", "1"])
    }

    @Test func reportsConnectionChangesBeforeNextEvent() async throws {
        server.route("/events", times: 1, .reset)
        server.route("/events", times: 1, .events("data: a\n\n"))
        server.route("/events", times: 1, .status(503))
        server.route("/events", .status(204))
        let changes = Recorder<String>()
        let all = events {
            $0.retriedStatusCodes = [503]
        } onConnectionChange: { change in
            switch change {
            case .connected(let head): changes.record("connected \(head.status)")
            case .lost(let error, _): changes.record("lost \(error?.code.rawValue ?? "at the end")")
            }
        }
        for try await event in all { changes.record(event.data) }
        #expect(changes.values == ["lost connectionLost", "connected 200", "a", "lost at the end", "lost status"])
    }

    @Test func failsWithLastErrorAfterMaximumRetries() async throws {
        server.route("/events", [.reset])
        let error = await #expect(throws: SessionError.self) { try await collect(events { $0.maximumRetries = 2 }) }
        #expect(error?.code == .connectionLost)
        #expect(server.requests.count == 3)
        #expect(waits.values.count == 2)
    }

    @Test(
        arguments: [
            (404, "text/event-stream", .status), (503, "text/event-stream", .status),
            (206, "text/event-stream", .status),
            (200, "text/html", .contentType), (401, "text/event-stream", .status),
        ] as [(Int, String, SessionError.Code)])
    func refusedResponseEndsSequence(status: Int, type: String, code: SessionError.Code) async throws {
        server.route("/events", .respond(status, headers: ["Content-Type": type], body: Data("data: a\n\n".utf8)))
        var iterator = events().makeAsyncIterator()
        let error = await #expect(throws: SessionError.self) { try await iterator.next() }
        #expect(error?.code == code)
        #expect(error?.status == status)
        #expect(try await iterator.next() == nil)
        #expect(server.requests.count == 1)
        #expect(waits.values.isEmpty)
    }

    @Test func dataBeyondLimitEndsSequenceAndConnection() async throws {
        server.route(
            "/events",
            [
                .chunkedHead(headers: Script.eventFields), .chunk(Data("data: a\n\n".utf8)),
                .chunk(Data("data: 12345678\n".utf8), count: nil),
            ])
        var iterator = events { $0.limits.maximumDataSize = 100_000 }.makeAsyncIterator()
        #expect(try await iterator.next()?.data == "a")
        let error = await #expect(throws: SessionError.self) { try await iterator.next() }
        #expect(error?.code == .tooLarge)
        #expect(error?.url == server.urlString("/events"))
        #expect(await server.wait(for: .closes(1)))
        #expect(try await iterator.next() == nil)
    }

    @Test func everyConnectionSendsTheWholeRequest() async throws {
        server.route("/events", times: 2, .events(""))
        server.route("/events", .status(204))
        var request = HTTPRequest(
            .post, server.urlString("/events"), headers: ["Accept": "x/y", "Last-Event-ID": "41", "X-Mine": "1"],
            body: .data(Data("query".utf8)))
        request.headers.suppressDefault("Cache-Control")
        var options = ServerSentEvents.Options()
        options.reconnects = .always
        var events = manager.events(from: request, options: options)
        events.pacing = .init(wait: { _ in }, random: { 0 })
        #expect(try await collect(events).isEmpty)
        #expect(server.requests.count == 3)
        for request in server.requests {
            #expect(request.method == "POST")
            #expect(request.bodyText == "query")
            #expect(request["Accept"] == "x/y")
            #expect(request["Last-Event-ID"] == "41")
            #expect(request["X-Mine"] == "1")
            #expect(request["Cache-Control"] == nil)
        }
    }

    @Test func omitsIdentifierThatServerHasEmptied() async throws {
        server.route("/events", times: 1, .events("data: a\n\nid:\ndata: b\n\n"))
        server.route("/events", .status(204))
        let all = try await collect(events(headers: ["Last-Event-ID": "41"]))
        #expect(all.map(\.id) == ["41", ""])
        #expect(server.requests.map { $0["Last-Event-ID"] } == ["41", nil])
    }

    @Test func sendsParametersAndHeadersOfCall() async throws {
        server.fallback(.status(204))
        let events = manager.events(from: "events", parameters: ["a": "b"], headers: ["X-Mine": "1"])
        #expect(try await collect(events).isEmpty)
        let request = try #require(server.requests.first)
        #expect(request.target == "/events?a=b")
        #expect(request["X-Mine"] == "1")
        #expect(request["User-Agent"] != nil)
    }

    /// A serializer may sign requests, or count them.
    @Test func makesOneRequestForEachConnection() async throws {
        struct Counting: RequestSerializer {
            let calls = Recorder<String>()
            func serialize(_ request: HTTPRequest, parameters: Parameters?) throws -> HTTPRequest {
                calls.record(request.url)
                return request
            }
        }
        server.route("/events", times: 1, .events("data: a\n\n"))
        server.route("/events", .status(204))
        let serializer = Counting()
        manager.requestSerializer = serializer
        let events = events()
        var iterator = events.makeAsyncIterator()
        #expect(serializer.calls.values.isEmpty)
        // Also the first connection has the headers that the manager has then.
        manager.headers["X-Late"] = "1"
        #expect(try await iterator.next()?.data == "a")
        #expect(serializer.calls.values.count == 1)
        #expect(try await iterator.next() == nil)
        #expect(serializer.calls.values.count == 2)
        #expect(server.requests.map { $0["X-Late"] } == ["1", "1"])
    }

    @Test func invalidRequestFailsAtFirstEvent() async throws {
        let error = await #expect(throws: SessionError.self) {
            try await collect(manager.events(from: "ftp://host/"))
        }
        #expect(error?.code == .invalidInput)
    }

    @Test func cancellingEndsWaitForEvent() async throws {
        server.route("/events", [.chunkedHead(headers: Script.eventFields), .stall(at: "quiet"), .waitForPeerClose])
        let reader = Task { [events = events()] in try await collect(events) }
        #expect(await server.wait(for: .stalled(at: "quiet")))
        reader.cancel()
        await #expect { try await reader.value } throws: { ($0 as? SessionError)?.code == .cancelled }
        server.open("quiet")
        #expect(await server.wait(for: .closes(1)))
        #expect(server.requests.count == 1)
    }

    @Test func cancellingEndsWaitForReconnection() async throws {
        server.route("/events", .events("data: a\n\n"))
        var options = ServerSentEvents.Options()
        options.reconnectionTime = .seconds(86_400)
        options.maximumDelay = .seconds(86_400)
        var events = manager.events(from: "events", options: options)
        events.pacing.wait = { [waits] in
            waits.record($0)
            await $0.pause()
        }
        let reader = Task { [events] in try await collect(events) }
        #expect(await waits.wait() == [.seconds(86_400)])
        reader.cancel()
        await #expect { try await reader.value } throws: { ($0 as? SessionError)?.code == .cancelled }
        #expect(server.requests.count == 1)
    }

    @Test func cancelAllAndInvalidationEndWaitForReconnection() async throws {
        for isFinal in [false, true] {
            server.route("/events", times: 1, .events("data: a\n\n"))
            let (manager, waits) = (HTTPSessionManager(baseURL: server.urlString("/")), Recorder<Duration>())
            var events = manager.events(from: "events")
            events.pacing.wait = {
                waits.record($0)
                await Duration.seconds(86_400).pause()
            }
            let reader = Task { [events] in try await collect(events) }
            await waits.wait()
            if isFinal { manager.invalidate(cancellingTasks: true) } else { manager.cancelAll() }
            await #expect { try await reader.value } throws: { ($0 as? SessionError)?.code == .cancelled }
        }
        #expect(server.requests.count == 2)
    }

    @Test func invalidManagerSkipsReconnectionDelay() async throws {
        let pacing = ReconnectionPacing { _ in await Duration.seconds(86_400).pause() }
        manager.invalidate(cancellingTasks: false)
        await #expect { try await pacing.pause(.seconds(1), in: manager) } throws: {
            ($0 as? SessionError)?.code == .closed
        }
    }

    @Test func invalidatingManagerEndsStream() async throws {
        server.route("/events", [.chunkedHead(headers: Script.eventFields), .stall(at: "quiet"), .lastChunk()])
        let reader = Task { [events = events()] in try await collect(events) }
        #expect(await server.wait(for: .stalled(at: "quiet")))
        manager.invalidate(cancellingTasks: true)
        await #expect(throws: SessionError.self) { try await reader.value }
        server.open("quiet")
    }

    @Test func pauseEndsAtOnceInCancelledTask() async throws {
        let start = ContinuousClock.now
        await Duration.milliseconds(20).pause()
        #expect(ContinuousClock.now - start >= .milliseconds(20))
        await Duration.zero.pause()
        await Duration.seconds(-1).pause()
        await Duration(secondsComponent: .min, attosecondsComponent: 0).pause()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            await Duration(secondsComponent: .max, attosecondsComponent: 0).pause()
        }
        await task.value
    }
}
