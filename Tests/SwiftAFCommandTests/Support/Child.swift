import Dispatch
import Glibc
import SwiftAF

/// Does something that blocks on a thread of its own, and suspends the task meanwhile. The pool of threads has one for
/// each processor, and tests run on it, too.
func onOwnThread<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
        // A queue that nothing else uses has a thread whenever it has work.
        DispatchQueue(label: "blocked").async { continuation.resume(returning: work()) }
    }
}

/// A process that a test has started. It ends with its last reference at the latest, also if the test failed before it
/// waited for the process.
final class Child: Sendable {
    let identifier: pid_t
    /// What waitpid() said; nil before.
    private let status = Locked<Int32?>(nil)

    init(_ identifier: pid_t) {
        self.identifier = identifier
    }

    deinit {
        guard status.withLock({ $0 == nil }) else { return }
        kill(identifier, SIGKILL)
        _ = Self.wait(identifier)
    }

    func send(_ signal: Int32) {
        kill(identifier, signal)
    }

    /// Returns when the process has stopped.
    func waitForStop() async {
        await onOwnThread {
            var status: Int32 = 0
            while waitpid(self.identifier, &status, WUNTRACED) < 0, errno == EINTR {}
        }
    }

    /// The exit status; nil if a signal ended it.
    func wait() async -> Int32? {
        let status = await onOwnThread {
            self.status.withLock { status -> Int32 in
                let known = status ?? Self.wait(self.identifier)
                status = known
                return known
            }
        }
        return status & 0x7F == 0 ? status >> 8 & 0xFF : nil
    }

    private static func wait(_ identifier: pid_t) -> Int32 {
        var status: Int32 = 0
        while waitpid(identifier, &status, 0) < 0, errno == EINTR {}
        return status
    }
}
