public import FoundationEssentials

/// What `Authorization: Bearer` carries (RFC 6750).
public struct BearerToken: Hashable, Sendable {
    /// The token itself.
    public var value: String
    /// When it ceases to be good; nil if that is not known.
    public var expires: Date?

    public init(_ value: String, expires: Date? = nil) {
        self.value = value
        self.expires = expires
    }
}

extension BearerToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Never the token.
    public var description: String { "a bearer token" }

    public var debugDescription: String { description }

    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Which token goes for requests, and who refreshes it: a value without effects.
struct BearerState: Sendable {
    /// What a request does about its token.
    enum Step: Sendable {
        /// Go on, with this one.
        case use(BearerToken)
        /// Go on with this one, and start a refresh that nobody waits for.
        case useAndRefresh(BearerToken)
        /// Wait for the refresh under way, or start one.
        case refresh
        /// One has just failed, for the same reason that asks for one now.
        case fail(SessionError)
        /// It is none of our business.
        case ignore
    }

    private struct Failure: Sendable {
        let token: BearerToken?
        let moment: ContinuousClock.Instant
        let error: SessionError
    }

    /// Former tokens are remembered, so that a request which still carries one is known to be ours.
    private static let memory = 16

    private(set) var token: BearerToken?
    private var former: [String] = []
    private var failure: Failure?

    init(token: BearerToken?) {
        self.token = token
    }

    /// Another token goes from now on.
    mutating func set(_ token: BearerToken?) {
        if let value = self.token?.value {
            former.append(value)
            if former.count > Self.memory { former.removeFirst() }
        }
        self.token = token
        failure = nil
    }

    /// Before an attempt that began at `start`.
    func prepare(start: ContinuousClock.Instant, now: Date, leeway: Duration?) -> Step {
        guard let token else { return refresh(start) }
        guard let expires = token.expires else { return .use(token) }
        if expires <= now { return refresh(start) }
        let isNear = leeway.map { Duration.seconds(expires.timeIntervalSince(now)) <= $0 } ?? false
        return isNear ? .useAndRefresh(token) : .use(token)
    }

    /// After an attempt that began at `start` with a token that was refused.
    func judge(refused value: String, start: ContinuousClock.Instant) -> Step {
        guard let token else { return former.contains(value) ? refresh(start) : .ignore }
        if token.value == value { return refresh(start) }
        return former.contains(value) ? .use(token) : .ignore
    }

    /// The refresh that began from `token` is over.
    mutating func finish(
        _ result: Result<BearerToken, SessionError>, from token: BearerToken?, at moment: ContinuousClock.Instant
    ) {
        // One that was set meanwhile is newer than what was asked for before.
        guard self.token == token else { return }
        switch result {
        case .success(let new): set(new)
        case .failure(let error): failure = Failure(token: token, moment: moment, error: error)
        }
    }

    /// Who was on the way when a refresh failed shares its failure; who comes later tries anew.
    private func refresh(_ start: ContinuousClock.Instant) -> Step {
        if let failure, failure.token == token, start <= failure.moment { return .fail(failure.error) }
        return .refresh
    }
}
