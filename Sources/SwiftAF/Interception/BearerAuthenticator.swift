import FoundationEssentials

/// Puts a bearer token into requests and gets another one when it is refused.
///
/// ```swift
/// manager.interceptor = BearerAuthenticator(for: "https://api.example.org", token: stored) { expired in
///     try await signIn.refreshedToken(after: expired)
/// }
/// ```
///
/// When a 401 comes for the current token, the token is refreshed, and the request is sent again with the new one.
/// However many requests are refused at once, there is one refresh; those that come back after it only take the new
/// token. A refresh that fails is the error of all that waited for it, ``SessionError/Code/authentication`` with the
/// cause as its ``SessionError/underlying``; later requests try again. Cancelling a request ends its wait and not the
/// refresh, which the others wait for. A request is refreshed for twice at most; then the 401 stands.
///
/// The token goes to the given origins and nowhere else, also after redirects, and it is in no description. Requests that
/// have an `Authorization` of their own, or have it removed (``HTTPHeaders/removeDefault(_:)``), are left alone.
///
/// The refresh may use the same manager: what it sends, in its task or children of that, is left alone too.
public final class BearerAuthenticator: RequestInterceptor {
    /// Gives a token for one that was refused or has expired; nil if there was none yet.
    public typealias Refresh = @Sendable (BearerToken?) async throws -> BearerToken

    /// Whose refresh a task works for.
    @TaskLocal private static var refreshing: Set<ObjectIdentifier> = []

    private typealias Flight = Task<Result<BearerToken, SessionError>, Never>

    private struct State {
        var bearer: BearerState
        var flight: Flight?
    }

    private let origins: Set<Origin>
    private let leeway: Duration?
    private let refresh: Refresh
    private let state: Locked<State>

    /// - Parameters:
    ///   - origins: Scheme, host and port of the servers that get the token; more of a URL doesn't count.
    ///   - token: Nil to get the first one by a refresh, before the first request is sent.
    ///   - leeway: How long before it expires a token is refreshed, beside the requests that still use it. Nil to wait
    ///     until it has expired. One without ``BearerToken/expires`` is refreshed when it is refused.
    ///   - refresh: Called once at a time, in a task of its own.
    public init(
        for origins: String..., token: BearerToken? = nil, refreshingBefore leeway: Duration? = nil,
        refresh: @escaping Refresh
    ) {
        self.origins = Set(origins.compactMap(Origin.init))
        self.leeway = leeway
        self.refresh = refresh
        state = Locked(State(bearer: BearerState(token: token)))
    }

    /// The token of requests that are sent now. Set it after signing in; nil after signing out, which means that the
    /// next request asks for one.
    public var token: BearerToken? {
        get { state.withLock { $0.bearer.token } }
        set { state.withLock { $0.bearer.set(newValue) } }
    }

    public func adapt(_ request: HTTPRequest, for attempt: RequestAttempt) async throws -> HTTPRequest {
        let name = HTTPHeaders.Name.authorization
        guard isOurs(request), !request.headers.contains(name), !request.headers.removesDefault(name) else {
            return request
        }
        let (step, flight) = decide { $0.prepare(start: attempt.start, now: .now, leeway: leeway) }
        let token: BearerToken
        switch step {
        case .use(let current), .useAndRefresh(let current): token = current
        case .refresh:
            guard let new = try await flight?.value.get() else { return request }
            token = new
        case .fail(let error): throw error
        case .ignore: return request
        }
        var request = request
        request.headers.set(name: name, value: Self.scheme + token.value, secret: true)
        return request
    }

    public func retry(_ request: HTTPRequest, after outcome: AttemptOutcome) async -> RetryDecision {
        guard outcome.error == nil, outcome.status == 401, isOurs(request), isFirstHand(outcome, of: request),
            outcome.attempt.earlierStatuses.count(where: { $0 == 401 }) < 2,
            let value = request.headers.first(HTTPHeaders.Name.authorization), value.hasPrefix(Self.scheme)
        else { return .doNotRetry }
        let refused = String(value.dropFirst(Self.scheme.count))
        let (step, flight) = decide { $0.judge(refused: refused, start: outcome.attempt.start) }
        switch step {
        case .use, .useAndRefresh: return .retry
        case .fail(let error): return .fail(with: error)
        case .ignore: return .doNotRetry
        case .refresh:
            guard case .failure(let error)? = await flight?.value else { return .retry }
            return .fail(with: error)
        }
    }

    private static let scheme = "Bearer "

    private func isOurs(_ request: HTTPRequest) -> Bool {
        guard !Self.refreshing.contains(ObjectIdentifier(self)) else { return false }
        return Origin(request.url).map(origins.contains) ?? false
    }

    /// Whether the answer is from where the token was sent to, and not from where a redirect led.
    private func isFirstHand(_ outcome: AttemptOutcome, of request: HTTPRequest) -> Bool {
        guard let url = outcome.response?.url, let answered = Origin(url) else { return false }
        return answered == Origin(request.url)
    }

    /// A step, and the refresh that it takes: the one under way, or a new one. Both under one lock, so that nobody starts
    /// a second refresh for what the first has just settled.
    private func decide(_ ask: (BearerState) -> BearerState.Step) -> (BearerState.Step, Flight?) {
        state.withLock { state in
            let step = ask(state.bearer)
            switch step {
            case .use, .fail, .ignore: return (step, nil)
            case .useAndRefresh, .refresh: break
            }
            let token = state.bearer.token
            let flight = state.flight ?? Task { await self.fly(from: token) }
            state.flight = flight
            return (step, flight)
        }
    }

    private func fly(from token: BearerToken?) async -> Result<BearerToken, SessionError> {
        let own = Self.refreshing.union([ObjectIdentifier(self)])
        let result: Result<BearerToken, SessionError>
        do {
            result = .success(try await Self.$refreshing.withValue(own) { try await refresh(token) })
        } catch {
            result = .failure(
                SessionError(
                    .authentication, message: "the bearer token could not be refreshed", underlying: error))
        }
        state.withLock { state in
            state.bearer.finish(result, from: token, at: .now)
            state.flight = nil
        }
        return result
    }
}
