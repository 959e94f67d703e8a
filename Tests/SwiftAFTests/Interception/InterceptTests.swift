import AFTestServer
import FoundationEssentials
import Testing

@testable import SwiftAF

@Suite(.timeLimit(.minutes(10)))
struct InterceptTests {
    private let server: TestServer
    private let manager: HTTPSessionManager

    init() throws {
        server = try TestServer()
        manager = HTTPSessionManager(baseURL: server.urlString("/"))
        manager.completionQueue = .global()
        server.route("/x", .text("done"))
    }

    private func intercept(_ closure: @escaping Interceptor.Intercept) {
        manager.interceptors = [Interceptor(intercept: closure)]
    }

    private static func mock(_ status: Int = 200, _ text: String = "mock") -> Response<Data> {
        Response(head: HTTPResponse(status: status, url: "mock:"), body: Data(text.utf8))
    }

    // MARK: Secrets

    /// As for a redirect to another origin: what was meant for the first server doesn't reach another one.
    @Test func anotherOriginGetsNoSecrets() async throws {
        let other = try TestServer()
        other.route("/x", .text("other"))
        manager.headers = ["Authorization": "Bearer s3cret", "X-Api-Key": "s3cret", "X-Plain": "p"]
        let url = other.urlString("/x")
        let adapting = Interceptor(adapt: { request, _ in
            var request = request
            request.url = url
            return request
        })
        let wrapping = Interceptor(intercept: { request, next in
            var request = request
            request.url = url
            request.headers["X-Api-Key"] = "of the other"
            return try await next(request)
        })
        for interceptor in [adapting, wrapping] {
            manager.interceptors = [interceptor]
            var request = HTTPRequest("x", headers: ["Cookie": "session=s3cret"])
            request.credential = Credential(user: "joe", password: "s3cret")
            #expect(try await manager.response(for: request).text() == "other")
        }
        #expect(server.requests.isEmpty)
        #expect(other.requests.map { $0["X-Plain"] } == ["p", "p"])
        #expect(other.requests.map { $0["X-Api-Key"] } == [nil, "of the other"])
        #expect(other.requests.allSatisfy { $0["Authorization"] == nil && $0["Cookie"] == nil })
    }

    /// As if they had converted the request into another type, such as `URLRequest`, and back.
    @Test(arguments: [true, false])
    func secretsThatAnInterceptorCopiesStaySecret(wraps: Bool) async throws {
        let other = try TestServer()
        other.route("/x", .text("other"))
        server.route("/x", .redirect(to: other.urlString("/x")))
        let copy: @Sendable (HTTPRequest) -> HTTPRequest = { request in
            var request = request
            request.headers = HTTPHeaders(request.headers.fields.map { ($0.name.lowercased(), $0.value) })
            return request
        }
        manager.interceptors = [
            wraps
                ? Interceptor(intercept: { request, next in try await next(copy(request)) })
                : Interceptor(adapt: { request, _ in copy(request) })
        ]
        var request = HTTPRequest("x", headers: ["X-Plain": "p"])
        request.headers.add(name: "X-Key", value: "s3cret", isSecret: true)
        #expect(try await manager.response(for: request).text() == "other")
        #expect(server.requests.map { $0["X-Key"] } == ["s3cret"])
        #expect(other.requests.map { $0["X-Key"] } == [nil])
        #expect(other.requests.map { $0["X-Plain"] } == ["p"])
    }

    /// Whoever added it, and wherever in the list the interceptors are.
    @Test(arguments: BearerTests.Failover.allCases, [true, false])
    func secretsOfAnotherInterceptorStayWithTheirOrigin(
        failover: BearerTests.Failover, isFirst: Bool
    ) async throws {
        let other = try TestServer()
        other.fallback(.status(200))
        let base = server.urlString("/")
        let keys = Interceptor(adapt: { request, _ in
            guard request.url.hasPrefix(base) else { return request }
            var request = request
            request.headers.add(name: "X-Key", value: "s3cret", isSecret: true)
            request.credential = Credential(user: "joe", password: "s3cret", isPreemptive: true)
            return request
        })
        let mover = failover.interceptor(to: other.urlString("/x"))
        manager.interceptors = isFirst ? [mover, keys] : [keys, mover]
        try await manager.get("x")
        #expect(other.requests.map { $0["X-Key"] } == [nil])
        #expect(other.requests.map { $0["Authorization"] } == [nil])
    }

