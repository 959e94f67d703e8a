import AFTestServer
import FoundationEssentials
import Testing

@testable import SwiftAF

@Suite(.timeLimit(.minutes(10)))
struct TransferTests {
    private struct Broken: Error {}

    private let server: TestServer
    private let manager: HTTPSessionManager

    init() throws {
        server = try TestServer()
        manager = HTTPSessionManager(baseURL: server.urlString("/"))
    }

    private static func chunks(_ count: Int, of size: Int) -> AsyncStream<Data> {
        AsyncStream { continuation in
            for index in 0..<count {
                continuation.yield(Data(repeating: UInt8(truncatingIfNeeded: index), count: size))
            }
            continuation.finish()
        }
    }

    private static func joined(_ count: Int, of size: Int) -> Data {
        (0..<count).reduce(into: Data()) { $0 += Data(repeating: UInt8(truncatingIfNeeded: $1), count: size) }
    }

    // MARK: Bodies

    @Test(arguments: [0, 1, 14, 15, 1024, 1025, 500_000])
    func bytesOfEverySizeArrive(count: Int) async throws {
        let whole = Data((0..<(count + 10)).map { UInt8(truncatingIfNeeded: $0) })
        for data in [whole[5..<(count + 5)], Data(whole[5..<(count + 5)])] {
            _ = try await manager.response(for: HTTPRequest(.post, "x", body: .data(data)))
        }
        #expect(server.requests.map { Int($0.bodyLength) } == [count, count])
        #expect(server.requests.allSatisfy { $0.body == Data(whole[5..<(count + 5)]) })
    }

    @Test func streamsUseChunksOrAnnouncedLength() async throws {
        let sent = Self.joined(40, of: 10_000)
        let unknown = HTTPBody.stream { Self.chunks(40, of: 10_000) }
        let known = HTTPBody.stream(length: 400_000) { Self.chunks(40, of: 10_000) }
        _ = try await manager.response(for: HTTPRequest(.post, "x", body: unknown))
        _ = try await manager.response(for: HTTPRequest(.post, "x", body: known))
        #expect(server.requests[0]["Transfer-Encoding"] == "chunked")
        #expect(server.requests[1]["Content-Length"] == "400000")
        #expect(server.requests.allSatisfy { $0.body == sent })
    }

