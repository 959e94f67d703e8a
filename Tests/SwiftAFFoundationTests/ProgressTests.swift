import AFTestServer
import Foundation
import SwiftAF
import SwiftAFFoundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct ProgressTests {
    private let server: TestServer
    private let manager: HTTPSessionManager
    /// Where progress is changed and read.
    private let queue = DispatchQueue(label: "progress")

    init() throws {
        server = try TestServer()
        manager = HTTPSessionManager(baseURL: server.urlString("/"))
        manager.completionQueue = queue
    }

    private struct Ending: Sendable {
        var progress: Progress
        var error: SessionError?
    }

    /// Runs a request to its end. All changes of the progress are queued before the completion is.
    private func run(
        _ request: HTTPRequest, _ makeProgress: (SessionTask) -> Progress,
        whenRunning action: (SessionTask, Progress) async -> Void = { _, _ in }
    ) async -> Ending {
        let (errors, continuation) = AsyncStream<SessionError?>.makeStream()
        let task = manager.dataTask(for: request, with: DataResponseSerializer()) { _, _, error in
            continuation.yield(error)
            continuation.finish()
        }
        let progress = makeProgress(task)
        task.resume()
        await action(task, progress)
        let error = await errors.first { _ in true }
        return Ending(progress: progress, error: error ?? nil)
    }

    @Test func dataTaskDoesReportDownloadProgress() async {
        server.route("/image", .respond(repeating: Data(count: 1024), count: 1024))
        let ending = await run(HTTPRequest("image")) { $0.downloadProgress(on: queue) }
        #expect(ending.error == nil)
        #expect(ending.progress.totalUnitCount == 1 << 20 && ending.progress.completedUnitCount == 1 << 20)
        #expect(ending.progress.fractionCompleted == 1 && ending.progress.isFinished)
    }

    @Test func uploadTaskDoesReportProgress() async {
        server.route("/post", .status(200))
        let request = HTTPRequest(.post, "post", body: .data(Data(count: 20_000)))
        let ending = await run(request) { $0.uploadProgress(on: queue) }
        #expect(ending.progress.totalUnitCount == 20_000 && ending.progress.fractionCompleted == 1)
    }

    @Test func dataTaskDownloadProgressCanBeFollowed() async {
        server.route(
            "/halves",
            [
                .send("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n1234"), .stall(at: "rest"), .send("5678"),
            ])
        let ending = await run(HTTPRequest("halves"), { $0.downloadProgress(on: queue) }) { _, progress in
            // The first half may be reported later than it is sent; that it is, shows that nothing else is needed.
            while queue.sync(execute: { progress.completedUnitCount }) < 4 { await Task.yield() }
            #expect(queue.sync { progress.totalUnitCount } == 8)
            #expect(queue.sync { progress.fractionCompleted } == 0.5)
            server.open("rest")
        }
        #expect(ending.progress.fractionCompleted == 1)
    }

    @Test func anUnknownTotalIsIndeterminate() async {
        server.route("/chunked", .chunked(chunks: ["12345", "67890"]))
        let ending = await run(HTTPRequest("chunked")) { $0.downloadProgress(on: queue) }
        #expect(ending.progress.isIndeterminate && ending.progress.totalUnitCount == -1)
        #expect(ending.progress.completedUnitCount == 10 && ending.progress.fractionCompleted == 0)
    }

    @Test func beforeTheStartItIsIndeterminate() {
        let task = manager.dataTask(for: HTTPRequest("x")) { _, _, _ in }
        let progress = task.downloadProgress(on: queue)
        #expect(progress.isIndeterminate && progress.isCancellable && progress.isPausable)
    }

    @Test func cancellingTheProgressCancelsTheTask() async {
        server.route("/slow", .stall(at: "never"))
        let ending = await run(HTTPRequest("slow"), { $0.downloadProgress(on: queue) }) { _, progress in
            progress.cancel()
        }
        #expect(ending.error?.code == .cancelled && ending.progress.isCancelled)
    }

    @Test func aProgressOfACompletedTaskShowsHowItEnded() async throws {
        server.route("/text", .text("12345"))
        let (tasks, continuation) = AsyncStream<SessionTask>.makeStream()
        manager.get("text", with: .string) { task, _ in
            continuation.yield(task)
        } failure: { _, _ in
            continuation.finish()
        }
        let task = try #require(await tasks.first { _ in true })
        let progress = task.downloadProgress(on: queue)
        queue.sync {}
        #expect(progress.fractionCompleted == 1)
    }

    @Test func taskAndProgressDoNotKeepEachOther() {
        var task: SessionTask? = manager.dataTask(for: HTTPRequest("x")) { _, _, _ in }
        weak let weakTask = task
        var progress = task?.downloadProgress(on: queue)
        weak let weakProgress = progress
        progress = nil
        queue.sync {}
        #expect(weakProgress == nil)
        progress = task?.uploadProgress(on: queue)
        queue.sync {}
        task = nil
        #expect(weakTask == nil)
        progress?.cancel()
    }

    @Test func releasedProgressLeavesNoFollower() {
        let task = manager.dataTask(for: HTTPRequest("x")) { _, _, _ in }
        for _ in 0..<1000 {
            _ = task.downloadProgress(on: queue)
            _ = task.uploadProgress(on: queue)
        }
        let kept = task.downloadProgress(on: queue)
        queue.sync {}
        #expect(task.progressWatcherCount == 1 && kept.isIndeterminate)
    }

    @Test func followersAreLetGoWhenTheTaskIsOver() async {
        server.route("/text", .text("12345"))
        weak var weakProgress: Progress?
        weakProgress = await run(HTTPRequest("text")) { $0.downloadProgress(on: queue) }.progress
        queue.sync {}
        #expect(weakProgress == nil)
    }
}
