import AFTestServer
import Dispatch
import FoundationEssentials
import Testing

@testable import SwiftAF

/// AFNetworkActivityManagerTests of AFNetworking, and what is counted here beside tasks.
@Suite(.timeLimit(.minutes(10))) final class NetworkActivityIndicatorManagerTests {
    private let server: TestServer
    private let manager: HTTPSessionManager
    private let indicator: NetworkActivityIndicatorManager
    private let shown = Recorder<Bool>()

    init() throws {
        let server = try TestServer()
        self.server = server
        let address = server.urlString("/")
        manager = HTTPSessionManager(baseURL: address)
        manager.completionQueue = DispatchQueue(label: "completions")
        // Other tests run meanwhile.
        indicator = NetworkActivityIndicatorManager { $0.url.hasPrefix(address) }
        indicator.callbackQueue = DispatchQueue(label: "indicator")
        indicator.visibilityHandler = { [shown] in shown.record($0) }
        indicator.activationDelay = .zero
        indicator.completionDelay = .zero
        indicator.isEnabled = true
        server.route("/slow", [.stall(at: "answer"), .json("[1]")])
        server.route("/missing", [.stall(at: "answer"), .status(404)])
    }

    @Test func nothingIsShownUnlessEnabled() {
        let other = NetworkActivityIndicatorManager { _ in false }
        #expect(!other.isEnabled)
        #expect(!other.isNetworkActivityIndicatorVisible)
        #expect(other.activationDelay == .seconds(1))
        #expect(other.completionDelay == .milliseconds(170))
        other.incrementActivityCount()
        #expect(other.activityCount == 1)
        #expect(!other.isNetworkActivityIndicatorVisible)
    }

    @Test(arguments: ["slow", "missing"])
    func indicatorTurnsOnAndOffForEveryRequest(path: String) async {
        manager.get(path, success: { _, _ in }, failure: nil)
        await shown.wait()
        #expect(indicator.isNetworkActivityIndicatorVisible)
        #expect(indicator.activityCount == 1)
        server.open("answer")
        #expect(await shown.wait(for: 2) == [true, false])
        #expect(indicator.activityCount == 0)
        #expect(!indicator.isNetworkActivityIndicatorVisible)
    }

    @Test func theHandlerIsCalledOnceEachForStartAndEndOfManyRequests() async {
        server.route("/other", [.stall(at: "other"), .json("[1]")])
        let ended = Recorder<String>()
        manager.get("slow", success: { _, _ in ended.record("slow") }, failure: nil)
        await shown.wait()
        manager.get("other", success: { _, _ in ended.record("other") }, failure: nil)
        #expect(indicator.activityCount == 2)
        server.open("answer")
        await ended.wait(for: 1)
        server.open("other")
        #expect(await shown.wait(for: 2) == [true, false])
    }

    @Test func awaitedCallsAndStreamsAreCounted() async throws {
        let manager = manager
        async let value: JSONValue = manager.get("slow")
        await shown.wait()
        server.open("answer")
        _ = try await value
        #expect(await shown.wait(for: 2) == [true, false])
        server.route("/stream", [.chunkedHead(), .chunk(Data("a".utf8)), .stall(at: "rest"), .lastChunk()])
        let stream = try await manager.stream(HTTPRequest("stream"))
        #expect(await shown.wait(for: 3) == [true, false, true])
        server.open("rest")
        for try await _ in stream.bytes {}
        #expect(await shown.wait(for: 4) == [true, false, true, false])
    }

    @Test func whatCouldNotBeginIsNotCounted() async {
        _ = try? await manager.stream(HTTPRequest("http://[::1"))
        let _: JSONValue? = try? await manager.get("http://[::1")
        #expect(indicator.activityCount == 0)
    }

    @Test func suspendedTasksAreNotCountedAndCancelledOnesOnlyOnce() async {
        let task = manager.dataTask(for: HTTPRequest("slow")) { _, _, _ in }
        indicator.incrementActivityCount()
        task.resume()
        #expect(indicator.activityCount == 2)
        task.suspend()
        #expect(indicator.activityCount == 1)
        task.cancel()
        let ended = Recorder<Void>()
        let never = manager.dataTask(for: HTTPRequest("slow")) { _, _, _ in ended.record(()) }
        never.cancel()
        await ended.wait()
        #expect(indicator.activityCount == 1)
        await shown.wait()
        #expect(indicator.isNetworkActivityIndicatorVisible)
        indicator.decrementActivityCount()
        #expect(await shown.wait(for: 2) == [true, false])
        indicator.decrementActivityCount()
        #expect(indicator.activityCount == 0)
        server.open("answer")
    }

    @Test(arguments: [true, false])
    func whetherATaskIsCountedIsDecidedAtItsFirstStart(isCounted: Bool) async {
        let (address, decisions) = (server.urlString("/"), Recorder<Bool>())
        let decision = Locked(isCounted)
        let indicator = NetworkActivityIndicatorManager { request in
            guard request.url.hasPrefix(address) else { return false }
            decisions.record(true)
            return decision.withLock { $0 }
        }
        let ended = Recorder<Void>()
        let task = manager.dataTask(for: HTTPRequest("slow")) { _, _, _ in ended.record(()) }
        task.resume()
        #expect(indicator.activityCount == (isCounted ? 1 : 0))
        decision.exchange(!isCounted)
        task.suspend()
        #expect(indicator.activityCount == 0)
        task.resume()
        #expect(indicator.activityCount == (isCounted ? 1 : 0))
        server.open("answer")
        await ended.wait()
        await eventually { indicator.activityCount == 0 }
        #expect(decisions.values == [true])
    }

    @Test func closureThatIsReplacedMayUseTheManagerAsItIsReleased() {
        final class Capture: Sendable {
            let manager: NetworkActivityIndicatorManager

            init(_ manager: NetworkActivityIndicatorManager) { self.manager = manager }

            deinit { manager.decrementActivityCount() }
        }
        let manager = NetworkActivityIndicatorManager { _ in false }
        manager.incrementActivityCount()
        manager.visibilityHandler = { [capture = Capture(manager)] _ in _ = capture }
        manager.visibilityHandler = nil
        #expect(manager.activityCount == 0)
    }

    @Test func theProgramsOwnCountIsThereAtOnce() {
        for count in 1...3 {
            indicator.incrementActivityCount()
            #expect(indicator.activityCount == count)
        }
    }

    @Test func enabledManagerCanBeReleased() async {
        weak var gone: NetworkActivityIndicatorManager?
        do {
            let short = NetworkActivityIndicatorManager()
            gone = short
            short.isEnabled = true
            short.incrementActivityCount()
        }
        #expect(gone == nil)
    }
}
