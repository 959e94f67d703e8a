import AFTestServer
import FoundationEssentials
import Testing

@testable import SwiftAF

@Suite struct ProgressTests {
    private let server: TestServer
    private let manager: HTTPSessionManager

    init() throws {
        server = try TestServer()
        manager = HTTPSessionManager(baseURL: server.urlString("/"))
        manager.completionQueue = .global()
    }

    @Test(
        arguments: [
            (TransferProgress(), nil, nil, nil),
            (TransferProgress(sent: 1, sentTotal: 4), 0.25, nil, nil),
            (TransferProgress(sent: 0, sentTotal: 4, receivedTotal: 4), 0, 0, 0),
            (TransferProgress(sentTotal: 0, received: 2, receivedTotal: 4), 1, 0.5, 0.5),
            (TransferProgress(sentTotal: 0, received: 1, receivedTotal: 2, offset: 2), 1, 0.75, 0.75),
            (TransferProgress(sent: 9, sentTotal: 4, received: 9, receivedTotal: 4), 1, 1, 1),
            (TransferProgress(sentTotal: 0, receivedTotal: 0), 1, 1, 1),
            (TransferProgress(received: .max, receivedTotal: .max, offset: .max), nil, 1, nil),
        ] as [(TransferProgress, Double?, Double?, Double?)])
    func fractionsCombineUploadAndDownload(
        progress: TransferProgress, upload: Double?, download: Double?, both: Double?
    ) {
        #expect(progress.uploadFraction == upload)
        #expect(progress.downloadFraction == download)
        #expect(progress.fractionCompleted == both)
    }

    @Test func bytesOfAResumedDownloadIncludeThePartialFile() {
        let progress = TransferProgress(received: 1, receivedTotal: 2, offset: 3)
        #expect(progress.downloaded == 4 && progress.downloadTotal == 5)
        #expect(TransferProgress(received: 1).downloadTotal == nil)
        #expect(TransferProgress(received: .max, receivedTotal: .max, offset: 1).downloaded == .max)
    }

    @Test func anUploadsTotalIsKnownBeforeAByteIsSent() async throws {
        server.route("/x", [.readHeadOnly, .stall(at: "x"), .readBody, .text("done")])
        let seen = Recorder<TransferProgress>()
        let body = Data(repeating: 1, count: 32 << 20)
        let (server, manager) = (server, manager)
        async let response = manager.response(for: HTTPRequest(.put, "x", body: .data(body))) { seen.record($0) }
        let first = try await seen.value()
        #expect(first.sentTotal == Int64(body.count) && first.sent == 0 && first.uploadFraction == 0)
        server.open("x")
        #expect(try await response.status == 200)
        #expect(seen.values.last?.uploadFraction == 1)
    }

    @Test func updatesEndWithTheValue() async throws {
        server.route("/x", .text("done"))
        let updates = TransferUpdates { [manager] progress in
            try await manager.response(for: HTTPRequest("x"), progress: progress)
        }
        for _ in 0..<2 {
            var texts: [String] = []
            var last: TransferProgress?
            for try await update in updates {
                switch update {
                case .progress(let progress): last = progress
                case .completed(let response): texts.append(try response.text())
                }
            }
            #expect(texts == ["done"])
            #expect(last?.downloadFraction == 1)
        }
        #expect(server.requests.count == 2)
    }

    @Test func slowReaderGetsLatestProgressAndThenResult() async throws {
        let reported = Recorder<Void>()
        let (returns, gate) = AsyncStream<Void>.makeStream()
        let updates = TransferUpdates { report in
            for received in 1...3 { report(TransferProgress(received: Int64(received))) }
            reported.record(())
            for await _ in returns {}
            report(TransferProgress(received: 4))
            report(TransferProgress(received: 5))
            return "done"
        }
        var iterator = updates.makeAsyncIterator()
        await reported.wait()
        guard case .progress(let third)? = try await iterator.next() else {
            Issue.record("no progress")
            return
        }
        #expect(third.received == 3)
        gate.finish()
        var texts: [String] = []
        var later: [Int64] = []
        while let update = try await iterator.next() {
            switch update {
            case .progress(let progress): later.append(progress.received)
            case .completed(let text): texts.append(text)
            }
        }
        #expect(later.last == 5)
        #expect(texts == ["done"])
        #expect(try await iterator.next() == nil)
    }

