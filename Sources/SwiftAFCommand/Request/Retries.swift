import SwiftAF

extension Options {
    /// The policy of `--retry`; nil for a single attempt.
    var retryPolicy: RetryPolicy? {
        guard retries > 0 else { return nil }
        var policy = RetryPolicy(maximumRetries: retries)
        policy.errorCodes = [.connect, .connectionLost, .truncated, .timeout]
        policy.statusCodes = [429, 503]
        // Any Retry-After is accepted; --timeout is the limit.
        policy.maximumRetryAfter = .seconds(Int64.max)
        policy.budget = nil
        return policy
    }
}
