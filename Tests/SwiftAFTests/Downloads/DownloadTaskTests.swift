import AFTestServer
import Dispatch
import FoundationEssentials
import Testing

@testable import SwiftAF

@Suite(.timeLimit(.minutes(10)))
struct DownloadTaskTests {
    private static let keeping: DownloadOptions = .keepsPartialFile

    private typealias Ending = (response: HTTPResponse?, path: String?, error: SessionError?)

    private let ranges: RangeServer
    private let manager: HTTPSessionManager
    private let folder: TestFolder
    private let endings = Recorder<Ending>()
    private var path: String { folder.file("film") }

    init() throws {
        ranges = try RangeServer()
        manager = ranges.manager
        manager.completionQueue = DispatchQueue(label: "completions")
        folder = try TestFolder()
    }

    private func end(_ response: HTTPResponse?, _ path: String?, _ error: SessionError?) {
        endings.record((response, path, error))
    }

    /// A task that has received some bytes. More come slowly, so that its progress is told, but never all.
    private func begun(_ options: DownloadOptions) async -> DownloadTask {
        let head = "HTTP/1.1 200 OK\r\nETag: \(RangeServer.tag(1))\r\nContent-Length: \(RangeServer.size)\r\n\r\n"
        let body = RangeServer.content(1)
        ranges.server.route(
            "/file", times: 1,
            [
                .send(head), .send(body.prefix(RangeServer.half), inCrumbsOf: 100, pause: .milliseconds(10)),
                .stall(at: "the rest"),
            ])
        let (moves, continuation) = AsyncStream.makeStream(of: Int64.self)
        let task = manager.downloadTask(
            for: "file", to: .named { [path] _ in path }, options: options,
            progress: { continuation.yield($0.received) }, completionHandler: end)
        task.resume()
        for await received in moves where received > 0 { break }
        return task
    }

    @Test func completesWithPathOfDownloadedFile() async throws {
        let task = manager.downloadTask(for: HTTPRequest("file"), to: path, completionHandler: end)
        #expect(task.state == .suspended)
        #expect(task.kind == .download)
        #expect(manager.downloadTasks == [task])
        #expect(manager.dataTasks.isEmpty)
        task.resume()
        let ending = try await endings.value()
        #expect(ending.response?.status == 200)
        #expect(ending.path == path)
        #expect(ending.error == nil)
        #expect(task.state == .completed)
        #expect(manager.tasks.isEmpty)
        #expect(try folder.read("film") == RangeServer.content(1))
        #expect(await task.cancelProducingResumeToken() == nil)
    }

    @Test func refusedStatusLeavesNoFile() async throws {
        ranges.refuse(404)
        manager.downloadTask(for: HTTPRequest("file"), to: path, completionHandler: end).resume()
        let ending = try await endings.value()
        #expect(ending.response?.status == 404)
        #expect(ending.path == nil)
        #expect(ending.error?.code == .status)
        #expect(ending.error?.body == Data("no".utf8))
        #expect(try folder.names == [])
    }

    @Test func unwritablePathFailsInCompletion() async throws {
        manager.downloadTask(for: HTTPRequest("file"), to: folder.file("a/b"), completionHandler: end).resume()
        let ending = try await endings.value()
        #expect(ending.response?.status == 200)
        #expect(ending.path == nil)
        #expect(ending.error?.code == .file)
    }

    @Test func missingDestinationFailsInCompletion() async throws {
        manager.downloadTask(for: HTTPRequest("file"), completionHandler: end).resume()
        #expect(try await endings.value().error?.code == .invalidInput)
        #expect(ranges.server.requests.isEmpty)
    }

    @Test func capturesManagerDestinationWhenTaskIsCreated() async throws {
        manager.downloadDestination = .named { [folder] in folder.file("manager-" + $0.suggestedFileName) }
        let task = manager.downloadTask(for: HTTPRequest("file"), completionHandler: end)
        manager.downloadDestination = nil
        task.resume()
        #expect(try await endings.value().path == folder.file("manager-file"))
    }

    // MARK: Cancelling

