import AFTestServer
import FoundationEssentials
import SwiftAF
import Testing

@testable import SwiftAFImage

/// AFUIActivityIndicatorViewTests and AFUIRefreshControlTests of AFNetworking, and progress, which it doesn't test.
@MainActor
@Suite(.timeLimit(.minutes(10)))
final class TaskDisplayingTests {
    private let server: TestServer
    private let manager: HTTPSessionManager

    init() throws {
        server = try TestServer()
        manager = HTTPSessionManager(baseURL: server.urlString("/"))
        server.route("/slow", [.stall(at: "answer"), .text("0123456789")])
        server.route("POST /sent", .text("thanks"))
    }

    private func task(_ path: String = "slow", body: Data? = nil) -> (task: SessionTask, ended: Happenings<Void>) {
        let ended = Happenings<Void>()
        let request = body.map { HTTPRequest(.post, path, body: .data($0)) } ?? HTTPRequest(path)
        let task = manager.dataTask(for: request, with: DataResponseSerializer()) { _, _, _ in
            Task { @MainActor in ended.add(()) }
        }
        return (task, ended)
    }

    // MARK: Spinners

    @Test func spinnerFollowsStateOfTask() async {
        let (task, _) = task()
        let spinner = RecordingSpinner()
        spinner.setAnimating(withStateOf: task)
        #expect(spinner.turns.all == [false])
        task.resume()
        await spinner.turns.wait(for: 2)
        task.suspend()
        await spinner.turns.wait(for: 3)
        task.resume()
        await spinner.turns.wait(for: 4)
        server.open("answer")
        #expect(await spinner.turns.wait(for: 5) == [false, true, false, true, false])
    }

    @Test func lateSpinnerStartsOnlyForRunningTask() async {
        let (task, ended) = task()
        task.resume()
        let spinner = RecordingSpinner()
        spinner.setAnimating(withStateOf: task)
        #expect(spinner.turns.all == [true])
        server.open("answer")
        await spinner.turns.wait(for: 2)
        await ended.wait()
        spinner.setAnimating(withStateOf: task)
        #expect(spinner.turns.all == [true, false])
    }

    @Test func refreshControlEndsUnlessTaskRuns() async {
        let (task, ended) = task()
        let control = RecordingSpinner()
        control.setRefreshing(withStateOf: task)
        #expect(control.turns.all == [false])
        task.resume()
        await control.turns.wait(for: 2)
        server.open("answer")
        await control.turns.wait(for: 3)
        await ended.wait()
        control.setRefreshing(withStateOf: task)
        #expect(control.turns.all == [false, true, false, false])
    }

    @Test func rebindingReplacesObservedTask() async {
        let first = task(), second = task()
        let spinner = RecordingSpinner()
        spinner.setAnimating(withStateOf: first.task)
        spinner.setAnimating(withStateOf: second.task)
        first.task.resume()
        server.open("answer")
        await first.ended.wait()
        #expect(spinner.turns.all == [false, false])
        spinner.setAnimating(withStateOf: nil)
        second.task.resume()
        await second.ended.wait()
        #expect(spinner.turns.all == [false, false])
    }

    @Test(arguments: ["resume", "suspend", "complete"])
    func taskOutlivesReleasedViews(event: String) async {
        let (task, ended) = task()
        weak var goneSpinner: RecordingSpinner?
        weak var goneBar: RecordingBar?
        if event != "resume" { task.resume() }
        do {
            let spinner = RecordingSpinner(), bar = RecordingBar()
            spinner.setAnimating(withStateOf: task)
            spinner.setRefreshing(withStateOf: task)
            bar.setProgress(withUploadOf: task, animated: false)
            bar.setProgress(withDownloadOf: task, animated: false)
            (goneSpinner, goneBar) = (spinner, bar)
        }
        #expect(goneSpinner == nil && goneBar == nil)
        switch event {
        case "resume": task.resume()
        case "suspend":
            task.suspend()
            task.resume()
        default: break
        }
        server.open("answer")
        await ended.wait()
    }

    @Test func viewsDoNotRetainUnstartedTask() {
        weak var gone: SessionTask?
        let spinner = RecordingSpinner(), bar = RecordingBar()
        do {
            let (task, _) = task()
            spinner.setAnimating(withStateOf: task)
            bar.setProgress(withDownloadOf: task, animated: true)
            gone = task
        }
        #expect(gone == nil)
    }

