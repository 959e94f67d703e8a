import AFTestServer
import FoundationEssentials
import Testing

@testable import SwiftAF

@Suite(.timeLimit(.minutes(10)))
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

    @Test func coreTaskBeginsOnlyOnce() async {
        server.route("/x", .text("once"))
        let task = task("/x")
        #expect(await task.outcome().body == Data("once".utf8))
        #expect(task.begin()?.code == .cancelled)
        #expect(session.statistics.tasks == 1)
    }

    @Test func staysSuspendedThatWasSuspendedBeforeItBegan() async {
        server.route("/later", [.stall(at: "gate"), .text("later")])
        server.route("/other", .text("other"))
        let later = RecordingTask(task("/later").request)
        later.suspend()
        // The request may be sent before the core hears of the suspension, but the response isn't read.
        #expect(later.begin() == nil)
        #expect(await task("/other").outcome().body == Data("other".utf8))
        server.open("gate")
        #expect(await task("/other").outcome().body == Data("other".utf8))
        #expect(later.ends.values.isEmpty)
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
        #expect(await server.wait(for: .stalled(at: "slow")))
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
