import AFTestServer
import CAFTestServer
import FoundationEssentials
import SwiftAF
import Testing

private actor Store {
    private(set) var names: [String] = []

    func add(_ name: String) -> Int {
        names.append(name)
        return names.count
    }
}

@Suite struct AsyncHandlerTests {
    @Test func respondsWithWhatAnActorHas() async throws {
        let store = Store()
        let server = try TestServer()
        server.route("POST /users") { request, connection in
            let id = await store.add(request.bodyText)
            try connection.respond(201, body: "\(id)")
        }
        let client = try Client(port: server.port)
        for number in 1...3 {
            try client.send("POST /users HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nAda")
            let expected = "HTTP/1.1 201 Created\r\nContent-Length: 1\r\n\r\n\(number)"
            #expect(try client.receive(asLongAs: expected) == expected)
        }
        #expect(await store.names == ["Ada", "Ada", "Ada"])
        #expect(server.handlerErrors.isEmpty)
    }

    @Test func sends500IfItThrowsAndResetsWithinAResponse() async throws {
        struct Refused: Error {}
        let server = try TestServer()
        server.route("/early") { _, _ in
            await Task.yield()
            throw Refused()
        }
        server.route("/late") { _, connection in
            try connection.send("HTTP/1.1 200 OK\r\n\r\npartial")
            await Task.yield()
            throw Refused()
        }
        server.route("/cancelled") { _, _ in
            await Task.yield()
            throw CancellationError()
        }
        #expect(try Client.exchange(server.port, "GET /early").hasPrefix("HTTP/1.1 500 "))
        #expect(throws: Client.Failure.self) { try Client.exchange(server.port, "GET /late") }
        #expect(try Client.exchange(server.port, "GET /cancelled").hasPrefix("HTTP/1.1 500 "))
        #expect(server.handlerErrors.count == 3 && server.handlerErrors.first is Refused)
    }

