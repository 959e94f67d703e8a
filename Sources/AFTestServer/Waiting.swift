import CAFTestServer
import Dispatch
import Glibc

/// A condition that a test can wait for.
private enum Condition: Sendable {
    case requests(Int)
    case accepted(Int)
    case closed(Int)
    case openAtMost(Int)
    case received(Int)
    case failedHandshakes(Int)
    case stalled(String, Int)

    func wait(_ server: OpaquePointer, _ milliseconds: Int32) -> Bool {
        switch self {
        case .requests(let count): afts_wait_requests(server, max(0, count), milliseconds)
        case .accepted(let count): afts_wait_accepted(server, max(0, count), milliseconds)
        case .closed(let count): afts_wait_closed(server, max(0, count), milliseconds)
        case .openAtMost(let count): afts_wait_open_at_most(server, max(0, count), milliseconds)
        case .received(let count): afts_wait_received(server, UInt64(clamping: count), milliseconds)
        case .failedHandshakes(let count): afts_wait_handshakes_failed(server, max(0, count), milliseconds)
        case .stalled(let gate, let count): afts_wait_stalled(server, gate, max(0, count), milliseconds)
        }
    }
}

/// Functions that wait for a condition. They return true as soon as the condition holds, and false after the timeout or
/// if the server stops first. In async code they suspend; otherwise they block.
extension TestServer {
    /// The default timeout of all waits: 60 seconds, or the number of seconds in the environment variable
    /// `AFTS_PATIENCE`. Increase it on machines where many tests share few processors and a test may not run for
    /// minutes. Only a wait that fails takes that long.
    public static let patience: Duration = {
        let seconds = getenv("AFTS_PATIENCE").flatMap { Int(String(cString: $0)) } ?? 60
        return .seconds(min(max(1, seconds), 86_400))
    }()

    /// Waits until a total number of requests was received. A request counts when its body was read; in scripts with
    /// ``Script/readHeadOnly``, when its head was read.
    public func waitForRequests(_ count: Int, timeout: Duration = TestServer.patience) -> Bool {
        block(.requests(count), timeout)
    }

    /// Waits until a total number of requests was received.
    public func waitForRequests(_ count: Int, timeout: Duration = TestServer.patience) async -> Bool {
        await suspend(.requests(count), timeout)
    }

    /// Waits until a total number of connections was accepted.
    public func waitForConnections(_ count: Int, timeout: Duration = TestServer.patience) -> Bool {
        block(.accepted(count), timeout)
    }

    /// Waits until a total number of connections was accepted.
    public func waitForConnections(_ count: Int, timeout: Duration = TestServer.patience) async -> Bool {
        await suspend(.accepted(count), timeout)
    }

    /// Waits until a total number of connections has ended.
    public func waitForCloses(_ count: Int, timeout: Duration = TestServer.patience) -> Bool {
        block(.closed(count), timeout)
    }

    /// Waits until a total number of connections has ended.
    public func waitForCloses(_ count: Int, timeout: Duration = TestServer.patience) async -> Bool {
        await suspend(.closed(count), timeout)
    }

    /// Waits until at most `count` connections are open.
    public func waitForOpen(atMost count: Int, timeout: Duration = TestServer.patience) -> Bool {
        block(.openAtMost(count), timeout)
    }

    /// Waits until at most `count` connections are open.
    public func waitForOpen(atMost count: Int, timeout: Duration = TestServer.patience) async -> Bool {
        await suspend(.openAtMost(count), timeout)
    }

    /// Waits until a number of bytes was received, on all connections together.
    public func waitForReceived(bytes count: Int, timeout: Duration = TestServer.patience) -> Bool {
        block(.received(count), timeout)
    }

    /// Waits until a number of bytes was received, on all connections together.
    public func waitForReceived(bytes count: Int, timeout: Duration = TestServer.patience) async -> Bool {
        await suspend(.received(count), timeout)
    }

    /// Waits until a total number of TLS handshakes has failed.
    public func waitForFailedHandshakes(_ count: Int, timeout: Duration = TestServer.patience) -> Bool {
        block(.failedHandshakes(count), timeout)
    }

    /// Waits until a total number of TLS handshakes has failed.
    public func waitForFailedHandshakes(_ count: Int, timeout: Duration = TestServer.patience) async -> Bool {
        await suspend(.failedHandshakes(count), timeout)
    }

    /// Waits until `count` scripts wait at a gate at the same time.
    public func waitForStalled(at gate: String, count: Int = 1, timeout: Duration = TestServer.patience) -> Bool {
        block(.stalled(gate, count), timeout)
    }

    /// Waits until `count` scripts wait at a gate at the same time.
    public func waitForStalled(at gate: String, count: Int = 1, timeout: Duration = TestServer.patience) async -> Bool {
        await suspend(.stalled(gate, count), timeout)
    }

    private func block(_ condition: Condition, _ timeout: Duration) -> Bool {
        wait(timeout) { condition.wait($0, $1) }
    }

    private func suspend(_ condition: Condition, _ timeout: Duration) async -> Bool {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(returning: self.block(condition, timeout))
            }
        }
    }
}
