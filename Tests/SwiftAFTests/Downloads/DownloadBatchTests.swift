import AFTestServer
import FoundationEssentials
import Glibc
import Synchronization
import Testing

@testable import SwiftAF

@Suite(.timeLimit(.minutes(10)))
struct DownloadBatchTests {
    private let server: TestServer
    private let manager: HTTPSessionManager
    private let folder: TestFolder

    init() throws {
        server = try TestServer()
        manager = HTTPSessionManager(baseURL: server.urlString("/"))
        folder = try TestFolder()
    }

    private func items(_ names: [String], options: DownloadOptions = []) -> [DownloadItem] {
        names.map { DownloadItem(HTTPRequest($0), to: folder.file($0), options: options) }
    }

    private func names(_ count: Int) -> [String] {
        let names = (0..<count).map { "f\($0)" }
        for name in names { server.route("/" + name, .text("text of \(name)")) }
        return names
    }

    // MARK: Sums

    @Test func totalIsKnownOnceEveryItemsTotalIs() {
        var tally = DownloadTally(count: 3)
        #expect(tally.all == TransferProgress())
        var told = tally.note(TransferProgress(received: 5), of: 0)
        #expect(told.all == TransferProgress(received: 5))
        told = tally.note(TransferProgress(sentTotal: 0, received: 5, receivedTotal: 10), of: 0)
        #expect(told.all == TransferProgress(received: 5))
        told = tally.note(TransferProgress(sentTotal: 0, received: 1, receivedTotal: 20, offset: 7), of: 2)
        #expect(told.index == 2)
        #expect(told.item.received == 1)
        #expect(told.all == TransferProgress(received: 6, offset: 7))
        tally.end(1)
        #expect(tally.all == TransferProgress(sentTotal: 0, received: 6, receivedTotal: 30, offset: 7))
        tally.end(0)
        #expect(tally.all == TransferProgress(sentTotal: 0, received: 6, receivedTotal: 25, offset: 7))
        tally.end(2)
        #expect(tally.all == TransferProgress(sentTotal: 0, received: 6, receivedTotal: 6, offset: 7))
        #expect(tally.all.fractionCompleted == 1)
    }

    @Test func hugeSizesSaturateTotals() {
        var tally = DownloadTally(count: 3)
        let promised = TransferProgress(sentTotal: 0, received: 5, receivedTotal: .max, offset: .max)
        for index in 0..<3 { _ = tally.note(promised, of: index) }
        #expect(tally.all == TransferProgress(sentTotal: 0, received: 15, receivedTotal: .max, offset: .max))
        for index in 0..<3 { _ = tally.note(TransferProgress(sentTotal: 0, received: 6, receivedTotal: 7), of: index) }
        #expect(tally.all == TransferProgress(sentTotal: 0, received: 18, receivedTotal: 21))
    }

    @Test func itemsCountEquallyInFraction() {
        var tally = DownloadTally(count: 4)
        #expect(tally.report(of: 0).fractionCompleted == 0)
        #expect(tally.note(TransferProgress(received: 5), of: 0).fractionCompleted == 0)
        #expect(tally.note(TransferProgress(received: 5, receivedTotal: 10), of: 0).fractionCompleted == 0.125)
        #expect(tally.note(TransferProgress(received: 900, receivedTotal: 900), of: 1).fractionCompleted == 0.375)
        tally.end(2)
        tally.end(2)
        #expect(tally.report(of: 2).ended == 1)
        #expect(tally.report(of: 2).fractionCompleted == 0.625)
        for index in 0..<4 { tally.end(index) }
        let last = tally.report(of: 3)
        #expect(last.ended == 4 && last.count == 4 && last.fractionCompleted == 1)
    }

    // MARK: Batches

