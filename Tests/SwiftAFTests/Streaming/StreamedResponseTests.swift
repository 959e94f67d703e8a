import AFTestServer
import FoundationEssentials
import Testing

@testable import SwiftAF

@Suite(.timeLimit(.minutes(10)))
struct StreamedResponseTests {
    private let server: TestServer
    private let manager = HTTPSessionManager()

    init() throws {
        var options = TestServer.Options()
        options.sendBuffer = 64 * 1024
        server = try TestServer(options: options)
    }

    @Test func deliversHeadAndBytesInOrder() async throws {
        let block = Data((0..<255).map { UInt8($0) })
        server.route("/big", .respond(repeating: block, count: 20_000))
        let response = try await manager.stream(HTTPRequest(server.url("/big")))
        #expect(response.status == 200)
        #expect(response.url == server.urlString("/big"))
        #expect(response.head.contentLength == 5_100_000)
        var position = 0
        for try await chunk in response.bytes {
            #expect(!chunk.isEmpty)
            #expect(chunk.enumerated().allSatisfy { Int($1) == (position + $0) % 255 })
            position += chunk.count
        }
        #expect(position == 5_100_000)
    }

    @Test func responseIsSequenceOfItsChunks() async throws {
        server.route("/log", .text("one\ntwo"))
        let manager = HTTPSessionManager(baseURL: server.urlString("/"))
        var body = Data()
        do throws(SessionError) {
            for try await chunk in try await manager.stream("log") { body += chunk }
        } catch {
            #expect(error.status == 200)
        }
        #expect(body == Data("one\ntwo".utf8))
        let name = "log"
        #expect(try await manager.response(for: "\(name)").body == body)
    }