    @Test func failingOrMismeasuredStreamsFailRequest() async {
        func error(_ body: HTTPBody) async -> SessionError? {
            await #expect(throws: SessionError.self) {
                try await manager.response(for: HTTPRequest(.post, "x", body: body))
            }
        }
        let broken = AsyncThrowingStream<Data, any Error> { continuation in
            continuation.yield(Data("a".utf8))
            continuation.finish(throwing: Broken())
        }
        let thrown = await error(.stream(once: broken))
        #expect(thrown?.code == .bodySource)
        #expect(thrown?.underlying is Broken)
        #expect(await error(.stream(length: 11) { Self.chunks(1, of: 10) })?.code == .bodySource)
        #expect(await error(.stream(length: 9) { Self.chunks(1, of: 10) })?.code == .bodySource)
    }

    @Test func noticesWhatGoesWrongAfterTheLastByteUntilTheResponseIsComplete() async throws {
        for failure in [nil, Broken()] as [Broken?] {
            let gate = failure == nil ? "surplus" : "error"
            server.route("/\(gate)", [.stall(at: gate), .text("late")])
            let (chunks, end) = AsyncThrowingStream.makeStream(of: Data.self)
            end.yield(Data("abcd".utf8))
            let call = Task { [manager] in
                try await manager.response(for: HTTPRequest(.post, gate, body: .stream(once: chunks, length: 4)))
            }
            #expect(await server.wait(for: .stalled(at: gate)))
            if let failure { end.finish(throwing: failure) } else { end.yield(Data("e".utf8)) }
            let error = await #expect(throws: SessionError.self) { try await call.value }
            #expect(error?.code == .bodySource)
            if failure == nil {
                #expect(error?.message == "the request body is longer than its 4 bytes")
            } else {
                #expect(error?.underlying is Broken)
            }
            server.open(gate)
        }
    }

    @Test func bodiesInCrumbsArriveWholeAndCanBeCancelledAtAnyTime() async throws {
        server.route("/x", .text("x"))
        let crumbs = 300
        let sent = Data(
            (0..<crumbs).flatMap { index in (0..<(index % 9)).map { UInt8(truncatingIfNeeded: index + $0) } })
        let sequence: @Sendable () -> AsyncStream<Data> = {
            AsyncStream { continuation in
                for index in 0..<crumbs {
                    continuation.yield(Data((0..<(index % 9)).map { UInt8(truncatingIfNeeded: index + $0) }))
                }
                continuation.finish()
            }
        }
        await withTaskGroup { group in
            for number in 0..<200 {
                let body = HTTPBody.stream(length: number % 2 == 0 ? Int64(sent.count) : nil, sequence)
                group.addTask { [manager] in
                    let call = Task { try await manager.response(for: HTTPRequest(.post, "x", body: body)).status }
                    if number % 4 == 3 {
                        for _ in 0..<(number % 40) { await Task.yield() }
                        call.cancel()
                    }
                    switch await call.result {
                    case .success(let status): #expect(status == 200)
                    case .failure(let error): #expect((error as? SessionError)?.code == .cancelled)
                    }
                }
            }
        }
        let whole = server.requests.filter { $0.isBodyComplete }
        #expect(whole.count >= 150)
        #expect(whole.allSatisfy { $0.body == sent })
    }

    @Test func sendsTheLastChunkBeforeTheSequenceEnds() async throws {
        let (chunks, end) = AsyncStream.makeStream(of: Data.self)
        end.yield(Data("ab".utf8))
        end.yield(Data("cd".utf8))
        var request = HTTPRequest(.post, "x", body: .stream(once: chunks, length: 4))
        request.timeouts.total = .seconds(10)
        _ = try await manager.response(for: request)
        end.finish()
        #expect(server.requests[0].body == Data("abcd".utf8))
    }

    @Test func aSequenceThatIgnoresCancellationKeepsNothingElse() async throws {
        server.route("/slow", [.stall(at: "slow"), .text("late")])
        let end = OneValueChannel<Void>()
        let began = Recorder<Void>()
        weak var session: CoreSession?
        do {
            let manager = HTTPSessionManager(baseURL: server.urlString("/"))
            session = try manager.snapshot.session.get()
            let stubborn = AsyncStream<Data> {
                began.record(())
                await end.wait()
                return nil
            }
            let call = Task {
                try await manager.response(for: HTTPRequest(.post, "slow", body: .stream(once: stubborn)))
            }
            await began.wait()
            call.cancel()
            await #expect(throws: SessionError.self) { try await call.value }
        }
        await eventually(within: .seconds(10)) { session == nil }
        end.send(())
        server.open("slow")
    }

    @Test func serverThatDoesNotReadPausesStream() async throws {
        server.route("/held", [.readHeadOnly, .stall(at: "held"), .close])
        let pulled = Recorder<Int>()
        let endless = AsyncStream<Data>(unfolding: {
            pulled.record(1)
            return Data(count: 65_536)
        })
        let request = Task { [manager] in
            try await manager.response(for: HTTPRequest(.post, "held", body: .stream(once: endless)))
        }
        #expect(await server.wait(for: .stalled(at: "held")))
        request.cancel()
        await #expect { try await request.value } throws: { ($0 as? SessionError)?.code == .cancelled }
        server.open("held")
        // Socket buffers, libcurl's, the ring, and no more.
        #expect(pulled.values.count < 400)
    }

    @Test func onlyReplayableBodyFollowsRedirect() async throws {
        server.route("/from", .redirect(to: "/to", status: 307))
        let body = HTTPBody.stream { Self.chunks(4, of: 1000) }
        _ = try await manager.response(for: HTTPRequest(.post, "from", body: body))
        #expect(server.requests.map(\.path) == ["/from", "/to"])
        #expect(server.requests[1].body == Self.joined(4, of: 1000))
        let once = HTTPBody.stream(once: Self.chunks(4, of: 1000))
        let error = try await sessionError {
            try await manager.response(for: HTTPRequest(.post, "from", body: once))
        }
        #expect(error.code == .bodyNotReplayable && error.status == 307)
        #expect(error.response?.headers["Location"] == "/to")
    }

    @Test func bodyThatCanBeReadOnceFailsASecondRequest() async throws {
        var form = MultipartFormData()
        try form.append(once: Self.chunks(4, of: 1000), name: "part")
        for body in [.stream(once: Self.chunks(4, of: 1000)), .multipart(form)] as [HTTPBody] {
            let request = HTTPRequest(.post, "x", body: body)
            let earlier = server.requests.count
            _ = try await manager.response(for: request)
            let copy = request
            #expect(try await sessionError { try await manager.response(for: copy) }.code == .bodyNotReplayable)
            #expect(server.requests.dropFirst(earlier).filter(\.isBodyComplete).map { $0.body.count >= 4000 } == [true])
        }
    }

    @Test func oneOfTwoConcurrentRequestsGetsABodyThatCanBeReadOnce() async throws {
        let (chunks, end) = AsyncStream.makeStream(of: Data.self)
        let request = HTTPRequest(.post, "x", body: .stream(once: chunks, length: 4))
        let calls = (0..<2).map { _ in Task { [manager] in try await manager.response(for: request).status } }
        end.yield(Data("abcd".utf8))
        end.finish()
        var codes: [SessionError.Code?] = []
        for call in calls {
            do {
                _ = try await call.value
                codes.append(nil)
            } catch {
                codes.append(error.asSessionError?.code)
            }
        }
        #expect(codes == [nil, .bodyNotReplayable] || codes == [.bodyNotReplayable, nil])
    }

    @Test func requestThatFailedBeforeItsBodyWasReadCanBeSentAgain() async throws {
        let body = HTTPBody.stream(once: Self.chunks(4, of: 1000))
        let stopped = try TestServer()
        stopped.stop()
        let error = try await sessionError {
            try await manager.response(for: HTTPRequest(.post, stopped.urlString("/"), body: body))
        }
        #expect(error.code == .connect)
        _ = try await manager.response(for: HTTPRequest(.post, "x", body: body))
        #expect(server.requests[0].body == Self.joined(4, of: 1000))
    }

    // MARK: Redirects

    @Test func followsAndReportsRedirects() async throws {
        server.route("/a", .redirect(to: "b"))
        server.route("/b", .redirect(to: "/c?x=1"))
        server.route("/c", .text("there"))
        let response = try await manager.response(.get, "a")
        #expect(response.url == server.urlString("/c?x=1"))
        let hops = response.metrics.hops
        #expect(hops.map(\.status) == [302, 302, 200])
        #expect(hops.map(\.isReused) == [false, true, true])
        #expect(response.metrics.redirects.count == 2)
        #expect(hops.allSatisfy { $0.total != nil && $0.remoteAddress?.port == server.port })
    }

    @Test func redirectPolicyLimitsRedirects() async throws {
        server.route("/a", .redirect(to: "/a"))
        var request = HTTPRequest("a")
        request.redirectPolicy = .doNotFollow
        #expect(try await manager.response(for: request).status == 302)
        for limit in [0, 3] {
            let before = server.requests.count
            request.redirectPolicy = .follow(atMost: limit)
            await #expect { try await manager.response(for: request) } throws: {
                let error = $0.asSessionError
                return error?.reason == .redirectLimit && error?.response?.status == 302
                    && error?.response?.headers["Location"] == "/a"
            }
            #expect(server.requests.count - before == limit + 1)
        }
    }

    @Test func redirectHandlerChangesOrRefusesRedirects() async throws {
        let other = try TestServer()
        other.route("/edited", .text("edited"))
        server.route("/a", .redirect(to: other.urlString("/b")))
        let proposals = Recorder<RedirectProposal>()
        let edited = other.urlString("/edited")
        var headers: HTTPHeaders = ["X-Plain": "1", "Authorization": "Basic eDp5"]
        headers.add(name: "X-Key", value: "k", isSecret: true)
        let request = HTTPRequest("a", headers: headers)

        manager.redirectHandler = { proposal in
            proposals.record(proposal)
            var next = proposal.request
            next.url = edited
            next.headers["X-New"] = "2"
            return .replace(next)
        }
        #expect(try await manager.response(for: request).text() == "edited")
        let proposal = proposals.values[0]
        #expect(proposal.count == 1)
        #expect(proposal.crossesOrigin)
        #expect(proposal.response.status == 302)
        #expect(proposal.request.url == other.urlString("/b"))
        #expect(proposal.request.headers["X-Plain"] == "1")
        #expect(proposal.request.headers["X-Key"] == nil)
        #expect(proposal.request.headers["Authorization"] == nil)
        #expect(other.requests[0]["X-New"] == "2")
        #expect(other.requests[0]["X-Key"] == nil)

        manager.redirectHandler = { _ in .stop }
        #expect(try await manager.response(for: request).status == 302)
        manager.redirectHandler = { _ in .fail(SessionError(.redirect)) }
        await #expect { try await manager.response(for: request) } throws: {
            ($0 as? SessionError)?.code == .redirect
        }
        manager.redirectHandler = { _ in .replace(HTTPRequest("http://host/\0")) }
        let error = await #expect(throws: SessionError.self) { try await manager.response(for: request) }
        #expect(error?.code == .invalidInput)
    }

    /// A value whose bytes aren't UTF-8, as a server may have sent it.
    private func latin1Field(_ name: String) -> HTTPHeaders.Field {
        Array(name.utf8).withUnsafeBufferPointer { name in
            [UInt8(ascii: "k"), 0xE9].withUnsafeBufferPointer { HTTPHeaders.Field(name: name, value: $0) }
        }
    }

    @Test func redirectHandlerKeepsBytesOfFieldsThatAreNotUTF8() async throws {
        server.route("/a", .redirect(to: "/b"))
        var request = HTTPRequest("a")
        request.headers.add(latin1Field("X-Plain"))
        request.headers.add(latin1Field("X-Key"))
        request.headers.markSecret("X-Key")
        let proposals = Recorder<RedirectProposal>()
        manager.redirectHandler = { proposal in
            proposals.record(proposal)
            return .replace(proposal.request)
        }
        _ = try await manager.response(for: request)
        let fields = proposals.values[0].request.headers.fields.filter { $0.name.hasPrefix("X-") }
        #expect(fields.map(\.rawValue) == [[0x6B, 0xE9], [0x6B, 0xE9]])
        #expect(fields.map(\.isSecret) == [false, true])
        for name in ["X-Plain", "X-Key"] {
            let sent = server.requests.map { $0.headers.first { $0.name == name }?.valueBytes }
            #expect(sent == [Data([0x6B, 0xE9]), Data([0x6B, 0xE9])], "\(name)")
        }
    }

    @Test(arguments: ["X-Auth-Token", "X-Key"])
    func redirectHandlerSendsNoSecretThatIsNotUTF8ToAnotherOrigin(name: String) async throws {
        let other = try TestServer()
        server.route("/a", .redirect(to: "/b"))
        var request = HTTPRequest("a")
        request.headers.add(latin1Field(name))
        request.headers.markSecret(name)
        let url = other.urlString("/mapped")
        manager.redirectHandler = { proposal in
            var next = proposal.request
            next.url = url
            return .replace(next)
        }
        _ = try await manager.response(for: request)
        #expect(server.requests[0][name] != nil)
        #expect(other.requests[0][name] == nil)
    }

    /// In the fields that the handler copies, no mark says what is secret, and names have another case.
    @Test func redirectHandlerThatCopiesFieldsTakesNoSecretsToAnotherOrigin() async throws {
        let other = try TestServer()
        server.route("/a", .redirect(to: "/b"))
        var request = HTTPRequest("a", headers: ["Authorization": "Bearer s3cret", "X-Plain": "p"])
        request.headers.add(name: "X-Key", value: "s3cret", isSecret: true)
        let url = other.urlString("/mapped")
        manager.redirectHandler = { proposal in
            let fields = proposal.request.headers.fields.map { ($0.name.lowercased(), $0.value) }
            return .replace(HTTPRequest(.get, url, headers: HTTPHeaders(fields)))
        }
        _ = try await manager.response(for: request)
        #expect(server.requests[0]["X-Key"] == "s3cret")
        #expect(other.requests[0]["X-Key"] == nil && other.requests[0]["Authorization"] == nil)
        #expect(other.requests[0]["X-Plain"] == "p")
    }

    // MARK: Downloads

    @Test func downloadReplacesFileOnlyOnSuccess() async throws {
        let name = "swiftaf-\(UInt64.random(in: 0 ... .max))"
        let path = FileManager.default.temporaryDirectory.appendingPathComponent(name)
        defer { try? FileManager.default.removeItem(at: path) }
        server.route("/file", .respond(repeating: Data("0123456789".utf8), count: 100_000))
        server.route("/gone", .respond(404, body: Data("not here".utf8)))
        let progress = Recorder<TransferProgress>()
        let response = try await manager.download(HTTPRequest("file"), to: path.path) { progress.record($0) }
        #expect(response.status == 200)
        #expect(response.filePath == path.path)
        #expect(response.fileSize == 1_000_000)
        #expect(response.resumption == .none)
        #expect(try Data(contentsOf: path).count == 1_000_000)
        #expect(progress.values.last?.received == 1_000_000)
        #expect(progress.values.last?.fractionCompleted == 1)
        let error = await #expect(throws: SessionError.self) {
            try await manager.download(HTTPRequest("gone"), to: path.path)
        }
        #expect(error?.code == .status)
        #expect(error?.body == Data("not here".utf8))
        #expect(try Data(contentsOf: path).count == 1_000_000)
    }

    // MARK: Heads

    @Test func preservesHeaderOrderCaseRepeatsAndTrailers() async throws {
        server.route(
            "/x",
            [
                .send("HTTP/1.1 299 Féin\r\nX-b: 1\r\nx-A:  two \r\nX-b: 3\r\n"),
                .send(Data("L: ".utf8) + Data([0xE9]) + Data("\r\n".utf8)),
                .send("Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nT: last\r\n\r\n"),
            ])
        let response = try await manager.response(.get, "x").head
        #expect(response.status == 299)
        #expect(response.headers.prefix(4).map(\.name) == ["X-b", "x-A", "X-b", "L"])
        #expect(response.headers.values(named: "x-b") == ["1", "3"])
        #expect(response.headers["X-A"] == "two")
        #expect(response.headers["L"] == "é")
        #expect(response.trailers["T"] == "last")
        #expect(response.version == .http1_1)
    }

    @Test func appliesConfiguredHeadersAndSuppressedDefaults() async throws {
        var configuration = SessionConfiguration()
        configuration.userAgent = "mine/1"
        configuration.headers = ["X-All": "1", "X-Other": "2"]
        let manager = HTTPSessionManager(baseURL: server.urlString("/"), configuration: configuration)
        var headers: HTTPHeaders = ["X-Other": "own"]
        headers.suppressDefault("Accept")
        _ = try await manager.response(for: HTTPRequest("x", headers: headers))
        let sent = server.requests[0]
        #expect(sent["User-Agent"] == "mine/1")
        #expect(sent["X-All"] == "1")
        #expect(sent.values(named: "X-Other") == ["own"])
        #expect(sent["Accept"] == nil)
        _ = try await manager.response(.get, "x")
        #expect(server.requests[1]["User-Agent"] == "mine/1")
    }
}