    /// The first call of `next` keeps what the second one, to another server, doesn't get.
    @Test func aSecondServerGetsNoSecretsOfTheFirst() async throws {
        let other = try TestServer()
        other.fallback(.status(200))
        server.route("/x", .status(503))
        let url = other.urlString("/x")
        let failover = Interceptor(intercept: { request, next in
            let response = try await next(request)
            guard response.status == 503 else { return response }
            var request = request
            request.url = url
            return try await next(request)
        })
        let keys = Interceptor(adapt: { request, _ in
            var request = request
            request.headers["X-Api-Key"] = "s3cret"
            return request
        })
        manager.interceptors = [failover, keys]
        try await manager.get("x")
        #expect(server.requests.map { $0["X-Api-Key"] } == ["s3cret"])
        #expect(other.requests.map { $0["X-Api-Key"] } == [nil])
    }

    @Test func closesCancelledStreamDuringInterceptor() async throws {
        server.route("/stream", [.chunkedHead(), .chunk(Data("abc".utf8)), .waitForPeerClose])
        let (opened, gate) = (Recorder<Bool>(), Recorder<Bool>())
        intercept { request, next in
            let response = try await next(request)
            opened.record(true)
            await gate.wait()
            return response
        }
        let task = Task { try await manager.stream("stream").status }
        await opened.wait()
        task.cancel()
        await #expect { try await task.value } throws: { ($0 as? SessionError)?.code == .cancelled }
        #expect(await server.wait(for: .closes(1)))
        gate.record(true)
        await manager.shutdown()
    }

    @Test func theSameOriginKeepsSecrets() async throws {
        server.route("/y", .text("done"))
        manager.headers.authorization = .bearer("s3cret")
        let url = server.urlString("/y")
        intercept { request, next in
            var request = request
            request.url = url
            return try await next(request)
        }
        try await manager.get("x")
        #expect(server.requests.last?["Authorization"] == "Bearer s3cret")
    }

    @Test func aSerializerThatChangesTheOriginTakesNoSecretsAlong() async throws {
        struct Elsewhere: RequestSerializer {
            let url: String

            func serialize(_ request: HTTPRequest, parameters: Parameters?) throws -> HTTPRequest {
                var request = request
                request.url = url
                return request
            }
        }
        let other = try TestServer()
        other.route("/x", .text("other"))
        manager.headers.authorization = .bearer("s3cret")
        manager.requestSerializer = Elsewhere(url: other.urlString("/x"))
        #expect(try await manager.get("x", as: String.self) == "other")
        #expect(other.requests.map { $0["Authorization"] } == [nil])
    }

    // MARK: Responses

    @Test func bytesOfAMockAreItsBody() async throws {
        intercept { _, _ in Response(value: Data("bytes".utf8), head: HTTPResponse(status: 200)) }
        #expect(try await manager.get("x", as: String.self) == "bytes")
    }

    @Test func answersWithoutSending() async throws {
        intercept { _, _ in Self.mock() }
        let response = try await manager.response(.get, "x")
        #expect(try response.text() == "mock")
        let ends = Recorder<String?>()
        manager.dataTask(for: HTTPRequest("x"), with: StringResponseSerializer(validation: .any)) {
            ends.record($1); _ = $2
        }
        .resume()
        #expect(await ends.wait() == ["mock"])
        #expect(server.requests.isEmpty)
    }

    @Test func aMockWithoutURLHasThatOfTheRequest() async throws {
        intercept { _, _ in Response(head: HTTPResponse(status: 404)) }
        #expect(try await manager.response(.get, "x").url == server.urlString("/x"))
    }

    @Test func seesTheBodyOfARefusedResponseAndReplacesIt() async throws {
        server.route("/x", .text("busy", status: 503))
        let seen = Recorder<String>()
        intercept { request, next in
            let response = try await next(request)
            seen.record(try response.text(validation: .any))
            return Self.mock(200, "replaced")
        }
        let text: String = try await manager.get("x")
        #expect(text == "replaced")
        #expect(seen.values == ["busy"])
    }

