/// Caps retries relative to new requests (a token bucket for each origin), so that retries don't multiply the load of
/// failing servers. May be used from any thread.
///
/// Each new request adds a part of a token to the bucket of its origin (scheme, host and port), each retry takes one.
/// If all requests to an origin fail, at most one in five is retried once the saved tokens are spent. Other origins
/// have buckets of their own.
public final class RetryBudget: Sendable {
    /// The maximum number of origins whose spent tokens are counted.
    private static let originLimit = 4096

    private let full: TokenBucket
    /// The buckets that aren't full. Nil is the origin of requests without an absolute URL.
    private let buckets = Locked<[Origin?: TokenBucket]>([:])

    /// Creates a budget whose buckets are full.
    ///
    /// - Parameters:
    ///   - capacity: The maximum number of saved tokens for each origin.
    ///   - tokensPerRequest: The part of a token that a new request adds, from 0 to 1.
    public init(capacity: Int = 10, tokensPerRequest: Double = 0.2) {
        full = TokenBucket(capacity: capacity, refill: tokensPerRequest)
    }

    /// The number of retries of requests like this one that are available now.
    public func available(for request: HTTPRequest) -> Int {
        let origin = Origin(request.url)
        return buckets.withLock { ($0[origin] ?? full).available }
    }

    /// Records a new request.
    public func deposit(for request: HTTPRequest) {
        // Most of the time no server fails: then the URL need not be parsed.
        guard buckets.withLock({ !$0.isEmpty }) else { return }
        let origin = Origin(request.url)
        buckets.withLock { buckets in
            guard var bucket = buckets[origin] else { return }
            bucket.deposit()
            buckets[origin] = bucket.isFull ? nil : bucket
        }
    }

    /// Takes a token for a retry; returns false if no token is left.
    public func withdraw(for request: HTTPRequest) -> Bool {
        let origin = Origin(request.url)
        return buckets.withLock { buckets in
            var bucket = buckets[origin] ?? full
            guard bucket.withdraw() else { return false }
            if buckets.count >= Self.originLimit, buckets[origin] == nil {
                // The fullest bucket is dropped, because forgetting it changes the least.
                if let fullest = buckets.max(by: { $0.value < $1.value }) { buckets[fullest.key] = nil }
            }
            buckets[origin] = bucket
            return true
        }
    }
}

/// The tokens, in thousandths, so that parts add up exactly.
struct TokenBucket: Comparable {
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

    var isFull: Bool { tokens == capacity }

    static func < (left: TokenBucket, right: TokenBucket) -> Bool { left.tokens < right.tokens }

    mutating func deposit() {
        tokens = min(capacity, tokens + refill)
    }

    mutating func withdraw() -> Bool {
        guard tokens >= Self.whole else { return false }
        tokens -= Self.whole
        return true
    }
}
