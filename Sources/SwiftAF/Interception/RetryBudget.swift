/// Caps retries relative to new requests (a token bucket), so that retries don't multiply the load of failing servers.
/// May be used from any thread.
///
/// Each new request adds a part of a token, each retry takes one. If all requests fail, at most one in five is retried
/// once the saved tokens are spent.
public final class RetryBudget: Sendable {
    private let bucket: Locked<TokenBucket>

    /// Makes a full bucket.
    ///
    /// - Parameters:
    ///   - capacity: The maximum number of saved tokens.
    ///   - tokensPerRequest: The part of a token that a new request adds, from 0 to 1.
    public init(capacity: Int = 10, tokensPerRequest: Double = 0.2) {
        bucket = Locked(TokenBucket(capacity: capacity, refill: tokensPerRequest))
    }

    /// The number of retries available now.
    public var available: Int { bucket.withLock { $0.available } }

    /// Records a new request.
    public func deposit() {
        bucket.withLock { $0.deposit() }
    }

    /// Takes a token for a retry; returns false if there is none.
    public func withdraw() -> Bool {
        bucket.withLock { $0.withdraw() }
    }
}

/// The tokens, in thousandths, so that parts add up exactly.
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
