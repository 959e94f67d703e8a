import AFTestServer
import FoundationEssentials
import Testing

@testable import SwiftAF

@Suite("Commands to a core task", .timeLimit(.minutes(10)))
struct CoreTaskTests {
    private let server: TestServer
    private let session: CoreSession

    init() throws {
        server = try TestServer()
        session = try CoreSession(SessionConfiguration())
    }

    private func task(_ path: String, _ method: HTTPMethod = .get, body: HTTPBody = .none) -> CoreTask {
        var request = HTTPRequest(method, server.url(path))
        request.body = body
        return CoreTask(
            CoreRequest(request, session: session, sink: .memory, handlers: TransferHandlers()))
    }

    @Test func doesNotBeginWhenCancelledBefore() async {
        let task = task("/x")
        task.cancel()
        #expect(task.begin()?.code == .cancelled)
        #expect(await task.outcome().failure?.code == .cancelled)
        #expect(session.statistics.tasks == 0)
    }

    @Test func beginsOnce() async {
        server.route("/x", .text("once"))
        let task = task("/x")
        #expect(await task.outcome().body == Data("once".utf8))
        #expect(task.begin()?.code == .cancelled)
        #expect(session.statistics.tasks == 1)
    }

    @Test func sendsNothingWhileSuspendedBeforeItBegan() async {
        server.route("/later", .text("later"))
        server.route("/first", .text("first"))
        let later = RecordingTask(task("/later").request)
        later.suspend()
        // Of the same session, which takes tasks in the order they begin.
        #expect(later.begin() == nil)
        #expect(await task("/first").outcome().body == Data("first".utf8))
        #expect(server.requests.map(\.path) == ["/first"])
        later.resume()
        #expect(await later.ends.wait().first?.body == Data("later".utf8))
    }

    @Test func resumingBeforeItBeganUndoesSuspending() async {
        server.route("/x", .text("moved"))
        let task = task("/x")
        task.suspend()
        task.resume()
        #expect(await task.outcome().body == Data("moved".utf8))
    }

    @Test func cancelsWhatHasBegun() async {
        server.route("/slow", [.stall(at: "slow"), .text("late")])
        let task = task("/slow")
        let ending = Task { await task.outcome() }
        #expect(await server.waitForStalled(at: "slow"))
        task.cancel()
        #expect(await ending.value.failure?.code == .cancelled)
        server.open("slow")
    }

    @Test func readsNoBodyOfATaskThatIsRefused() async throws {
        let reads = Recorder<Void>()
        let body = HTTPBody.stream(length: 1) {
            AsyncStream<Data> { continuation in
                reads.record(())
                continuation.finish()
            }
        }
        let task = task("/x", .post, body: body)
        task.cancel()
        #expect(task.begin()?.code == .cancelled)
        #expect(reads.values.isEmpty)
    }
}

/// Leaves its outcome behind, so that it can begin without being waited for.
private final class RecordingTask: CoreTask, @unchecked Sendable {
    let ends = Recorder<CoreOutcome>()

    override func didFinish(_ result: CoreResult) {
        ends.record(take(result))
    }
}
