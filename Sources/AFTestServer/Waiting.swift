import CAFTestServer
import Dispatch
import Glibc

/// Waits return true as soon as the condition holds, and false after the timeout or if the server stops first.
extension TestServer {
    /// A condition that a test can wait for.
    public enum Condition: Hashable, Sendable {
        /// A total number of requests was received. A request counts when its body was read; in scripts with
        /// ``Script/readHeadOnly``, when its head was read.
        case requests(Int)
        /// A total number of connections was accepted.
        case connections(Int)
        /// A total number of connections has ended.
        case closes(Int)
        /// At most this number of connections is open.
        case open(atMost: Int)
        /// A number of bytes was received, on all connections together.
        case received(bytes: Int)
        /// A total number of TLS handshakes has failed.
        case failedHandshakes(Int)
        /// A number of scripts waits at a gate at the same time.
        case stalled(at: String, count: Int = 1)

        fileprivate func wait(_ server: OpaquePointer, _ milliseconds: Int32) -> Bool {
            switch self {
            case .requests(let count): afts_wait_requests(server, max(0, count), milliseconds)
            case .connections(let count): afts_wait_accepted(server, max(0, count), milliseconds)
            case .closes(let count): afts_wait_closed(server, max(0, count), milliseconds)
            case .open(let count): afts_wait_open_at_most(server, max(0, count), milliseconds)
            case .received(let count): afts_wait_received(server, UInt64(clamping: count), milliseconds)
            case .failedHandshakes(let count): afts_wait_handshakes_failed(server, max(0, count), milliseconds)
            case .stalled(let gate, let count): afts_wait_stalled(server, gate, max(0, count), milliseconds)
            }
        }
    }

    /// The default timeout of all waits: 60 seconds, or the number of seconds in the environment variable
    /// `AFTS_PATIENCE`. Increase it on machines where many tests share few processors and a test may not run for
    /// minutes. Only a wait that fails takes that long.
    public static let patience: Duration = {
        let seconds = getenv("AFTS_PATIENCE").flatMap { Int(String(cString: $0)) } ?? 60
        return .seconds(min(max(1, seconds), 86_400))
    }()

    /// Blocks the calling thread until a condition holds.
    public func wait(for condition: Condition, timeout: Duration = TestServer.patience) -> Bool {
        wait(timeout) { condition.wait($0, $1) }
    }

    /// Suspends the calling task until a condition holds.
    public func wait(for condition: Condition, timeout: Duration = TestServer.patience) async -> Bool {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(returning: self.wait(timeout) { condition.wait($0, $1) })
            }
        }
    }
}
