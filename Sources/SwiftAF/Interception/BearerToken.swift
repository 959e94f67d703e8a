public import FoundationEssentials

/// A bearer token (RFC 6750).
public struct BearerToken: Hashable, Sendable {
    /// The token itself.
    public var value: String
    /// The expiry date; nil if unknown.
    public var expires: Date?

    /// Creates a token. It isn't used after `expires`; nil if its expiry is unknown.
    public init(_ value: String, expires: Date? = nil) {
        self.value = value
        self.expires = expires
    }

    /// Creates a token that isn't used after a duration from now, such as the `expires_in` of an OAuth 2.0 response.
    public init(_ value: String, expiresIn duration: Duration) {
        self.init(value, expires: Date(timeIntervalSinceNow: duration / .seconds(1)))
    }
}

extension BearerToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A constant text, without the token.
    public var description: String { "a bearer token" }

    public var debugDescription: String { description }

    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Decides which token a request uses, and when a token is refreshed. Changes only itself.
struct BearerState: Sendable {
    /// The next step of a request.
    enum Step: Sendable {
        /// Send with this token.
        case use(BearerToken)
        /// Send with this token, and start a refresh without waiting for it.
        case useAndRefresh(BearerToken)
        /// Wait for the running refresh, or start one.
        case refresh
        /// A refresh for the same reason has just failed.
        case fail(SessionError)
        /// Leave the request unchanged.
        case ignore
    }

    private struct Failure: Sendable {
        let token: BearerToken?
        let moment: ContinuousClock.Instant
        let error: SessionError
    }

    /// The number of former tokens that are remembered, to recognise requests that were sent with one of them.
    private static let memory = 16

    /// The time after a failed refresh before the next one, for a token that expires soon but is still valid.
    private static let earlyRefreshPause = Duration.seconds(10)

    private(set) var token: BearerToken?
    /// Incremented with each change of the token, so that a refresh can tell whether it was set meanwhile.
    private(set) var generation = 0
    private var former: [String] = []
    private var failure: Failure?

    init(token: BearerToken?) {
        self.token = token
    }

    /// Sets the token.
    mutating func set(_ token: BearerToken?) {
        if let value = self.token?.value {
            former.append(value)
            if former.count > Self.memory { former.removeFirst() }
        }
        self.token = token
        generation += 1
        failure = nil
    }

    /// Returns whether this is the current token, or a recent one.
    func knows(_ value: String) -> Bool { token?.value == value || former.contains(value) }

    /// Decides before an attempt that began at `start`.
    func prepare(start: ContinuousClock.Instant, now: Date, leeway: Duration?) -> Step {
        guard let token else { return refresh(start) }
        guard let expires = token.expires else { return .use(token) }
        if expires <= now { return refresh(start) }
        let isNear = leeway.map { expires.timeIntervalSince(now) <= $0 / .seconds(1) } ?? false
        return isNear && !hasJustFailed(start) ? .useAndRefresh(token) : .use(token)
    }

    /// Decides before an attempt whose response may be a stored one of any age. Responses are stored for a token, so an
    /// expired token is used, too.
    ///
    /// - Parameter mayLoad: Whether the request is sent if no response is stored. The server then refuses an expired
    ///   token.
    func prepareForCache(start: ContinuousClock.Instant, mayLoad: Bool) -> Step {
        if let token { return .use(token) }
        return mayLoad ? refresh(start) : .ignore
    }

    /// Decides after an attempt that began at `start` and whose token was refused.
    func decide(refused value: String, start: ContinuousClock.Instant) -> Step {
        guard let token else { return knows(value) ? refresh(start) : .ignore }
        if token.value == value { return refresh(start) }
        return knows(value) ? .use(token) : .ignore
    }

    /// Ends the refresh that began in a generation.
    ///
    /// - Returns: False if the token was set meanwhile, so that the result is ignored.
    @discardableResult
    mutating func finish(
        _ result: Result<BearerToken, SessionError>, from generation: Int, at moment: ContinuousClock.Instant
    ) -> Bool {
        // The program has set another token meanwhile, or nil to sign out. Both are newer than the result.
        guard self.generation == generation else { return false }
        switch result {
        case .success(let new): set(new)
        case .failure(let error): failure = Failure(token: token, moment: moment, error: error)
        }
        return true
    }

    /// Whether the refresh of this token failed a moment ago.
    private func hasJustFailed(_ start: ContinuousClock.Instant) -> Bool {
        guard let failure, failure.token == token else { return false }
        return start < failure.moment.advanced(by: Self.earlyRefreshPause)
    }

    /// Returns the step of a request that needs a refresh. Requests that were under way when a refresh failed get its
    /// error; later ones start another refresh.
    private func refresh(_ start: ContinuousClock.Instant) -> Step {
        if let failure, failure.token == token, start <= failure.moment { return .fail(failure.error) }
        return .refresh
    }
}