    /// `Content-Length` counts encoded bytes.
    @Test func aDecodedResponseHasNoLengthAndIsPassedOn() async throws {
        // 1,000 times "a".
        let encoded = try #require(
            Data(base64Encoded: "H4sIAAAAAAACA0tMHAWjYBQMdwAAA9o4mugDAAA="))
        server.route("/in", .respond(headers: ["Content-Encoding": "gzip"], body: encoded))
        server.route("PUT /out", .status(204))
        let response = try await manager.stream(HTTPRequest(server.url("/in")))
        #expect(response.head.isDecoded && response.head.contentLength == nil)
        #expect(response.headers[.contentLength] == String(encoded.count))
        let copy = HTTPRequest(
            .put, server.url("/out"), body: .stream(once: response.bytes, length: response.head.contentLength))
        #expect(try await manager.response(for: copy).status == 204)
        #expect(server.requests.last?.body == Data(repeating: UInt8(ascii: "a"), count: 1000))
        var request = HTTPRequest(server.url("/in"))
        #expect(try await manager.response(for: request).head.contentLength == nil)
        request.decompressesBody = false
        let kept = try await manager.response(for: request)
        #expect(!kept.head.isDecoded && kept.head.contentLength == Int64(encoded.count) && kept.body == encoded)
        request.method = .head
        request.decompressesBody = true
        #expect(try await manager.response(for: request).head.contentLength == Int64(encoded.count))
    }

    enum Reading: CaseIterable {
        case chunks, lines, collecting
    }

    @Test(arguments: Reading.allCases) func trailersAndMetricsAreKnownAtTheEnd(reading: Reading) async throws {
        server.route(
            "/log", [.chunkedHead(), .stall(at: "end"), .chunk(Data("one\n".utf8)), .lastChunk(["Sum": "7"])])
        let response = try await manager.stream(HTTPRequest(server.url("/log")))
        #expect(response.completedHead == nil)
        server.open("end")
        switch reading {
        case .chunks: for try await _ in response {}
        case .lines: for try await _ in response.lines {}
        case .collecting: _ = try await response.collect(upTo: 100)
        }
        let end = try #require(response.completedHead)
        #expect(end.trailers["Sum"] == "7")
        #expect(end.metrics.hops.map(\.status) == [200])
        #expect(end.status == 200 && end.headers == response.headers && end.url == response.url)
        #expect(response.head.trailers.isEmpty)
    }

    @Test func aResponseThatIsCutShortHasNoCompletedHead() async throws {
        server.route("/log", [.chunkedHead(), .chunk(Data("one".utf8)), .close])
        let response = try await manager.stream(HTTPRequest(server.url("/log")))
        await #expect(throws: SessionError.self) { try await response.collect(upTo: 100) }
        #expect(response.completedHead == nil)
    }

    @Test func cancelEndsTheTransferAfterWhatWasReceived() async throws {
        server.route("/log", [.chunkedHead(), .chunk(Data("one".utf8)), .waitForPeerClose])
        let response = try await manager.stream(HTTPRequest(server.url("/log")))
        var iterator = response.makeAsyncIterator()
        #expect(try await iterator.next() == Data("one".utf8))
        let reader = Task { try await response.collect(upTo: 100) }
        response.cancel()
        await #expect { try await reader.value } throws: { ($0 as? SessionError)?.code == .cancelled }
        // The server has noticed.
        #expect(await server.wait(for: .closes(1)))
        response.cancel()
        #expect(response.completedHead == nil)
    }

    @Test func cancelAfterTheEndHasNoEffect() async throws {
        server.route("/log", .text("one"))
        let response = try await manager.stream(HTTPRequest(server.url("/log")))
        #expect(try await response.collect(upTo: 100) == Data("one".utf8))
        response.cancel()
        #expect(try await response.collect(upTo: 100).isEmpty)
        #expect(response.completedHead?.status == 200)
    }

    @Test func returnsHeadBeforeBodyArrives() async throws {
        server.route("/late", [.chunkedHead(), .stall(at: "body"), .chunk(Data("late".utf8)), .lastChunk()])
        let response = try await manager.stream(HTTPRequest(server.url("/late")))
        #expect(response.status == 200)
        server.open("body")
        var body = Data()
        for try await chunk in response.bytes { body += chunk }
        #expect(body == Data("late".utf8))
    }

    @Test func unreadStreamPausesEndlessServer() async throws {
        server.route("/endless", .respond(repeating: Data(repeating: 7, count: 65_536), count: nil))
        let response = try await manager.stream(HTTPRequest(server.url("/endless")))
        // What the sockets on both ends, libcurl and our buffer can hold. The server's count stands still below it.
        let most = 16 << 20
        var iterator = response.bytes.makeAsyncIterator()
        var taken = 0
        var sent: [Int] = []
        for _ in 0..<50 {
            let chunk = try await iterator.next()
            taken += try #require(chunk).count
            sent.append(Int(server.statistics.sent) - taken)
        }
        #expect(sent.allSatisfy { $0 < most })
        // It goes on however much is read: the pause was one.
        while taken < 2 * most {
            let chunk = try await iterator.next()
            taken += try #require(chunk).count
        }
    }

    @Test func unreadStreamBuffersLessThan2MiB() async throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: \(10 << 30)\r\n\r\n"
        let block = Data(repeating: 7, count: 65_536)
        server.route("/huge", [.send(head), .send(repeating: block, count: 10 << 14), .close])
        let response = try await manager.stream(HTTPRequest(server.url("/huge")))
        #expect(response.head.contentLength == 10 << 30)
        let connection = try #require(server.connections.first)
        let sockets = try #require(SocketQueues(serverPort: server.port, clientPort: connection.clientPort))
        var iterator = response.bytes.makeAsyncIterator()
        var taken = 0
        for _ in 0..<20 {
            // Put off, the transfer reads nothing more from its socket: what is in the process stands still.
            await eventually { response.bytes.owner.stream.isAtRest }
            let held = sockets.bytesOutside { server.statistics.sent } - head.utf8.count - taken
            // It goes on once half has been read; a part that the client hasn't acknowledged yet is counted in both
            // queues.
            #expect(held > StreamState.capacity / 4)
            #expect(held < 2 << 20)
            taken += try #require(try await iterator.next()).count
        }
    }

    @Test func collectsABodyUpToItsLimitAndCancelsALongerOne() async throws {
        server.route("/four", .text("four"))
        server.route("/empty", .text(""))
        #expect(try await manager.stream(HTTPRequest(server.url("/four"))).collect(upTo: 4) == Data("four".utf8))
        #expect(try await manager.stream(HTTPRequest(server.url("/empty"))).collect(upTo: 0).isEmpty)
        for limit in [3, 0, -1] {
            let response = try await manager.stream(HTTPRequest(server.url("/four")))
            await #expect { _ = try await response.collect(upTo: limit) } throws: { error in
                let error = error as? SessionError
                return error?.code == .tooLarge && error?.status == 200
            }
        }
        server.route("/endless", [.chunkedHead(), .chunk(Data(repeating: 1, count: 4096), count: nil)])
        let endless = try await manager.stream(HTTPRequest(server.url("/endless")))
        await #expect { _ = try await endless.collect(upTo: 1 << 20) } throws: {
            ($0 as? SessionError)?.code == .tooLarge
        }
        #expect(await server.wait(for: .open(atMost: 1)))
    }

    @Test func urlIsTargetOfRedirect() async throws {
        server.route("/from", .redirect(to: "/to?x=1"))
        server.route("/to", .text("there"))
        let response = try await manager.stream(HTTPRequest(server.url("/from")))
        #expect(response.url == server.urlString("/to?x=1"))
        var text = ""
        for try await chunk in response.bytes { text += String(decoding: chunk, as: UTF8.self) }
        #expect(text == "there")
    }

    @Test func truncatedBodyFailsAfterReceivedBytes() async throws {
        server.route("/cut", .truncated(body: Data("half".utf8), promising: 8))
        let response = try await manager.stream(HTTPRequest(server.url("/cut")))
        var body = Data()
        let error = await #expect(throws: SessionError.self) {
            for try await chunk in response.bytes { body += chunk }
        }
        #expect(error?.code == .truncated)
        #expect(body == Data("half".utf8))
        // What was read isn't the whole body: later readers fail, too.
        let again = await #expect(throws: SessionError.self) { try await response.collect(upTo: 100) }
        #expect(again?.code == .truncated)
        var iterator = response.bytes.makeAsyncIterator()
        await #expect(throws: SessionError.self) { _ = try await iterator.next() }
        let next = try await iterator.next()
        #expect(next == nil)
    }

    @Test func errorBeforeHeadIsThrownImmediately() async throws {
        server.route("/reset", [.reset])
        let error = await #expect(throws: SessionError.self) {
            try await manager.stream(HTTPRequest(server.url("/reset")))
        }
        #expect(error?.code == .connectionLost)
    }

    @Test func releasingResponseCancelsTransfer() async throws {
        server.route("/endless", .respond(repeating: Data(repeating: 7, count: 65_536), count: nil))
        var response: StreamedResponse? = try await manager.stream(HTTPRequest(server.url("/endless")))
        #expect(response?.status == 200)
        response = nil
        #expect(await server.wait(for: .closes(1)))
    }

    @Test func cancellingReaderEndsItsWait() async throws {
        server.route("/late", [.chunkedHead(), .stall(at: "body"), .waitForPeerClose])
        let response = try await manager.stream(HTTPRequest(server.url("/late")))
        let reader = Task {
            var iterator = response.bytes.makeAsyncIterator()
            return try await iterator.next()
        }
        #expect(await server.wait(for: .stalled(at: "body")))
        reader.cancel()
        await #expect { try await reader.value } throws: { ($0 as? SessionError)?.code == .cancelled }
        server.open("body")
        #expect(await server.wait(for: .closes(1)))
    }

    @Test(arguments: [true, false])
    func cancelledReaderGetsNoBufferedBytes(collects: Bool) async throws {
        server.route("/all", .text(String(repeating: "x", count: 600_000)))
        let response = try await manager.stream(HTTPRequest(server.url("/all")))
        await eventually { response.bytes.owner.stream.isAtRest }
        let reader = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            if collects { return try await response.collect(upTo: 1 << 20).count }
            var count = 0
            for try await chunk in response.bytes { count += chunk.count }
            return count
        }
        await #expect { try await reader.value } throws: { ($0 as? SessionError)?.code == .cancelled }
    }

    @Test func cancellingReaderStopsEndlessServer() async throws {
        server.route("/endless", .respond(repeating: Data(repeating: 7, count: 65_536), count: nil))
        let response = try await manager.stream(HTTPRequest(server.url("/endless")))
        let chunks = Recorder<Int>()
        let reader = Task {
            for try await chunk in response.bytes { chunks.record(chunk.count) }
        }
        await chunks.wait(for: 3)
        reader.cancel()
        await #expect { try await reader.value } throws: { ($0 as? SessionError)?.code == .cancelled }
        #expect(await server.wait(for: .closes(1)))
        #expect(response.status == 200)
    }

    @Test func cancelledTaskSendsNoRequest() async throws {
        let url = server.url("/x")
        let task = Task { [manager] in
            withUnsafeCurrentTask { $0?.cancel() }
            return try await manager.stream(HTTPRequest(url))
        }
        await #expect { try await task.value } throws: { ($0 as? SessionError)?.code == .cancelled }
        #expect(server.requests.isEmpty)
    }

    @Test func enforcesBodyLimitWhileStreaming() async throws {
        server.route("/endless", .respond(repeating: Data(repeating: 7, count: 65_536), count: nil))
        var request = HTTPRequest(server.url("/endless"))
        request.limits.maximumBodySize = 1_000_000
        let response = try await manager.stream(request)
        var count = 0
        let error = await #expect(throws: SessionError.self) {
            for try await chunk in response.bytes { count += chunk.count }
        }
        #expect(error?.code == .tooLarge)
        #expect(count <= 1_000_000)
    }
}
