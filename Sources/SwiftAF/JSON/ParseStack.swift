/// A growing array whose tail can be moved out without copying.
struct ParseStack<Element>: ~Copyable {
    private var base: UnsafeMutablePointer<Element>
    private var capacity: Int
    private(set) var count = 0

    init() {
        capacity = 32
        base = .allocate(capacity: capacity)
    }

    deinit {
        base.deinitialize(count: count)
        base.deallocate()
    }

    @inline(__always)
    mutating func push(_ element: consuming Element) {
        if count == capacity { grow() }
        (base + count).initialize(to: element)
        count += 1
    }

    /// Removes and returns the elements from `start` on.
    mutating func popAll(from start: Int) -> [Element] {
        let source = base + start
        let popped = count - start
        count = start
        return Array(unsafeUninitializedCapacity: popped) { buffer, initialized in
            buffer.baseAddress?.moveInitialize(from: source, count: popped)
            initialized = popped
        }
    }

    private mutating func grow() {
        let larger = UnsafeMutablePointer<Element>.allocate(capacity: capacity * 2)
        larger.moveInitialize(from: base, count: count)
        base.deallocate()
        base = larger
        capacity *= 2
    }
}
