import AFTestServer
import FoundationEssentials
import Testing

@testable import SwiftAF

@Suite(.timeLimit(.minutes(10)))
struct CancellationTests {
    private let server: TestServer
    private let manager: HTTPSessionManager

    init() throws {
        server = try TestServer()
        manager = HTTPSessionManager(baseURL: server.urlString("/"))
        manager.completionQueue = .global()
    }

    @Test func cancelledTaskSendsNoRequest() async {
        let task = Task { [manager] in
            withUnsafeCurrentTask { $0?.cancel() }
            return try await manager.response(.get, "x")
        }
        await #expect { try await task.value } throws: { ($0 as? SessionError)?.code == .cancelled }
        #expect(server.requests.isEmpty)
        #expect(manager.statistics?.tasks == 0)
    }

    @Test func cancellingTaskClosesItsConnection() async {
        server.route("/slow", [.stall(at: "slow"), .text("late")])
        let task = Task { [manager] in try await manager.response(.get, "slow") }
        #expect(await server.wait(for: .stalled(at: "slow")))
        task.cancel()
        await #expect { try await task.value } throws: { ($0 as? SessionError)?.code == .cancelled }
        server.open("slow")
        #expect(await server.wait(for: .closes(1)))
    }

    @Test func cancellationErrorKeepsReceivedBody() async {
        server.route("/slow", [.send("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf"), .stall(at: "slow")])
        let received = Recorder<Int64>()
        let task = Task { [manager] in
            try await manager.response(.get, "slow", progress: { received.record($0.received) })
        }
        #expect(await received.wait().first == 4)
        task.cancel()
        await #expect {
            try await task.value
        } throws: { error in
            guard let error = error as? SessionError else { return false }
            return error.code == .cancelled && error.status == 200 && error.body == Data("half".utf8)
        }
        server.open("slow")
    }

    @Test func cancelledTaskGroupCancelsItsRequests() async throws {
        server.route("/slow", [.stall(at: "slow"), .text("late")])
        server.route("/fast", .text("fast"))
        let first = try await withThrowingTaskGroup(of: String.self) { group in
            for path in ["slow", "fast"] {
                group.addTask { [manager] in try await manager.get(path) }
            }
            let first = try await group.next()
            group.cancelAll()
            return first
        }
        #expect(first == "fast")
    }

    @Test func cancelsTaskHandleInAnyState() async throws {
        server.route("/slow", [.stall(at: "slow"), .text("late")])
        let errors = Recorder<SessionError?>()
        func make(_ path: String) -> DataTask {
            manager.dataTask(for: HTTPRequest(path), with: DataResponseSerializer()) { errors.record($2) }
        }
        let early = make("slow")
        early.cancel()
        early.resume()
        #expect(await errors.wait().last??.code == .cancelled)
        #expect(early.state == .completed)
        #expect(early.error?.code == .cancelled)
        #expect(server.requests.isEmpty)

        let running = make("slow")
        running.resume()
        #expect(await server.wait(for: .stalled(at: "slow")))
        running.cancel()
        #expect(await errors.wait(for: 2).last??.code == .cancelled)

        let done = make("fast")
        done.resume()
        let outcome = try #require(await errors.wait(for: 3).last)
        #expect(outcome == nil)
        done.cancel()
        #expect(done.state == .completed)
        #expect(errors.values.count == 3)
        server.open("slow")
    }

    @Test func suspendedTaskReceivesNothingUntilResumed() async throws {
        let rest = Data(count: 2_000_000)
        server.route("/big", [.chunkedHead(), .chunk(Data("a".utf8)), .stall(at: "big"), .chunk(rest), .lastChunk()])
        let bodies = Recorder<Int>()
        let task = manager.dataTask(for: HTTPRequest("big"), with: DataResponseSerializer()) { _, body, _ in
            bodies.record(body?.count ?? -1)
        }
        #expect(task.state == .suspended)
        task.resume()
        #expect(task.state == .running)
        #expect(await server.wait(for: .stalled(at: "big")))
        task.suspend()
        task.suspend()
        #expect(task.state == .suspended)
        server.open("big")
        // Others of the session go on meanwhile.
        let echo = try await manager.response(.get, "other")
        #expect(echo.status == 200)
        #expect(bodies.values.isEmpty)
        task.resume()
        #expect(await bodies.wait() == [2_000_001])
    }

    @Test func listsTasksInOrderUntilCompletion() async throws {
        server.route("/slow", [.stall(at: "slow"), .text("late")])
        let ends = Recorder<UInt64>()
        let make = { (request: HTTPRequest) in
            manager.dataTask(for: request, with: DataResponseSerializer()) { [manager] _, _, _ in
                ends.record(UInt64(manager.tasks.count))
            }
        }
        let data = make(HTTPRequest("slow"))
        let upload = make(HTTPRequest(.post, "slow", body: .file(#filePath)))
        #expect(manager.tasks == [data, upload])
        #expect(manager.dataTasks == [data])
        #expect(manager.uploadTasks == [upload])
        #expect(manager.downloadTasks.isEmpty)
        #expect(data.id < upload.id)
        data.taskDescription = "mine"
        #expect(data.taskDescription == "mine")
        data.priority = 2
        #expect(data.priority == 1)
        data.resume()
        upload.cancel()
        await ends.wait()
        #expect(manager.tasks == [data])
        server.open("slow")
        await ends.wait(for: 2)
        #expect(manager.tasks.isEmpty)
    }

    private static let priorities: [(path: String, priority: HTTPRequest.Priority?)] = [
        ("low", 0.4), ("none", nil), ("middle", .normal), ("high", .high), ("lowest", 0),
    ]

    @Test func missingPriorityRanksInTheMiddle() async throws {
        var configuration = SessionConfiguration()
        configuration.maximumConnectionsPerHost = 1
        let manager = HTTPSessionManager(baseURL: server.urlString("/"), configuration: configuration)
        server.route("/first", [.stall(at: "first"), .text("")])
        let ends = Recorder<Bool>()
        func start(_ path: String, priority: HTTPRequest.Priority?) {
            var request = HTTPRequest(path)
            request.priority = priority
            manager.dataTask(for: request, with: DataResponseSerializer()) { _, _, error in
                ends.record(error == nil)
            }.resume()
        }
        start("first", priority: 1)
        #expect(await server.wait(for: .stalled(at: "first")))
        for (path, priority) in Self.priorities {
            start(path, priority: priority)
        }
        // The network thread starts tasks in order: when this one has ended, all others wait. It is for another host.
        let other = server.urlString("/other").replacing("127.0.0.1", with: "localhost")
        #expect(try await manager.response(.get, other).status == 200)
        server.open("first")
        #expect(await ends.wait(for: 6) == Array(repeating: true, count: 6))
        let targets = server.requests.map(\.target)
        #expect(targets == ["/first", "/other", "/high", "/none", "/middle", "/low", "/lowest"])
    }

    @Test func cancellingInvalidationEndsTasksAndRefusesOthers() async throws {
        server.route("/slow", [.stall(at: "slow"), .text("late")])
        let errors = Recorder<SessionError?>()
        let unstarted = manager.dataTask(for: HTTPRequest("x")) { errors.record($2) }
        let awaited = Task { [manager] in try await manager.response(.get, "slow") }
        #expect(await server.wait(for: .stalled(at: "slow")))
        manager.invalidate(cancellingTasks: true)
        await #expect { try await awaited.value } throws: { ($0 as? SessionError)?.code == .cancelled }
        #expect(await errors.wait().last??.code == .cancelled)
        #expect(unstarted.state == .completed)
        await #expect { try await manager.response(.get, "x") } throws: { ($0 as? SessionError)?.code == .closed }
        manager.dataTask(for: HTTPRequest("x")) { errors.record($2) }.resume()
        #expect(await errors.wait(for: 2).last??.code == .closed)
        server.open("slow")
    }

    @Test func invalidationWithoutCancellingCompletesRunningTasks() async throws {
        server.route("/slow", [.stall(at: "slow"), .text("late")])
        let awaited = Task { [manager] in try await manager.get("slow", as: String.self) }
        #expect(await server.wait(for: .stalled(at: "slow")))
        manager.invalidate(cancellingTasks: false)
        server.open("slow")
        #expect(try await awaited.value == "late")
        await #expect { try await manager.response(.get, "x") } throws: { ($0 as? SessionError)?.code == .closed }
        #expect(await server.wait(for: .open(atMost: 0)))
    }

    @Test(arguments: [true, false])
    func invalidatedManagerCanStillCancelTasks(again: Bool) async throws {
        server.route("/slow", [.stall(at: "slow"), .text("late")])
        let awaited = Task { [manager] in try await manager.get("slow", as: String.self) }
        #expect(await server.wait(for: .stalled(at: "slow")))
        manager.invalidate(cancellingTasks: false)
        if again { manager.invalidate(cancellingTasks: true) } else { manager.cancelAll() }
        await #expect { try await awaited.value } throws: { ($0 as? SessionError)?.code == .cancelled }
        server.open("slow")
    }

    @Test func releasedManagerFinishesTransfersAndClosesConnections() async throws {
        server.route("/slow", [.stall(at: "slow"), .text("late")])
        let bodies = Recorder<String?>()
        weak var observed: HTTPSessionManager?
        do {
            let manager = HTTPSessionManager(baseURL: server.urlString("/"))
            manager.completionQueue = .global()
            observed = manager
            manager.request(
                .get, "slow", with: StringResponseSerializer(), success: { bodies.record($1) },
                failure: { _, _ in bodies.record(nil) })
            #expect(await server.wait(for: .stalled(at: "slow")))
        }
        #expect(observed == nil)
        server.open("slow")
        #expect(await bodies.wait() == ["late"])
        #expect(await server.wait(for: .open(atMost: 0)))
    }
}
