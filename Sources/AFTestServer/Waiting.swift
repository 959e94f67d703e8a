import CAFTestServer
import Dispatch
import Glibc
import Synchronization

/// Waits return true as soon as the condition holds, and false after the timeout or if the server stops first.
extension TestServer {
    /// A condition that a test can wait for.
    public enum Condition: Hashable, Sendable {
        /// A total number of requests was received; with a pattern, as in ``requests(matching:)``, of those that match
        /// it and are among ``requests``: see ``Options/recordLimit``. A request counts when its body was read, or when
        /// the client gave up before that: see ``Request/isBodyComplete``. In scripts with ``Script/readHeadOnly`` it
        /// counts when its head was read.
        case requests(Int, matching: String? = nil)
        /// A total number of connections was accepted.
        case connections(Int)
        /// A total number of connections has ended.
        ///
        /// If a client closes its connection, or resets it, while a script waits at a gate, pauses, or has an async
        /// handler that waits, the connection counts at once, and its ``ConnectionRecord/ending`` is set. The script
        /// goes on afterwards: on the wire, closing looks the same as ending only the own direction, and a client that
        /// has done that still gets its response. In other steps, the next read or write finds the end.
        case closes(Int)
        /// At most this number of connections is open: they haven't ended, as in ``closes(_:)``.
        case open(atMost: Int)
        /// A number of bytes was received, on all connections together.
        case received(bytes: Int)
        /// A total number of TLS handshakes has failed.
        case failedHandshakes(Int)
        /// A number of scripts waits at a gate at the same time.
        case stalled(at: String, count: Int = 1)

        fileprivate var inC: (kind: afts_condition, count: UInt64, subject: String?) {
            switch self {
            case .requests(let count, let pattern):
                (AFTS_REQUESTS, UInt64(clamping: count), pattern.map { RoutePattern($0).text })
            case .connections(let count): (AFTS_ACCEPTED, UInt64(clamping: count), nil)
            case .closes(let count): (AFTS_CLOSED, UInt64(clamping: count), nil)
            case .open(let count): (AFTS_OPEN_AT_MOST, UInt64(clamping: count), nil)
            case .received(let count): (AFTS_RECEIVED, UInt64(clamping: count), nil)
            case .failedHandshakes(let count): (AFTS_HANDSHAKES_FAILED, UInt64(clamping: count), nil)
            case .stalled(let gate, let count): (AFTS_STALLED, UInt64(clamping: count), gate)
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

    /// Where the time limits of waits pass.
    private static let limits = DispatchQueue(label: "AFTestServer.waits")

    /// Blocks the calling thread until a condition holds, in functions that aren't async.
    ///
    /// Nothing else runs on that thread meanwhile: on the main thread, neither the main actor nor the main queue. Async
    /// functions, and top-level code that has an `await`, use ``wait(for:timeout:)``.
    @available(*, noasync, message: "Use 'await wait(for:timeout:)', which blocks no thread.")
    public func waitBlocking(for condition: Condition, timeout: Duration = TestServer.patience) -> Bool {
        let (kind, count, subject) = condition.inC
        return afts_wait(pointer, kind, count, subject, Int32(clamping: timeout.wholeMilliseconds))
    }

    /// Suspends the calling task until a condition holds. If the task is cancelled first, the result is false.
    public func wait(for condition: Condition, timeout: Duration = TestServer.patience) async -> Bool {
        let (kind, count, subject) = condition.inC
        let end = WaitEnd()
        // No thread waits: the server reports the end from the thread that causes it. The pool has one thread for each
        // processor, so a few waits that blocked would stop all other tasks of a test.
        let watch = afts_watch_new(
            pointer, kind, count, subject,
            { end, holds in
                guard let end else { return }
                Unmanaged<WaitEnd>.fromOpaque(end).takeUnretainedValue().end(with: holds)
            }, Unmanaged.passUnretained(end).toOpaque())
        // Also what keeps `end` alive until the server no longer uses it.
        defer { withExtendedLifetime(end) { afts_watch_free(pointer, watch) } }
        if watch == nil { end.end(with: false) }
        Self.limits.asyncAfter(deadline: .now() + .milliseconds(Int(timeout.wholeMilliseconds))) { [weak end] in
            end?.end(with: false)
        }
        return await withTaskCancellationHandler {
            await end.value
        } onCancel: {
            end.end(with: false)
        }
    }
}

/// How a wait ends. The first reason counts.
private final class WaitEnd: Sendable {
    /// What waits, as an object that an atomic can point to.
    private final class Waiter: Sendable {
        let continuation: CheckedContinuation<Bool, Never>

        init(_ continuation: CheckedContinuation<Bool, Never>) {
            self.continuation = continuation
        }
    }

    private static let waiting: UInt = 0
    private static let failed: UInt = 1
    private static let held: UInt = 2

    /// One of these, or the address of a waiter, of which it owns a reference.
    private let state = Atomic<UInt>(0)

    func end(with holds: Bool) {
        var known = state.load(ordering: .acquiring)
        while known != Self.failed, known != Self.held {
            let (isFirst, current) = state.compareExchange(
                expected: known, desired: holds ? Self.held : Self.failed, ordering: .acquiringAndReleasing)
            if isFirst {
                let waiter = UnsafeRawPointer(bitPattern: known).map { Unmanaged<Waiter>.fromOpaque($0) }
                waiter?.takeRetainedValue().continuation.resume(returning: holds)
                return
            }
            known = current
        }
    }

    var value: Bool {
        get async {
            await withCheckedContinuation { continuation in
                let waiter = Unmanaged.passRetained(Waiter(continuation))
                let (isWaiting, current) = state.compareExchange(
                    expected: Self.waiting, desired: UInt(bitPattern: waiter.toOpaque()),
                    ordering: .acquiringAndReleasing)
                guard !isWaiting else { return }
                waiter.release()
                continuation.resume(returning: current == Self.held)
            }
        }
    }
}
