/// The growing array of tokens of a text that is being parsed.
struct TokenStack: ~Copyable {
    /// Memory for `capacity` tokens, of which `count` are used.
    private(set) var base: UnsafeMutablePointer<JSONToken>
    private var capacity: Int
    private(set) var count = 0

    /// - Parameter capacity: At least 1.
    init(capacity: Int) {
        self.capacity = capacity
        base = .allocate(capacity: capacity)
    }

    deinit {
        base.deallocate()
    }

    @inline(__always)
    mutating func push(_ token: JSONToken) {
        if count == capacity { grow() }
        (base + count).initialize(to: token)
        count += 1
    }

    /// Replaces a token that was pushed.
    @inline(__always)
    func replace(at position: Int, with token: JSONToken) {
        assert(position >= 0 && position < count)
        base[position] = token
    }

    /// Passes ownership of the tokens to a tape.
    consuming func tape(of text: UnsafePointer<UInt8>, size: Int) -> JSONTape {
        let tape = JSONTape(text: text, size: size, tokens: base, count: count)
        discard self
        return tape
    }

    private mutating func grow() {
        let larger = UnsafeMutablePointer<JSONToken>.allocate(capacity: capacity * 2)
        larger.moveInitialize(from: base, count: count)
        base.deallocate()
        base = larger
        capacity *= 2
    }
}
