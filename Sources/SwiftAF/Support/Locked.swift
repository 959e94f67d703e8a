import Synchronization

/// A value protected by a `Mutex`, with annotations for ThreadSanitizer.
///
/// On Linux, `Mutex` locks in a library that isn't instrumented, so ThreadSanitizer would report every protected access
/// as a race. An atomic variable shows it the same ordering, at the cost of two memory accesses, which are plain moves
/// on x86-64.
package struct Locked<Value>: ~Copyable {
    private let mutex: Mutex<Value>
    private let fence = ThreadSanitizerFence()

    package init(_ value: consuming sending Value) {
        mutex = Mutex(value)
    }

    /// Calls `body` with exclusive access to the value.
    package borrowing func withLock<Result, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try mutex.withLock { value throws(Failure) in
            fence.begin()
            defer { fence.end() }
            return try body(&value)
        }
    }

    /// Tells ThreadSanitizer that all earlier accesses to the value happen before what follows.
    ///
    /// Call it after a wait for a continuation. If a continuation is resumed before its task has suspended, the value
    /// is passed without an ordering that ThreadSanitizer can see.
    package borrowing func synchronizeContinuation() {
        fence.begin()
    }
}

extension Locked: Sendable {}

extension Locked where Value: Sendable {
    /// Replaces the value. Returns the former one, so that the caller releases it without the lock: its `deinit` may
    /// run any code.
    @discardableResult
    package borrowing func exchange(_ value: Value) -> Value {
        withLock { current in
            defer { current = value }
            return current
        }
    }
}

extension Locked {
    /// Replaces a part of the value, like ``exchange(_:)``.
    @discardableResult
    package borrowing func exchange<Part: Sendable>(
        _ part: any WritableKeyPath<Value, Part> & Sendable, _ new: Part
    ) -> Part {
        withLock { value in
            defer { value[keyPath: part] = new }
            return value[keyPath: part]
        }
    }
}

/// Tells ThreadSanitizer that what precedes ``end()`` on one thread happens before what follows ``begin()`` on another.
/// Not a lock: the caller must ensure that the two don't overlap.
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