    @Test func retryIsAskedAboutAResponseThatWasNotSent() async throws {
        let count = Recorder<Int>()
        manager.interceptors = [
            Interceptor(intercept: { request, next in
                count.record(next.attempt.number)
                return next.attempt.number == 1 ? Self.mock(503) : try await next(request)
            }),
            Interceptor(retry: { _, outcome in
                #expect(outcome.body == Data("mock".utf8))
                return .retry
            }),
        ]
        let text: String = try await manager.get("x")
        #expect(text == "done")
        #expect(count.values == [1, 2])
        #expect(server.requests.count == 1)
    }

    @Test func theFirstInterceptorIsTheOutermost() async throws {
        let order = Recorder<String>()
        func mark(_ name: String) -> Interceptor {
            Interceptor(
                adapt: { request, _ in
                    order.record("adapt \(name)")
                    return request
                },
                intercept: { request, next in
                    order.record("enter \(name)")
                    var request = request
                    request.headers.add(name: "X-By", value: name)
                    let response = try await next(request)
                    order.record("leave \(name)")
                    return response
                })
        }
        manager.interceptors = [mark("b"), mark("c")]
        var request = HTTPRequest("x")
        request.interceptors = [mark("a")]
        #expect(try await manager.response(for: request).status == 200)
        #expect(
            order.values == [
                "adapt a", "adapt b", "adapt c", "enter a", "enter b", "enter c", "leave c", "leave b", "leave a",
            ])
        #expect(server.requests[0].values(named: "X-By") == ["a", "b", "c"])
    }

    /// What a trailing closure returns decides what it is.
    @Test func trailingClosuresAreInterceptOrAdapt() async throws {
        server.route("/x", .status(503))
        manager.interceptors = [
            Interceptor { request, next in try await next(request) },
            Interceptor { request, next in
                var response = try await next(request)
                guard response.status == 503 else { return response }
                response.head.headers["X-Seen"] = "yes"
                return response
            },
            Interceptor { request, attempt in
                var request = request
                request.headers["X-Attempt"] = String(attempt.number)
                return request
            },
            Interceptor { request, _ in request },
        ]
        #expect(try await manager.response(.get, "x").head.headers["X-Seen"] == "yes")
        #expect(server.requests.map { $0["X-Attempt"] } == ["1"])
        manager.interceptors = [Interceptor { _, _ in throw Open() }]
        #expect(try await sessionError { try await manager.response(.get, "x") }.code == .interceptor)
        #expect(server.requests.count == 1)
    }

    @Test func changesHeadAndBody() async throws {
        intercept { request, next in
            var response = try await next(request)
            response.head.headers["X-Seen"] = "yes"
            response.body += Data("!".utf8)
            return response
        }
        let response = try await manager.response(.get, "x")
        #expect(try response.text() == "done!")
        #expect(response.head.headers["X-Seen"] == "yes")
        #expect(response.head.metrics.hops.count == 1)
    }

    @Test func aFailedTransferThrowsAndMayBeAnswered() async throws {
        server.route("/x", .reset)
        intercept { request, next in
            do {
                return try await next(request)
            } catch {
                #expect((error as? SessionError)?.code == .connectionLost)
                return Self.mock(200, "stale")
            }
        }
        let text: String = try await manager.get("x")
        #expect(text == "stale")
        intercept { request, next in try await next(request) }
        #expect(try await sessionError { try await manager.response(.get, "x") }.code == .connectionLost)
    }

    private struct Open: Error {}

    @Test func itsErrorIsTheRequestsAndMayBeRetried() async throws {
        manager.interceptors = [
            Interceptor(intercept: { request, next in
                guard next.attempt.number > 1 else { throw Open() }
                return try await next(request)
            })
        ]
        let refused = try await sessionError { try await manager.response(.get, "x") }
        #expect(refused.code == .interceptor)
        #expect(refused.underlying is Open)
        #expect(refused.url == server.urlString("/x"))
        manager.interceptors.append(
            Interceptor(retry: { _, outcome in outcome.attempt.number < 3 ? .retry : .doNotRetry }))
        let text: String = try await manager.get("x")
        #expect(text == "done")
    }

    // MARK: Several calls

    @Test func callsNextSeveralTimes() async throws {
        server.route("/x", times: 2, .text("busy", status: 503))
        let monitor = AttemptNotes()
        manager.eventMonitors = [monitor]
        intercept { request, next in
            var response = try await next(request)
            while response.status == 503 { response = try await next(request) }
            return response
        }
        let text: String = try await manager.get("x")
        #expect(text == "done")
        await manager.flushMonitors()
        #expect(
            monitor.events.values == ["sent", "retried 503", "sent", "retried 503", "sent", "finished 200"])
    }

    @Test func aBodyThatCanBeReadOnceIsNotSentTwice() async throws {
        intercept { request, next in
            _ = try await next(request)
            return try await next(request)
        }
        let chunks = AsyncStream<Data> { continuation in
            continuation.yield(Data("once".utf8))
            continuation.finish()
        }
        #expect(
            try await sessionError {
                try await manager.response(for: HTTPRequest(.put, "x", body: .stream(once: chunks)))
            }.code == .bodyNotReplayable)
        #expect(server.requests.count == 1)
    }

    @Test func refusesASecondCallWhileTheFirstRuns() async throws {
        server.route("/x", [.stall(at: "x"), .text("done")])
        let codes = Recorder<SessionError.Code?>()
        let server = server
        intercept { request, next in
            async let first = next(request)
            _ = await server.wait(for: .requests(1))
            do throws(SessionError) {
                _ = try await next(request)
            } catch {
                codes.record(error.code)
            }
            server.open("x")
            return try await first
        }
        let text: String = try await manager.get("x")
        #expect(text == "done")
        #expect(codes.values == [.invalidInput])
    }

    /// A suspended task that completes after it is resumed. Both calls would wait for that.
    @Test func refusesASecondCallWhileTheFirstWaitsForTheTask() async throws {
        let (entered, gate) = (Recorder<Bool>(), Recorder<Bool>())
        let codes = Recorder<SessionError.Code>()
        intercept { request, next in
            entered.record(true)
            await gate.wait()
            return try await withThrowingTaskGroup(of: Response<Data>?.self) { group in
                for _ in 0..<2 {
                    group.addTask {
                        do throws(SessionError) {
                            return try await next(request)
                        } catch {
                            codes.record(error.code)
                            return nil
                        }
                    }
                }
                let responses: [Response<Data>?] = try await group.reduce(into: []) { $0.append($1) }
                return try #require(responses.compactMap { $0 }.first)
            }
        }
        let ends = Recorder<SessionError?>()
        let task = manager.dataTask(for: HTTPRequest("x"), with: DataResponseSerializer()) { ends.record($2) }
        task.resume()
        await entered.wait()
        task.suspend()
        gate.record(true)
        #expect(await codes.wait() == [.invalidInput])
        #expect(server.requests.isEmpty)
        task.resume()
        #expect(try await ends.value() == nil)
        #expect(server.requests.count == 1)
    }

    /// The task still resumes the first one.
    @Test func refusesASecondCallOfASuspendedTaskWhileTheFirstRuns() async throws {
        server.route("/x", [.stall(at: "x"), .text("done")])
        let gate = Recorder<Bool>()
        let codes = Recorder<SessionError.Code>()
        intercept { request, next in
            async let first = next(request)
            await gate.wait()
            do throws(SessionError) {
                _ = try await next(request)
            } catch {
                codes.record(error.code)
            }
            return try await first
        }
        let ends = Recorder<SessionError?>()
        let task = manager.dataTask(for: HTTPRequest("x"), with: DataResponseSerializer()) { ends.record($2) }
        task.resume()
        #expect(await server.wait(for: .requests(1)))
        task.suspend()
        gate.record(true)
        #expect(await codes.wait() == [.invalidInput])
        task.resume()
        server.open("x")
        #expect(try await ends.value() == nil)
    }

    @Test func refusesACallAfterTheEnd() async throws {
        let kept = Recorder<RequestSender>()
        intercept { _, next in
            kept.record(next)
            return Self.mock()
        }
        _ = try await manager.response(.get, "x")
        let next = try await kept.value()
        await #expect { _ = try await next(HTTPRequest(server.url("/x"))) } throws: {
            ($0 as? SessionError)?.code == .cancelled
        }
        #expect(server.requests.isEmpty)
    }

    @Test func validatesWhatIsSent() async throws {
        intercept { request, next in
            var request = request
            request.headers.add(name: "X", value: "a\r\nB: c")
            return try await next(request)
        }
        #expect(try await sessionError { try await manager.response(.get, "x") }.code == .invalidInput)
        #expect(server.requests.isEmpty)
    }

    @Test func aSenderOfAClosureServesTests() async throws {
        let next = RequestSender { (request) throws(SessionError) in Self.mock(201, request.url) }
        #expect(try await next(HTTPRequest("y")).status == 201)
    }

    // MARK: Downloads and streams

    @Test func aDownloadHasItsPathAndItsHeadMayChange() async throws {
        let folder = try TestFolder()
        let paths = Recorder<String?>()
        intercept { request, next in
            var response = try await next(request)
            paths.record(response.filePath)
            response.head.headers["X-Seen"] = "yes"
            return response
        }
        let done = try await manager.download(HTTPRequest("x"), to: folder.file("film"))
        #expect(done.head.headers["X-Seen"] == "yes")
        #expect(paths.values == [folder.file("film")])
        #expect(try folder.read("film") == Data("done".utf8))
    }

    @Test func anErrorsDownloadCannotBecomeASuccess() async throws {
        let folder = try TestFolder()
        server.route("/x", .text("gone", status: 410))
        intercept { request, next in
            var response = try await next(request)
            response.head.status = 200
            return response
        }
        await #expect { _ = try await manager.download(HTTPRequest("x"), to: folder.file("film")) } throws: {
            ($0 as? SessionError)?.code == .interceptor
        }
        #expect(try folder.names.isEmpty)
    }

    @Test func aStreamHasItsHead() async throws {
        server.route("/x", times: 1, .text("busy", status: 503))
        intercept { request, next in
            var response = try await next(request)
            if response.status == 503 { response = try await next(request) }
            #expect(response.body.isEmpty)
            response.head.headers["X-Seen"] = "yes"
            return response
        }
        let response = try await manager.stream(HTTPRequest("x"))
        #expect(response.head.headers["X-Seen"] == "yes")
        #expect(try await response.collect(upTo: 4) == Data("done".utf8))
    }

    @Test func aDownloadAndAStreamCannotBeAnsweredWithoutSending() async throws {
        let folder = try TestFolder()
        intercept { _, _ in Self.mock() }
        let (manager, request) = (manager, HTTPRequest("x"))
        await #expect { _ = try await manager.download(request, to: folder.file("film")) } throws: {
            ($0 as? SessionError)?.code == .interceptor
        }
        await #expect { _ = try await manager.stream(request) } throws: { ($0 as? SessionError)?.code == .interceptor }
        #expect(try folder.names.isEmpty)
    }

    @Test func aCancelledDelayKeepsTheResumeToken() async throws {
        let server = try RangeServer()
        server.breakOff()
        let manager = server.manager
        let asked = Recorder<Bool>()
        manager.interceptors = [
            Interceptor(retry: { _, _ in
                asked.record(true)
                return .retry(after: .seconds(3600))
            })
        ]
        let folder = try TestFolder()
        let path = folder.file("film")
        let task = Task {
            try await manager.download(HTTPRequest("file"), to: path, options: .keepsPartialFile)
        }
        await asked.wait()
        task.cancel()
        await #expect { _ = try await task.value } throws: { error in
            let error = error as? SessionError
            return error?.code == .cancelled && error?.resumeToken != nil
        }
    }

    @Test func anAttemptThatIsCancelledBeforeItBeginsKeepsTheResumeToken() async throws {
        let server = try RangeServer()
        server.breakOff()
        let manager = server.manager
        let task = Recorder<SessionTask>()
        manager.interceptors = [
            Interceptor(intercept: { request, next in
                // Between the retry's decision and its transfer.
                if next.attempt.number == 2 { await task.wait().first?.cancel() }
                return try await next(request)
            }), Interceptor(retry: { _, _ in .retry }),
        ]
        let folder = try TestFolder()
        let ends = Recorder<SessionError?>()
        let download = manager.downloadTask(
            for: HTTPRequest("file"), to: folder.file("film"), options: .keepsPartialFile
        ) { ends.record($2) }
        task.record(download)
        download.resume()
        let error = await ends.wait().first ?? nil
        #expect(error?.code == .cancelled && error?.resumeToken?.bytesReceived == Int64(RangeServer.half))
    }

    // MARK: Ends

    @Test(arguments: [false, true])
    func cancellingDoesNotWaitForAnInterceptor(afterSending: Bool) async throws {
        let (asked, released) = (Recorder<Bool>(), Recorder<Bool>())
        intercept { request, next in
            if afterSending { _ = try await next(request) }
            asked.record(true)
            // Waits for the test, not for its own cancellation.
            await released.wait()
            return try await next(request)
        }
        let task = Task { [manager] in try await manager.response(.get, "x") }
        await asked.wait()
        task.cancel()
        await #expect { _ = try await task.value } throws: { ($0 as? SessionError)?.code == .cancelled }
        released.record(true)
        #expect(server.requests.count == (afterSending ? 1 : 0))
    }

    @Test func theTotalTimeLimitDoesNotWaitForAnInterceptor() async throws {
        let released = Recorder<Bool>()
        intercept { request, next in
            await released.wait()
            return try await next(request)
        }
        var request = HTTPRequest("x")
        request.timeouts.total = .milliseconds(20)
        let error = try await sessionError { try await manager.response(for: request) }
        #expect(error.reason == .total && error.message.hasPrefix("total timeout: not complete"))
        released.record(true)
    }

    @Test func theTotalLimitOfATransferCancelsTheInterceptorAroundIt() async throws {
        server.route("/x", .stall(at: "x"))
        let ends = Recorder<Bool>()
        intercept { request, next in
            do {
                return try await next(request)
            } catch {
                // Ends when the task is cancelled, which the transfer's own timer may precede.
                let (never, continuation) = AsyncStream<Void>.makeStream()
                for await _ in never {}
                withExtendedLifetime(continuation) {}
                ends.record(Task.isCancelled)
                throw error
            }
        }
        var request = HTTPRequest("x")
        request.timeouts.total = .milliseconds(20)
        #expect(try await sessionError { try await manager.response(for: request) }.reason == .total)
        #expect(await ends.wait() == [true])
        server.open("x")
    }

    @Test func cancellingEndsATransferOfNext() async throws {
        server.route("/x", .stall(at: "x"))
        intercept { request, next in try await next(request) }
        let task = Task { [manager] in try await manager.response(.get, "x") }
        #expect(await server.wait(for: .requests(1)))
        task.cancel()
        await #expect { _ = try await task.value } throws: { ($0 as? SessionError)?.code == .cancelled }
        server.open("x")
    }

    @Test func cancelAllEndsEverythingAndTheManagerStaysUsable() async throws {
        server.route("/stall", .stall(at: "stall"))
        let asked = Recorder<Bool>()
        manager.interceptors = [
            Interceptor(retry: { _, _ in
                asked.record(true)
                return .retry(after: .seconds(3600))
            })
        ]
        server.route("/busy", .text("busy", status: 503))
        let ends = Recorder<SessionError?>()
        func start(_ path: String) {
            manager.dataTask(for: HTTPRequest(path), with: DataResponseSerializer()) { ends.record($2) }.resume()
        }
        start("stall")
        start("busy")
        let waiting = Task { [manager] in try await manager.response(.get, "stall") }
        let delayed = Task { [manager] in try await manager.response(.get, "busy") }
        let unstarted = manager.dataTask(for: HTTPRequest("x"), with: DataResponseSerializer()) { ends.record($2) }
        await asked.wait(for: 2)
        #expect(await server.wait(for: .requests(4)))
        manager.cancelAll()
        #expect(await ends.wait(for: 3).map(\.?.code) == [.cancelled, .cancelled, .cancelled])
        for task in [waiting, delayed] {
            await #expect { _ = try await task.value } throws: { ($0 as? SessionError)?.code == .cancelled }
        }
        #expect(unstarted.state == .completed)
        server.open("stall")
        manager.interceptors = []
        let text: String = try await manager.get("x")
        #expect(text == "done")
        // Interceptors of later requests are cancelled, too.
        manager.interceptors = [
            Interceptor(retry: { _, _ in
                asked.record(true)
                return .retry(after: .seconds(3600))
            })
        ]
        let again = Task { [manager] in try await manager.response(.get, "busy") }
        await asked.wait(for: 3)
        manager.cancelAll()
        await #expect { _ = try await again.value } throws: { ($0 as? SessionError)?.code == .cancelled }
    }

    @Test func manyCancelledAtAnyMomentEndOnce() async throws {
        server.route("/x", times: 50, .text("busy", status: 503))
        intercept { request, next in
            let response = try await next(request)
            return response.status == 503 ? try await next(request) : response
        }
        let ends = Recorder<SessionError?>()
        let tasks = (0..<100).map { _ in
            manager.dataTask(for: HTTPRequest("x"), with: DataResponseSerializer()) { ends.record($2) }
        }
        for task in tasks { task.resume() }
        for task in tasks[..<50] { task.cancel() }
        manager.cancelAll()
        #expect(await ends.wait(for: 100).count == 100)
        #expect(tasks.allSatisfy { $0.state == .completed })
    }
}