    @Test func controlsStopWithUnretainedTaskOnBusyMainActor() async {
        let spinner = RecordingSpinner(), control = RecordingSpinner(), bar = RecordingBar()
        UnheldTask.complete(with: manager, on: server) {
            let (task, _) = task()
            task.resume()
            spinner.setAnimating(withStateOf: task)
            control.setRefreshing(withStateOf: task)
            bar.setProgress(withDownloadOf: task, animated: false)
            return task
        }
        await UnheldTask.afterHops()
        #expect(spinner.turns.all == [true, false])
        #expect(control.turns.all == [true, false])
        #expect(bar.fractions.all.last == 1)
    }

    // MARK: Progress

    @Test(arguments: [true, false])
    func progressBarFollowsDownload(animated: Bool) async {
        let (task, ended) = task()
        let bar = RecordingBar()
        bar.setProgress(withDownloadOf: task, animated: animated)
        task.resume()
        server.open("answer")
        await bar.fractions.wait()
        await ended.wait()
        #expect(bar.fractions.all.last == 1)
        #expect(bar.fractions.all == bar.fractions.all.sorted())
        #expect(bar.isAnimated == animated)
        bar.setProgress(withDownloadOf: task, animated: !animated)
        #expect(bar.isAnimated == animated)
    }

    @Test func progressBarFollowsUpload() async {
        let (task, ended) = task("sent", body: Data(count: 300_000))
        let bar = RecordingBar()
        bar.setProgress(withUploadOf: task, animated: true)
        task.resume()
        await ended.wait()
        await bar.fractions.wait()
        #expect(bar.fractions.all.last == 1)
        #expect(bar.fractions.all == bar.fractions.all.sorted())
    }

    @Test func unknownLengthLeavesProgressBarUnchanged() async {
        server.route("/endless", [.chunkedHead(), .chunk(Data("abc".utf8)), .lastChunk()])
        let (task, ended) = task("endless")
        let bar = RecordingBar()
        bar.setProgress(withDownloadOf: task, animated: true)
        task.resume()
        await ended.wait()
        #expect(bar.fractions.all.isEmpty)
    }

    @Test func progressBarFollowsNewTaskAfterRebinding() async {
        let first = task(), second = task("sent", body: Data(count: 1000))
        let bar = RecordingBar()
        bar.setProgress(withDownloadOf: first.task, animated: false)
        bar.setProgress(withUploadOf: second.task, animated: true)
        first.task.resume()
        server.open("answer")
        await first.ended.wait()
        #expect(bar.fractions.all.isEmpty)
        second.task.resume()
        await bar.fractions.wait()
        #expect(bar.isAnimated)
    }

    @Test func rebindingProgressKeepsSingleObserver() {
        let (task, _) = task()
        var bar: RecordingBar? = RecordingBar()
        for _ in 0..<1000 { bar?.setProgress(withDownloadOf: task, animated: false) }
        #expect(task.progressWatcherCount == 1)
        bar?.setProgress(withUploadOf: task, animated: false)
        #expect(task.progressWatcherCount == 2)
        bar = nil
        #expect(task.progressWatcherCount == 0)
    }

    /// Not the events of the whole process, which cost every request.
    @Test func spinnerKeepsSingleObserver() {
        let (task, _) = task()
        var spinner: RecordingSpinner? = RecordingSpinner()
        for _ in 0..<1000 { spinner?.setAnimating(withStateOf: task) }
        #expect(task.stateWatcherCount == 1)
        spinner?.setAnimating(withStateOf: nil)
        #expect(task.stateWatcherCount == 0)
        spinner?.setRefreshing(withStateOf: task)
        #expect(task.stateWatcherCount == 1 && task.progressWatcherCount == 0)
        spinner = nil
        #expect(task.stateWatcherCount == 0)
    }

    @Test func viewCombinesActivityAndProgressOfTwoTasks() async {
        let first = task(), second = task("sent", body: Data(count: 1000))
        let panel = RecordingPanel()
        first.task.resume()
        panel.setAnimating(withStateOf: first.task)
        panel.setProgress(withUploadOf: second.task, animated: false)
        second.task.resume()
        await panel.fractions.wait()
        server.open("answer")
        #expect(await panel.turns.wait(for: 2) == [true, false])
    }

    @Test func mergesRequestsForMainActorTurn() async {
        let turns = Happenings<Void>()
        let hop = MainActorHop { turns.add(()) }
        for _ in 0..<1000 { hop.request() }
        await turns.wait()
        #expect(turns.all.count == 1)
        hop.request()
        await turns.wait(for: 2)
    }
}
