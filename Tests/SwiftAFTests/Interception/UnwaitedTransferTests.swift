import AFTestServer
import FoundationEssentials
import Testing

@testable import SwiftAF

/// Interceptors that call `next` in a task of their own.
@Suite(.timeLimit(.minutes(5)))
struct UnwaitedTransferTests {
    private let server: TestServer
    private let manager: HTTPSessionManager
    private let folder: TestFolder

    init() throws {
        server = try TestServer()
        manager = HTTPSessionManager(baseURL: server.urlString("/"))
        manager.completionQueue = .global()
        folder = try TestFolder()
        server.route("/x", times: 1, [.stall(at: "x"), .waitForPeerClose])
        server.route("/x", .text("done"))
    }

    private struct Impatience: Error {}

    enum Call: CaseIterable, Sendable {
        case data, received, download, stream, webSocket

        func make(_ manager: HTTPSessionManager, _ folder: TestFolder) async throws {
            switch self {
            case .data: _ = try await manager.response(.get, "x")
            case .received: _ = try await manager.response(for: HTTPRequest("x"), receiving: { _, _ in })
            case .download: _ = try await manager.download("x", to: folder.file("x"))
            case .stream: _ = try await manager.stream("x")
            case .webSocket: _ = try await manager.webSocket("x")
            }
        }
    }

    @Test(arguments: Call.allCases)
    func cancellingRequestCancelsTransfer(call: Call) async throws {
        manager.interceptors = [
            Interceptor(intercept: { request, next in try await Task { try await next(request) }.value })
        ]
        let task = Task { [manager, folder] in try await call.make(manager, folder) }
        #expect(await server.wait(for: .stalled(at: "x")))
        task.cancel()
        let error = await #expect(throws: SessionError.self) { try await task.value }
        #expect(error?.code == .cancelled)
        server.open("x")
        #expect(await server.wait(for: .closes(1)))
        await manager.shutdown()
        #expect(try folder.names == [])
    }

    /// Gives up when the server has the request.
    private func giveUp(
        _ ends: Recorder<SessionError.Code?>, _ result: @escaping @Sendable () throws -> Response<Data>
    ) -> Interceptor {
        Interceptor(intercept: { [server] request, next in
            guard next.attempt.number == 1 else { return try await next(request) }
            Task {
                do throws(SessionError) {
                    _ = try await next(request)
                    ends.record(nil)
                } catch {
                    ends.record(error.code)
                }
            }
            _ = await server.wait(for: .stalled(at: "x"))
            return try result()
        })
    }

    private static func mock(_ status: Int) -> Response<Data> {
        Response(head: HTTPResponse(status: status, url: "mock:"), body: Data())
    }

    @Test(arguments: [true, false])
    func transferEndsWithItsRequest(fails: Bool) async throws {
        let (ends, notes) = (Recorder<SessionError.Code?>(), AttemptNotes())
        manager.eventMonitors = [notes]
        manager.interceptors = [
            giveUp(ends) {
                if fails { throw Impatience() }
                return Self.mock(203)
            }
        ]
        let task = Task { [manager] in try await manager.response(.get, "x").status }
        switch await task.result {
        case .success(let status): #expect(!fails && status == 203)
        case .failure(let error): #expect(fails && (error as? SessionError)?.underlying is Impatience)
        }
        // The server hasn't answered.
        await eventually { manager.activityCount == 0 }
        #expect(try await ends.value() == .cancelled)
        server.open("x")
        #expect(await server.wait(for: .closes(1)))
        await manager.shutdown()
        #expect(notes.events.values == ["sent", "finished \(fails ? 0 : 203)"])
    }

    @Test func transferEndsWithItsAttempt() async throws {
        let (ends, notes) = (Recorder<SessionError.Code?>(), AttemptNotes())
        let kept = Recorder<RequestSender>()
        manager.eventMonitors = [notes]
        manager.interceptors = [
            giveUp(ends) { Self.mock(503) },
            Interceptor(intercept: { request, next in
                kept.record(next)
                return try await next(request)
            }),
            Interceptor(retry: { request, _ in
                let error = await #expect(throws: SessionError.self) { try await kept.values[0](request) }
                #expect(error?.code == .cancelled)
                return .retry
            }),
        ]
        let text: String = try await manager.get("x")
        #expect(text == "done")
        #expect(ends.values == [.cancelled])
        server.open("x")
        await manager.shutdown()
        #expect(notes.events.values == ["sent", "retried 503", "sent", "finished 200"])
        #expect(server.requests.count == 2)
    }

    /// A transfer that waits until its task is resumed doesn't keep the next attempt from being sent.
    @Test func waitingTransferEndsWithItsAttempt() async throws {
        let (entered, gate) = (Recorder<Bool>(), Recorder<Bool>())
        let codes = Recorder<SessionError.Code?>()
        server.route("/y", .text("done"))
        manager.interceptors = [
            Interceptor(
                intercept: { request, next in
                    guard next.attempt.number == 1 else { return try await next(request) }
                    entered.record(true)
                    await gate.wait()
                    // One waits, and the other one is refused.
                    for _ in 0..<2 {
                        Task {
                            do throws(SessionError) {
                                _ = try await next(request)
                                codes.record(nil)
                            } catch {
                                codes.record(error.code)
                            }
                        }
                    }
                    await codes.wait()
                    return Self.mock(503)
                },
                retry: { _, _ in .retry })
        ]
        let ends = Recorder<SessionError?>()
        let task = manager.dataTask(for: HTTPRequest("y"), with: DataResponseSerializer()) { ends.record($2) }
        task.resume()
        await entered.wait()
        task.suspend()
        gate.record(true)
        // The next attempt has taken its place.
        #expect(await codes.wait(for: 2) == [.invalidInput, .cancelled])
        task.resume()
        #expect(try await ends.value() == nil)
        #expect(server.requests.count == 1)
    }
}