// MARK: Isolated conformances and closures

private actor Counter: RequestInterceptor {
    private(set) var count = 0

    func intercept(_ request: HTTPRequest, next: RequestSender) async throws -> Response<Data> {
        count += 1
        var request = request
        request.headers["X-Count"] = String(count)
        return try await next(request)
    }

    func attach(to manager: HTTPSessionManager) {
        manager.interceptors.append(Interceptor(adapt: { request, _ in await self.adapted(request) }))
        manager.informationalHandler = { response in Task { await self.note(response) } }
        manager.authenticationChallengeHandler = { _ in await self.answer() }
    }

    private func answer() -> ChallengeDecision { .useCredential(Credential(user: "me", password: "secret")) }

    private func note(_ response: InformationalResponse) {}

    private func adapted(_ request: HTTPRequest) -> HTTPRequest {
        var request = request
        request.headers["X-Actor"] = String(count)
        return request
    }
}

@MainActor private final class Screen: RequestInterceptor {
    var title = "screen"

    func adapt(_ request: HTTPRequest, for attempt: RequestAttempt) async throws -> HTTPRequest {
        MainActor.assertIsolated()
        var request = request
        request.headers["X-Title"] = title
        return request
    }

    func attach(to manager: HTTPSessionManager) {
        manager.interceptors.append(
            Interceptor(
                intercept: { request, next in
                    var request = request
                    request.headers["X-Closure"] = await self.title
                    return try await next(request)
                },
                retry: { _, _ in await self.title.isEmpty ? .retry : .doNotRetry }))
        manager.interceptors.append(
            Interceptor(intercept: { @MainActor request, next in
                MainActor.assertIsolated()
                self.title += "!"
                return try await next(request)
            }))
    }
}

@Suite struct IsolatedInterceptorTests {
    @Test func actorsAndMainActorClassesIntercept() async throws {
        let server = try TestServer()
        server.route("/x", .text("done"))
        let manager = HTTPSessionManager(baseURL: server.urlString("/"))
        let (counter, screen) = (Counter(), Screen())
        manager.interceptors = [counter, screen]
        await counter.attach(to: manager)
        await screen.attach(to: manager)
        let text: String = try await manager.get("x")
        #expect(text == "done")
        let request = try #require(server.requests.first)
        #expect(request["X-Count"] == "1")
        #expect(request["X-Actor"] == "0")
        #expect(request["X-Title"] == "screen")
        #expect(request["X-Closure"] == "screen")
        #expect(await screen.title == "screen!")
    }
}
