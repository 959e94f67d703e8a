import CAFTestServer
import Dispatch
import Glibc

/// What a test can wait for.
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

/// Waits. Each returns true as soon as its condition holds, false when the time is up or the server has
/// stopped without it. Asynchronous code gets the form that suspends, other code the one that blocks.
extension TestServer {
    /// How long a wait takes at most, if nothing else is said: 60 seconds, or as many as the environment's
    /// `AFTS_PATIENCE`, for machines on which many tests share few processors: there minutes may pass before each has
    /// had its turn, and only what never comes is waited for as long.
    public static let patience: Duration = {
        let seconds = getenv("AFTS_PATIENCE").flatMap { Int(String(cString: $0)) } ?? 60
        return .seconds(min(max(1, seconds), 86_400))
    }()

    /// Until so many requests have come, in total. A request counts when its body has been read; if its
    /// script has ``Script/readHeadOnly``, when its head has been.
    public func waitForRequests(_ count: Int, timeout: Duration = TestServer.patience) -> Bool {
        block(.requests(count), timeout)
    }

    /// Until so many requests have come, in total.
    public func waitForRequests(_ count: Int, timeout: Duration = TestServer.patience) async -> Bool {
        await suspend(.requests(count), timeout)
    }

    /// Until so many connections have been accepted, in total.
    public func waitForConnections(_ count: Int, timeout: Duration = TestServer.patience) -> Bool {
        block(.accepted(count), timeout)
    }

    /// Until so many connections have been accepted, in total.
    public func waitForConnections(_ count: Int, timeout: Duration = TestServer.patience) async -> Bool {
        await suspend(.accepted(count), timeout)
    }

    /// Until so many connections have ended, in total.
    public func waitForCloses(_ count: Int, timeout: Duration = TestServer.patience) -> Bool {
        block(.closed(count), timeout)
    }

    /// Until so many connections have ended, in total.
    public func waitForCloses(_ count: Int, timeout: Duration = TestServer.patience) async -> Bool {
        await suspend(.closed(count), timeout)
    }

    /// Until at most so many connections are open.
    public func waitForOpen(atMost count: Int, timeout: Duration = TestServer.patience) -> Bool {
        block(.openAtMost(count), timeout)
    }

    /// Until at most so many connections are open.
    public func waitForOpen(atMost count: Int, timeout: Duration = TestServer.patience) async -> Bool {
        await suspend(.openAtMost(count), timeout)
    }

    /// Until so many bytes have been received, on all connections together.
    public func waitForReceived(bytes count: Int, timeout: Duration = TestServer.patience) -> Bool {
        block(.received(count), timeout)
    }

    /// Until so many bytes have been received, on all connections together.
    public func waitForReceived(bytes count: Int, timeout: Duration = TestServer.patience) async -> Bool {
        await suspend(.received(count), timeout)
    }

    /// Until so many TLS handshakes have failed, in total.
    public func waitForFailedHandshakes(_ count: Int, timeout: Duration = TestServer.patience) -> Bool {
        block(.failedHandshakes(count), timeout)
    }

    /// Until so many TLS handshakes have failed, in total.
    public func waitForFailedHandshakes(_ count: Int, timeout: Duration = TestServer.patience) async -> Bool {
        await suspend(.failedHandshakes(count), timeout)
    }

    /// Until so many scripts wait at a gate at the same time.
    public func waitForStalled(at gate: String, count: Int = 1, timeout: Duration = TestServer.patience) -> Bool {
        block(.stalled(gate, count), timeout)
    }

    /// Until so many scripts wait at a gate at the same time.
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