    @Test func cancelledTaskProducesTokenThatAnotherManagerResumes() async throws {
        let task = await begun(Self.keeping)
        let tokens = Recorder<(token: ResumeToken?, completions: Int)>()
        task.cancel { [endings] in tokens.record(($0, endings.values.count)) }
        let (received, completions) = try await tokens.value()
        let token = try #require(received)
        #expect(completions == 0)
        #expect(token.bytesReceived > 0)
        let ending = try await endings.value()
        #expect(ending.error?.code == .cancelled)
        #expect(ending.error?.resumeToken == token)
        #expect(await task.cancelProducingResumeToken() == token)

        let other = ranges.manager
        other.completionQueue = manager.completionQueue
        let copy = try JSONDecoder().decode(ResumeToken.self, from: try JSONEncoder().encode(token))
        let resumed = other.downloadTask(for: copy.url, to: .resuming(copy), completionHandler: end)
        resumed.resume()
        #expect(try await endings.value(at: 1).path == path)
        #expect(endings.values[1].response?.status == 206)
        #expect(resumed.progress.offset == token.bytesReceived)
        #expect(try folder.read("film") == RangeServer.content(1))
    }

    @Test func completedTaskReleasesReceiverOfItsToken() async throws {
        let task = await begun(Self.keeping)
        let token = await task.cancelProducingResumeToken()
        _ = try await endings.value()
        let (tokens, released) = (Recorder<ResumeToken?>(), Recorder<Void>())
        func request() {
            let sentinel = Sentinel(released)
            task.cancel { token in withExtendedLifetime(sentinel) { tokens.record(token) } }
        }
        request()
        #expect(try await tokens.value() == token)
        await released.wait()
        #expect(task.state == .completed)
    }

    @Test func awaitedTokenDoesNotNeedCompletionQueue() async throws {
        let task = await begun(Self.keeping)
        manager.completionQueue?.suspend()
        async let first = task.cancelProducingResumeToken()
        async let second = task.cancelProducingResumeToken()
        let tokens = await [first, second]
        #expect((tokens[0]?.bytesReceived ?? 0) > 0)
        #expect(tokens[1] == tokens[0])
        manager.completionQueue?.resume()
    }

    @Test func producesNoTokenWithoutKeepingPartialFile() async throws {
        let task = await begun([])
        #expect(await task.cancelProducingResumeToken() == nil)
        #expect(try folder.names == [])
    }

    @Test func unstartedTaskReturnsTokenItWasCreatedWith() async throws {
        let plain = manager.downloadTask(for: HTTPRequest("file"), to: path, completionHandler: end)
        #expect(await plain.cancelProducingResumeToken() == nil)
        let token = try #require(await begun(Self.keeping).cancelProducingResumeToken())
        let resuming = manager.downloadTask(for: token.url, to: .resuming(token), completionHandler: end)
        #expect(await resuming.cancelProducingResumeToken() == token)
        let cancelled = Task { [manager] in
            withUnsafeCurrentTask { $0?.cancel() }
            return try await manager.download(token.url, to: .resuming(token))
        }
        let error = await #expect(throws: SessionError.self) { try await cancelled.value }
        #expect(error?.code == .cancelled)
        #expect(error?.resumeToken == token)
        #expect(try folder.names == ["film.part", "film.part.resume"])
    }

    @Test func suspendingDuringTransferKeepsFileIntact() async throws {
        let content = RangeServer.content(1)
        ranges.server.route(
            "/file",
            [
                .send("HTTP/1.1 200 OK\r\nContent-Length: \(content.count)\r\n\r\n"), .send(Data(content.prefix(1000))),
                .stall(at: "gate"), .send(Data(content.dropFirst(1000))),
            ])
        let task = manager.downloadTask(for: HTTPRequest("file"), to: path, completionHandler: end)
        task.resume()
        #expect(await ranges.server.wait(for: .stalled(at: "gate")))
        task.suspend()
        ranges.server.open("gate")
        task.resume()
        #expect(try await endings.value().path == path)
        #expect(try folder.read("film") == content)
    }

    @Test(arguments: [keeping, []])
    func suspendingRepeatedlyKeepsFileIntact(options: DownloadOptions) async throws {
        let content = RangeServer.content(1)
        let head = "HTTP/1.1 200 OK\r\nETag: \(RangeServer.tag(1))\r\nContent-Length: \(content.count)\r\n\r\n"
        ranges.server.route("/file", [.send(head), .send(content, inCrumbsOf: 500)])
        let task = manager.downloadTask(for: HTTPRequest("file"), to: path, options: options, completionHandler: end)
        while task.state != .completed {
            task.resume()
            await Task.yield()
            task.suspend()
        }
        #expect(try await endings.value().path == path)
        #expect(try folder.read("film") == content)
        #expect(try folder.names == ["film"])
    }
}
