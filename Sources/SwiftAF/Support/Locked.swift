import Synchronization

/// A value behind a lock: `Mutex`, made visible to ThreadSanitizer.
///
/// On Linux `Mutex` locks inside a library that the sanitizer does not see into, and every access behind it would be
/// reported as a race. The atomic says the same once more where it is seen. It costs two plain moves.
package struct Locked<Value>: ~Copyable {
    private let mutex: Mutex<Value>
    private let fence = ThreadSanitizerFence()

    package init(_ value: consuming sending Value) {
        mutex = Mutex(value)
    }

    /// Calls `body` with the value while nobody else has it.
    package borrowing func withLock<Result, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try mutex.withLock { value throws(Failure) in
            fence.begin()
            defer { fence.end() }
            return try body(&value)
        }
    }
}

extension Locked: Sendable {}

/// Orders what comes after ``begin()`` behind what came before ``end()`` on another thread. It is no lock: something
/// else must see to it that the two don't overlap.
package struct ThreadSanitizerFence: ~Copyable, Sendable {
    private let mark = Atomic<UInt8>(0)

    package init() {}

    package borrowing func begin() {
        _ = mark.load(ordering: .acquiring)
    }

    package borrowing func end() {
        mark.store(0, ordering: .releasing)
    }
}
