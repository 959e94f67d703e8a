import AFTestServer
import Dispatch
import FoundationEssentials
import Synchronization
import Testing

@testable import SwiftAF

@Suite(.timeLimit(.minutes(5)))
struct ShutdownTests {
    private let server: TestServer
    private let manager: HTTPSessionManager

    init() throws {
        server = try TestServer()
        manager = HTTPSessionManager(baseURL: server.urlString("/"))
        manager.completionQueue = .global()
    }

    private final class Ends: EventMonitor {
        let ends = Recorder<Int?>()

        func requestFinished(_ request: MonitoredRequest, with result: RequestResult) {
            ends.record(result.response?.status)
        }
    }

    /// Waits until nothing is counted as under way, which is shortly after the ends were reported. A count that stays
    /// ends at the suite's time limit.
    private func idle() async {
        while manager.activityCount != 0 { await Task.yield() }
    }

    @Test func waitsForWhatIsInFlightAndRefusesTheRest() async throws {
        server.route("/slow", [.stall(at: "slow"), .text("done")])
        let isShutDown = Atomic(false)
        let monitor = Ends()
        manager.eventMonitors = [monitor]
        async let slow = manager.response(.get, "slow")
        #expect(await server.wait(for: .stalled(at: "slow")))
        async let end: Void = {
            await manager.shutdown()
            isShutDown.store(true, ordering: .releasing)
        }()
        // Until it has been called.
        while (try? manager.checkConfiguration()) != nil { await Task.yield() }
        let refused = await #expect(throws: SessionError.self) { try await manager.get("x") }
        #expect(refused?.code == .closed)
        let isEarly = isShutDown.load(ordering: .acquiring)
        #expect(!isEarly)
        server.open("slow")
        await end
        #expect(try await slow.status == 200)
        #expect(monitor.ends.values == [200])
    }

    @Test func tasksHavePostedTheirClosuresAndReportedTheirEnds() async throws {
        server.route("/x", .text("x"))
        let closures = DispatchQueue(label: "closures")
        manager.completionQueue = closures
        let monitor = Ends()
        manager.eventMonitors = [monitor]
        let statuses = Recorder<Int?>()
        for _ in 0..<20 {
            manager.dataTask(for: HTTPRequest("x"), with: DataResponseSerializer()) { response, _, _ in
                statuses.record(response?.status)
            }.resume()
        }
        await manager.shutdown()
        #expect(closures.sync { statuses.values } == Array(repeating: 200, count: 20))
        #expect(monitor.ends.values == Array(repeating: 200, count: 20))
    }

    @Test func returnsAtOnceWhenNothingIsUnderWay() async throws {
        server.route("/x", .text("x"))
        _ = try await manager.response(.get, "x")
        _ = try? await manager.response(for: HTTPRequest("http://"))
        await idle()
        for _ in 0..<2 {
            await manager.shutdown()
            let refused = await #expect(throws: SessionError.self) { try await manager.get("x") }
            #expect(refused?.code == .closed)
        }
        #expect(server.requests.count == 1)
        await HTTPSessionManager(baseURL: "no URL").shutdown()
    }

    @Test func waitsForSessionsBeforeTheCurrentOne() async throws {
        server.route("/slow", [.stall(at: "slow"), .text("done")])
        async let slow = manager.response(.get, "slow")
        #expect(await server.wait(for: .stalled(at: "slow")))
        manager.securityPolicy = SecurityPolicy(allowsInvalidCertificates: true)
        async let end: Void = manager.shutdown()
        server.open("slow")
        await end
        #expect(try await slow.status == 200)
    }

    /// Starts something, and shuts down in a task that is cancelled when it waits.
    private func cancelledShutdown(_ start: @escaping @Sendable () async throws -> Void) async -> SessionError? {
        let work = Task { () -> SessionError? in
            do {
                try await start()
                return nil
            } catch {
                return error as? SessionError
            }
        }
        while manager.activityCount == 0 { await Task.yield() }
        let shutdown = Task { await manager.shutdown() }
        shutdown.cancel()
        await shutdown.value
        return await work.value
    }

    @Test func cancellingEndsUnreadStream() async throws {
        server.route("/large", .respond(repeating: Data(count: 1 << 20), count: 64))
        let response = try await manager.stream("large")
        let error = await cancelledShutdown { _ = try await response.collect(upTo: .max) }
        #expect(error?.code == .cancelled)
    }

    @Test func cancellingEndsAnOpenWebSocket() async throws {
        server.route("/ws", [.upgrade(), .waitForPeerClose])
        let socket = try await manager.webSocket("ws")
        let error = await cancelledShutdown { _ = try await socket.receive() }
        #expect(error?.code == .cancelled)
    }

    @Test func cancellingEndsTheDelayBeforeARetry() async throws {
        server.route("/busy", .text("busy", status: 503))
        manager.interceptors = [Interceptor(retry: { _, _ in .retry(after: .seconds(3600)) })]
        let error = await cancelledShutdown { [manager] in _ = try await manager.response(.get, "busy") }
        #expect(error?.code == .cancelled)
    }

    @Test func nothingIsCountedWhenAllRequestsHaveEnded() async throws {
        server.route("/x", .text("x"))
        server.route("/none", .status(404))
        let statuses = await withTaskGroup(of: Int?.self) { group in
            for number in 0..<200 {
                group.addTask { [manager] in
                    let task = Task { try await manager.response(.get, number % 2 == 0 ? "x" : "none").status }
                    if number % 3 == 0 { task.cancel() }
                    return try? await task.value
                }
            }
            var statuses: [Int: Int] = [:]
            for await case let status? in group { statuses[status, default: 0] += 1 }
            return statuses
        }
        // Those that aren't a multiple of 3 aren't cancelled.
        #expect(statuses[200, default: 0] >= 66 && statuses[404, default: 0] >= 67)
        await idle()
        await manager.shutdown()
    }

    // A call that has read the manager's settings, but hasn't begun, was sent although nothing seemed to be under way.
    @Test func nothingIsSentAfterTheReturn() async throws {
        server.route("/x", .text("x"))
        for _ in 0..<300 {
            let manager = HTTPSessionManager(baseURL: server.urlString("/"))
            let call = Task { try await manager.response(.get, "x").status }
            await manager.shutdown()
            let served = server.requests.count
            let result = await call.result
            #expect(server.requests.count == served)
            if case .failure(let error) = result { #expect((error as? SessionError)?.code == .closed) }
        }
    }

    @Test func refusesATaskThatIsResumedLater() async throws {
        server.route("/x", .text("x"))
        for interceptors in [[], [Interceptor()]] {
            let manager = HTTPSessionManager(baseURL: server.urlString("/"))
            manager.completionQueue = .global()
            manager.interceptors = interceptors
            let completion = OneValueChannel<SessionError?>()
            let task = manager.dataTask(for: HTTPRequest("x"), with: DataResponseSerializer()) { _, _, error in
                completion.send(error)
            }
            await manager.shutdown()
            task.resume()
            let error = await completion.wait()
            #expect(error?.code == .closed)
            #expect(error?.url == server.urlString("/x"))
            await manager.shutdown()
        }
        #expect(server.requests.count == 0)
    }

    @Test func nothingBeginsOnceAClosedSessionIsIdle() async throws {
        let activity = SessionActivity()
        #expect(activity.begin())
        async let close: Void = activity.close()
        // Within what is under way.
        #expect(activity.begin())
        activity.end()
        activity.end()
        await close
        #expect(!activity.begin())
        #expect(activity.current == 0)
        await activity.close()
    }
}