    @Test func progressAfterTheResultIsIgnored() async throws {
        let released = Recorder<Void>()
        let reports = Recorder<TransferUpdates<String>.Report>()
        func makeIterator() -> TransferUpdates<String>.Iterator {
            let sentinel = Sentinel(released)
            return TransferUpdates { report in
                withExtendedLifetime(sentinel) { reports.record(report) }
                return "done"
            }.makeAsyncIterator()
        }
        var iterator = makeIterator()
        let report = try await reports.value()
        // The closure is released once its result is stored.
        await released.wait()
        report(TransferProgress(received: 1))
        guard case .completed("done")? = try await iterator.next() else {
            Issue.record("progress after the result")
            return
        }
        report(TransferProgress(received: 2))
        #expect(try await iterator.next() == nil)
    }

    @Test func updatesThrowTheErrorOfTheCall() async throws {
        server.route("/x", .reset)
        let updates = TransferUpdates { [manager] progress in
            try await manager.response(for: HTTPRequest("x"), progress: progress)
        }
        await #expect { for try await _ in updates {} } throws: { ($0 as? SessionError)?.code == .connectionLost }
    }

    @Test func releasingOrCancellingTheIterationCancelsTheCall() async throws {
        server.route("/x", .stall(at: "x"))
        let ends = Recorder<SessionError.Code?>()
        let updates = TransferUpdates { [manager] progress in
            do {
                _ = try await manager.response(for: HTTPRequest("x"), progress: progress)
                ends.record(nil)
            } catch {
                ends.record((error as? SessionError)?.code)
            }
        }
        do {
            let iterator = updates.makeAsyncIterator()
            #expect(await server.wait(for: .requests(1)))
            _ = iterator
        }
        #expect(await ends.wait() == [.cancelled])
        let task = Task { for try await _ in updates {} }
        #expect(await server.wait(for: .requests(2)))
        task.cancel()
        // Otherwise the loop would end as after a result.
        await #expect { try await task.value } throws: { ($0 as? SessionError)?.code == .cancelled }
        #expect(await ends.wait(for: 2) == [.cancelled, .cancelled])
        server.open("x")
    }

    @Test func updatesThatAreReadNoMoreLeaveNoObserver() async {
        let task = manager.dataTask(for: HTTPRequest("x"), with: DataResponseSerializer()) { _, _, _ in }
        for _ in 0..<100 {
            for await _ in task.progressUpdates { break }
        }
        _ = task.progressUpdates
        #expect(task.progressWatcherCount == 0)
    }

    @Test func updatesOfATaskThatIsReleasedUnstartedEnd() async {
        func updates() -> AsyncStream<TransferProgress> {
            manager.dataTask(for: HTTPRequest("x"), with: DataResponseSerializer()) { _, _, _ in }.progressUpdates
        }
        var count = 0
        for await _ in updates() { count += 1 }
        #expect(count == 1)
    }

    @Test func aTasksUpdatesEndWithItsCompletion() async throws {
        server.route("/x", .text(String(repeating: "x", count: 100_000)))
        let task = manager.dataTask(for: HTTPRequest("x"), with: DataResponseSerializer()) { _, _, _ in }
        let updates = task.progressUpdates
        task.resume()
        var last: TransferProgress?
        for await progress in updates { last = progress }
        #expect(last?.downloaded == 100_000)
        // A completed task has its last progress and nothing more.
        var count = 0
        for await progress in task.progressUpdates {
            #expect(progress == last)
            count += 1
        }
        #expect(count == 1)
    }
}