    /// More than the pool has threads.
    @Test func blocksNoThreadOfThePoolWhile50HandlersStandAtAGate() async throws {
        let store = Store()
        let server = try TestServer()
        server.route("/") { _, connection in
            _ = await store.add("a")
            try connection.stall(at: "gate")
            try connection.respond(body: "\(await store.names.count)")
        }
        let clients = try (0..<50).map { _ in try Client(port: server.port) }
        for client in clients { try client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n") }
        try #require(await server.wait(for: .stalled(at: "gate", count: clients.count)))
        server.open("gate")
        for client in clients { #expect(try client.receiveAll().hasSuffix("\r\n\r\n50")) }
    }

    @Test func waitsForTheServerItself() async throws {
        let server = try TestServer()
        server.route("/first") { [weak server] _, connection in
            let arrived = await server?.wait(for: .stalled(at: "second"))
            server?.open("second")
            try connection.respond(body: "\(arrived == true)")
        }
        server.route("/second", [.stall(at: "second"), .text("second")])
        let port = server.port
        async let second = Client.onAnotherThread { try Client.exchange(port, "GET /second") }
        async let first = Client.onAnotherThread { try Client.exchange(port, "GET /first") }
        #expect(try await first.hasSuffix("true"))
        #expect(try await second.hasSuffix("second"))
    }

    @Test func runsChildTasks() async throws {
        let server = try TestServer()
        server.route("/") { _, connection in
            async let one: Void = Task.yield()
            let sum = await withTaskGroup(of: Int.self) { group in
                for number in 1...10 { group.addTask { number } }
                return await group.reduce(0, +)
            }
            await one
            try connection.respond(body: "\(sum)")
        }
        #expect(try Client.exchange(server.port, "GET /").hasSuffix("\r\n\r\n55"))
    }

    @Test func cancelsHandlersWhenTheServerStops() async throws {
        let (events, event) = AsyncStream<String>.makeStream()
        // Never yields: only cancelling ends the loop over it.
        let (silence, silent) = AsyncStream<Void>.makeStream()
        defer { silent.finish() }
        let server = try TestServer()
        server.route("/") { _, connection in
            event.yield("begun")
            for await _ in silence {}
            event.yield(Task.isCancelled ? "cancelled" : "ended")
            try Task.checkCancellation()
        }
        let client = try Client(port: server.port)
        try client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        var iterator = events.makeAsyncIterator()
        #expect(await iterator.next() == "begun")
        server.stop()
        #expect(await iterator.next() == "cancelled")
        #expect(server.handlerErrors.isEmpty)
    }

    /// Its thread never waits, and so never asks for the stop there. Without a cancellation the loop ends late.
    @Test func cancelsHandlersThatAlwaysHaveSomethingToDo() async throws {
        let (events, event) = AsyncStream<Bool>.makeStream()
        let server = try TestServer()
        server.route("/") { _, _ in
            event.yield(false)
            for _ in 0..<3_000_000 where !Task.isCancelled { await Task.yield() }
            event.yield(Task.isCancelled)
        }
        let client = try Client(port: server.port)
        try client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        var iterator = events.makeAsyncIterator()
        #expect(await iterator.next() == false)
        server.stop()
        #expect(await iterator.next() == true)
    }

    /// The handler goes on, and waits again, while the stop begins.
    @Test(.timeLimit(.minutes(1))) func cancelsHandlersThatResumeWhileTheServerStops() async throws {
        for _ in 0..<100 {
            let (steps, step) = AsyncStream<Void>.makeStream()
            // Nothing but the cancellation ends the wait for this one.
            let (endless, endlessEvents) = AsyncStream<Void>.makeStream()
            defer { endlessEvents.finish() }
            let (events, event) = AsyncStream<Bool>.makeStream()
            let server = try TestServer()
            server.route("/") { _, _ in
                event.yield(false)
                for await _ in steps { break }
                for await _ in endless {}
                event.yield(Task.isCancelled)
            }
            let client = try Client(port: server.port)
            try client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            var iterator = events.makeAsyncIterator()
            #expect(await iterator.next() == false)
            step.yield()
            server.stop()
            try #require(await iterator.next() == true)
        }
    }

    @Test(.timeLimit(.minutes(1))) func stopsTheServerOnTheMainActor() async throws {
        let server = try TestServer()
        server.route("/") { @MainActor [weak server] _, connection async throws in
            try connection.respond(headers: ["Connection": "close"])
            server?.stop()
        }
        let port = server.port
        let response = try await Client.onAnotherThread { try Client.exchange(port, "GET /") }
        #expect(response.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(await server.wait(for: .closes(1)))
        #expect(server.handlerErrors.isEmpty)
    }

    @Test(.timeLimit(.minutes(1))) func releasesTheServerOnTheMainActor() async throws {
        let last = Locked<TestServer?>(nil)
        let (events, released) = AsyncStream<Void>.makeStream()
        let port: Int
        do {
            let server = try TestServer()
            port = server.port
            server.route("/") { @MainActor _, connection async throws in
                try connection.respond(headers: ["Connection": "close"])
                last.withLock { $0 = nil }
                released.yield()
            }
            last.withLock { $0 = server }
        }
        let response = try await Client.onAnotherThread { try Client.exchange(port, "GET /") }
        #expect(response.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(await events.first { _ in true } != nil)
    }

    @Test func callsTheConnectionOnItsOwnThreadFromTheMainActor() async throws {
        let server = try TestServer()
        server.route("/") { @MainActor _, connection async throws in
            MainActor.assertIsolated()
            for number in 0..<3 {
                try connection.run(.interim(103))
                await Task.yield()
                try connection.run(
                    .handler { _, nested in
                        try nested.run(.interim(104, headers: ["In-Handler": "\(afts_in_handler()) \(number)"]))
                    })
            }
            try connection.stall(at: "gate")
            try connection.respond(headers: ["Connection": "close"], body: "end")
        }
        let port = server.port
        async let response = Client.onAnotherThread { try Client.exchange(port, "GET /") }
        // The main thread is blocked at the gate.
        try #require(await server.wait(for: .stalled(at: "gate")))
        server.open("gate")
        let text = try await response
        for number in 0..<3 { #expect(text.contains("In-Handler: true \(number)\r\n")) }
        #expect(text.hasSuffix("\r\n\r\nend"))
        #expect(server.handlerErrors.isEmpty)
    }

    @Test func noticesAClientThatClosesWhileItWaits() async throws {
        let (opened, open) = AsyncStream<Void>.makeStream()
        let server = try TestServer()
        server.route("/") { _, connection in
            for await _ in opened { break }
            try connection.respond(body: "late")
        }
        let client = try Client(port: server.port)
        try client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        try #require(await server.wait(for: .requests(1)))
        client.close()
        #expect(await server.wait(for: .closes(1)))
        #expect(server.connections[0].ending == .closedByClient)
        open.yield()
        server.stop()
        #expect(server.statistics.closed == 1 && server.handlerErrors.isEmpty)
    }
}
