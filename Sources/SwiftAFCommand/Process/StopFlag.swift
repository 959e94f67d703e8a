import SwiftAF

/// Whether a run was stopped, by a signal or by cancelling its task. Can be read on any thread.
final class StopFlag: Sendable {
    private let state = Locked(false)

    var isSet: Bool { state.withLock { $0 } }

    func set() {
        state.withLock { $0 = true }
    }
}