    @Test(arguments: [-1, 1, 3, 100])
    func downloadsAllItemsWithTheirIndexes(atOnce: Int) async throws {
        let names = names(10)
        var seen: Set<Int> = []
        for await download in manager.downloads(of: items(names), maximumConcurrent: atOnce) {
            #expect(seen.insert(download.index).inserted)
            #expect(try download.get().filePath == folder.file(names[download.index]))
        }
        #expect(seen.count == 10)
        for name in names { #expect(try folder.read(name) == Data("text of \(name)".utf8)) }
    }

    @Test func emptyBatchEndsImmediately() async {
        for await _ in manager.downloads(of: []) { Issue.record("there is nothing to come") }
    }

    @Test func limitsConcurrencyAndStartsNextWhenOneEnds() async {
        let names = (0..<4).map { "f\($0)" }
        for name in names { server.route("/" + name, [.stall(at: name), .text(name)]) }
        var results = manager.downloads(of: items(names), maximumConcurrent: 2).makeAsyncIterator()
        #expect(await server.wait(for: .stalled(at: "f0")))
        #expect(await server.wait(for: .stalled(at: "f1")))
        server.open("f1")
        #expect(await results.next()?.index == 1)
        #expect(await server.wait(for: .stalled(at: "f2")))
        #expect(!server.requests.contains { $0.path == "/f3" })
        for name in names { server.open(name) }
        var rest: Set<Int> = []
        while let download = await results.next() { rest.insert(download.index) }
        #expect(rest == [0, 2, 3])
        #expect(server.statistics.peakOpen <= 2)
    }

    @Test func failedItemsLeaveOthersRunning() async throws {
        let names = names(4)
        server.route("/f1", .text("not here", status: 404))
        var items = items(names)
        items[2] = DownloadItem(HTTPRequest("f2"), to: "")
        var codes: [Int: SessionError.Code?] = [:]
        for await download in manager.downloads(of: items, maximumConcurrent: 2) {
            switch download.result {
            case .success: codes[download.index] = .some(nil)
            case .failure(let error): codes[download.index] = error.code
            }
        }
        #expect(codes == [0: nil, 1: .status, 2: .invalidInput, 3: nil])
        #expect(try folder.names == ["f0", "f3"])
    }

    @Test func progressEndsWithTotalsOfAllItems() async throws {
        let names = (0..<3).map { "f\($0)" }
        for name in names { server.route("/" + name, .respond(repeating: Data(count: 1000), count: 100)) }
        let progress = Recorder<DownloadBatchProgress>()
        for await download in manager.downloads(of: items(names), progress: { progress.record($0) }) {
            #expect(throws: Never.self) { try download.get() }
        }
        let last = try #require(progress.values.last)
        #expect(last.all.received == 300_000)
        #expect(last.all.receivedTotal == 300_000)
        #expect(last.all.fractionCompleted == 1)
        let sums = progress.values.map(\.all.received)
        #expect(sums == sums.sorted())
        #expect(Set(progress.values.map(\.index)) == [0, 1, 2])
        #expect(last.ended == 3 && last.count == 3 && last.fractionCompleted == 1)
        let fractions = progress.values.map(\.fractionCompleted)
        #expect(fractions == fractions.sorted())
    }

    @Test func descriptionOfItemHidesSecrets() {
        let item = DownloadItem("https://user:secret@host/a?token=1", to: "/tmp/a")
        #expect(item.request.url == "https://user:secret@host/a?token=1" && item.filePath == "/tmp/a")
        #expect("\(item)" == "GET https://host/a?… to /tmp/a")
        #expect(DownloadItem("b", to: .folder("/tmp")).filePath == nil)
    }

    @Test func reportsNothingAfterCancelledLoopEnds() async throws {
        let names = (0..<4).map { "f\($0)" }
        for name in names { server.route("/" + name, [.stall(at: name), .text(name)]) }
        let hasEnded = Atomic<Bool>(false)
        let late = Atomic<Int>(0)
        let loop = Task {
            let results = manager.downloads(of: items(names)) { _ in
                if hasEnded.load(ordering: .sequentiallyConsistent) {
                    late.add(1, ordering: .sequentiallyConsistent)
                }
            }
            for await _ in results {}
            hasEnded.store(true, ordering: .sequentiallyConsistent)
        }
        for name in names { #expect(await server.wait(for: .stalled(at: name))) }
        loop.cancel()
        await loop.value
        // All transfers have ended, with what they would report.
        await manager.shutdown()
        let count = late.load(ordering: .sequentiallyConsistent)
        #expect(count == 0)
    }

    @Test func reportsProgressSeriallyAndInOrder() async throws {
        let names = (0..<20).map { "f\($0)" }
        for name in names { server.route("/" + name, .respond(repeating: Data(count: 1000), count: 100)) }
        let calls = Atomic<Int>(0)
        let overlapping = Atomic<Int>(0)
        let progress = Recorder<DownloadBatchProgress>()
        let downloads = manager.downloads(of: items(names), maximumConcurrent: 4) { report in
            if calls.add(1, ordering: .sequentiallyConsistent).oldValue != 0 {
                overlapping.add(1, ordering: .relaxed)
            }
            // Long enough for other downloads to report something meanwhile.
            for _ in 0..<200 { sched_yield() }
            progress.record(report)
            calls.subtract(1, ordering: .sequentiallyConsistent)
        }
        for await download in downloads { #expect(throws: Never.self) { try download.get() } }
        let overlaps = overlapping.load(ordering: .relaxed)
        #expect(overlaps == 0)
        let reports = progress.values
        #expect(reports.map(\.ended) == reports.map(\.ended).sorted())
        #expect(reports.map(\.all.received) == reports.map(\.all.received).sorted())
        #expect(reports.map(\.fractionCompleted) == reports.map(\.fractionCompleted).sorted())
        #expect(reports.last?.ended == names.count)
    }

    @Test func lastReportCountsFailedAndUnsizedItems() async throws {
        server.route("/f0", .chunked(chunks: ["a"]))
        server.route("/f1", .status(404))
        let progress = Recorder<DownloadBatchProgress>()
        for await download in manager.downloads(of: items(["f0", "f1"]), progress: { progress.record($0) }) {
            #expect((0...1).contains(download.index))
        }
        let last = try #require(progress.values.last)
        #expect(last.ended == 2 && last.fractionCompleted == 1)
    }

    @Test func reportsEndOfItemBeforeNextBegins() async throws {
        server.route("/f1", .status(404))
        let progress = Recorder<DownloadBatchProgress>()
        var items = items(["f0", "f1"])
        items.insert(DownloadItem("ftp://h/", to: folder.file("x")), at: 1)
        for await download in manager.downloads(of: items, maximumConcurrent: 1, progress: { progress.record($0) }) {
            #expect(progress.values.last.map { $0.ended > download.index } == true)
        }
        #expect(progress.values.map(\.ended).contains(2))
    }

    @Test func managerDestinationAppliesToItemsWithoutOne() async throws {
        let names = names(3)
        manager.downloadDestination = .named { [folder] in folder.file("manager-" + $0.suggestedFileName) }
        let items = [
            DownloadItem(HTTPRequest(names[0])), DownloadItem(HTTPRequest(names[1]), to: folder.file("path")),
            DownloadItem(names[2], to: .named { [folder] _ in folder.file("closure") }),
        ]
        for await download in manager.downloads(of: items) { _ = try download.get() }
        #expect(try folder.names == ["closure", "manager-f0", "path"])
    }

    @Test func resumesTokensInBatch() async throws {
        let ranges = try RangeServer()
        ranges.breakOff()
        let request = HTTPRequest(ranges.server.urlString("/file"))
        let items = [DownloadItem(request, to: folder.file("a"), options: .keepsPartialFile)]
        var tokens: [ResumeToken] = []
        for await download in manager.downloads(of: items) {
            if case .failure(let error) = download.result { tokens += [error.resumeToken].compactMap { $0 } }
        }
        for await download in manager.downloads(of: tokens.map { DownloadItem($0.url, to: .resuming($0)) }) {
            #expect(try download.get().resumption == .resumed)
        }
        #expect(try folder.read("a") == RangeServer.content(1))
    }

    // MARK: Cancelling

    /// Items that begin and never end.
    private func endless(_ count: Int) -> [DownloadItem] {
        let names = (0..<count).map { "f\($0)" }
        for name in names {
            server.route("/" + name, [.send("HTTP/1.1 200 OK\r\n\r\nx"), .stall(at: name), .waitForPeerClose])
        }
        return items(names)
    }

    @Test func cancellingTaskCancelsAllDownloads() async throws {
        let items = endless(3)
        let task = Task { [manager] in
            var count = 0
            for await _ in manager.downloads(of: items, maximumConcurrent: 2) { count += 1 }
            return count
        }
        for name in ["f0", "f1"] { #expect(await server.wait(for: .stalled(at: name))) }
        task.cancel()
        #expect(await task.value == 0)
        for name in ["f0", "f1"] { server.open(name) }
        #expect(await server.wait(for: .closes(2)))
        #expect(!server.requests.contains { $0.path == "/f2" })
        // The sequence has ended before the transfers, and a connection goes before the file.
        try await eventually { try folder.names == [] }
    }

    @Test func cancelAllCancelsDownloadsThatHaveNotBegun() async throws {
        let items = endless(6)
        let task = Task { [manager] in
            var codes: [SessionError.Code?] = []
            for await download in manager.downloads(of: items, maximumConcurrent: 2) {
                if case .failure(let error) = download.result { codes.append(error.code) } else { codes.append(nil) }
            }
            return codes
        }
        for name in ["f0", "f1"] { #expect(await server.wait(for: .stalled(at: name))) }
        manager.cancelAll()
        #expect(await task.value == Array(repeating: .cancelled, count: 6))
        #expect(Set(server.requests.map(\.path)) == ["/f0", "/f1"])
        for name in ["f0", "f1"] { server.open(name) }
        // The manager stays usable.
        server.route("/after", .text("done"))
        for await download in manager.downloads(of: self.items(["after"])) { _ = try download.get() }
    }

    /// As documented: once the results were read, the partial files are free.
    @Test func batchCanBeResumedAfterCancelAll() async throws {
        server.route(
            "/f", [.send("HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: 5\r\n\r\nx"), .waitForPeerClose])
        for _ in 0..<5 {
            let received = Recorder<Bool>()
            let downloads = manager.downloads(of: items(["f"], options: [.keepsPartialFile, .resumes])) { progress in
                if progress.all.received > 0 { received.record(true) }
            }
            await received.wait()
            manager.cancelAll()
            for await download in downloads {
                let error = #expect(throws: SessionError.self) { try download.get() }
                #expect(error?.code == .cancelled)
            }
        }
    }

    @Test func leavingLoopCancelsRemainingDownloads() async throws {
        let items = endless(2)
        server.route("/f1", .text("done"))
        for await download in manager.downloads(of: items) {
            #expect(download.index == 1)
            #expect(await server.wait(for: .stalled(at: "f0")))
            break
        }
        server.open("f0")
        #expect(await server.wait(for: .closes(1)))
    }
}
