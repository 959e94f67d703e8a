import Testing

@testable import SwiftAF

/// Requests to an address that no machine has a route to. What happens when one comes up is tested in C
/// (task_network_test.c), in a network of its own.
@Suite(.timeLimit(.minutes(10))) struct ConnectivityTests {
    private static let nowhere = "http://255.255.255.255/"

    private func failure(
        waiting: Bool, request waitsForConnectivity: Bool? = nil, total: Duration? = nil
    ) async -> SessionError? {
        var configuration = SessionConfiguration()
        configuration.waitsForConnectivity = waiting
        var request = HTTPRequest(Self.nowhere)
        request.waitsForConnectivity = waitsForConnectivity
        request.timeouts.total = total
        do {
            _ = try await HTTPSessionManager(configuration: configuration).response(for: request)
            return nil
        } catch {
            return error
        }
    }

    @Test func noRouteIsAnErrorUnlessItIsToBeWaitedFor() async {
        #expect(await failure(waiting: false)?.code == .connect)
        #expect(await failure(waiting: true, request: false)?.code == .connect)
    }

    @Test func theTotalLimitEndsTheWait() async {
        let error = await failure(waiting: true, total: .milliseconds(50))
        #expect(error?.code == .timeout)
        #expect(error?.reason == .total)
        #expect(await failure(waiting: false, request: true, total: .milliseconds(50))?.code == .timeout)
    }

    @Test func cancellingEndsTheWait() async {
        let task = Task { await failure(waiting: true) }
        task.cancel()
        #expect(await task.value?.code == .cancelled)
        let ended = Recorder<SessionError?>()
        let manager = HTTPSessionManager()
        manager.completionQueue = .global()
        var request = HTTPRequest(Self.nowhere)
        request.waitsForConnectivity = true
        let waiting = manager.dataTask(for: request) { _, _, error in ended.record(error) }
        waiting.resume()
        waiting.suspend()
        waiting.resume()
        manager.invalidate(cancellingTasks: true)
        #expect(await ended.wait().first??.code == .cancelled)
    }
}
