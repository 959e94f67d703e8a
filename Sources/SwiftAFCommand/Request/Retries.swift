import SwiftAF

extension Options {
    /// What `--retry` means; nil for one attempt.
    var retryPolicy: RetryPolicy? {
        guard retries > 0 else { return nil }
        var policy = RetryPolicy(maximumRetries: retries)
        policy.errorCodes = [.connect, .connectionLost, .truncated, .timeout]
        policy.statuses = [429, 503]
        // One person waits for one request, however long the server asks for; --timeout is the limit.
        policy.maximumRetryAfter = .seconds(Int64.max)
        policy.budget = nil
        return policy
    }
}
