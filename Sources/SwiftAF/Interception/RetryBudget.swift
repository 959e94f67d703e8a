/// Keeps repeats from multiplying the load of servers that are in trouble: a bucket of tokens that each new request
/// fills a little and each repeat takes one from. Any thread may use it.
///
/// While requests succeed there is always a token. When they all fail, at most one request in five is repeated, once
/// what was saved is spent.
public final class RetryBudget: Sendable {
    private let bucket: Locked<TokenBucket>

    /// Makes a full bucket.
    ///
    /// - Parameters:
    ///   - capacity: The most tokens that are saved.
    ///   - tokensPerRequest: What a new request adds, from 0 to 1.
    public init(capacity: Int = 10, tokensPerRequest: Double = 0.2) {
        bucket = Locked(TokenBucket(capacity: capacity, refill: tokensPerRequest))
    }

    /// Repeats that there is a token for now.
    public var available: Int { bucket.withLock { $0.available } }

    /// A request is sent for the first time.
    public func deposit() {
        bucket.withLock { $0.deposit() }
    }

    /// Takes a token for a repeat; false if there is none.
    public func withdraw() -> Bool {
        bucket.withLock { $0.withdraw() }
    }
}

/// The tokens, counted in thousandths so that many small parts make exactly a whole. A value.
struct TokenBucket {
    private static let whole = 1000
    private let capacity: Int
    private let refill: Int
    private var tokens: Int

    init(capacity: Int, refill: Double) {
        self.capacity = min(1_000_000, max(0, capacity)) * Self.whole
        self.refill = Int((min(1, max(0, refill)) * Double(Self.whole)).rounded())
        tokens = self.capacity
    }

    var available: Int { tokens / Self.whole }

    mutating func deposit() {
        tokens = min(capacity, tokens + refill)
    }

    mutating func withdraw() -> Bool {
        guard tokens >= Self.whole else { return false }
        tokens -= Self.whole
        return true
    }
}
