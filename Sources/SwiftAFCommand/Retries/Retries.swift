import SwiftAF

extension Options {
    /// The policy of `--retry`; nil for a single attempt.
    var retryPolicy: RetryPolicy? {
        guard retries > 0 else { return nil }
        var policy = RetryPolicy(maximumRetries: retries)
        // The errors are those that the library retries; of the status codes, these.
        policy.statusCodes = [429, 503]
        // Any Retry-After is accepted; --timeout is the limit.
        policy.maximumRetryAfter = .seconds(Int64.max)
        policy.budget = nil
        return policy
    }
}
