import FoundationEssentials

/// Adds a bearer token to requests and refreshes it when it is refused (RFC 6750).
///
/// ```swift
/// let bearer = BearerAuthenticator(for: "https://api.example.org", token: stored) { expired in
///     try await signIn.refreshedToken(after: expired)
/// }
/// manager.interceptors = [bearer]
/// ```
///
/// After a 401 for the current token, the token is refreshed and the request is retried with the new one. Concurrent
/// requests share one refresh; a request that fails after it uses the new token. If the refresh fails, all requests
/// that waited for it fail with ``SessionError/Code/authentication``, whose ``SessionError/underlying`` is the cause;
/// later requests try again. A ``RetryPolicy`` retries them if the cause is a ``SessionError`` that may be transient:
/// then the refresh runs again. The error has the 401 that the refresh was for, if there was one: its
/// ``SessionError/status``, head and body. Cancelling a request ends its wait, not the refresh. A request that is
/// refused causes at most two refreshes; then the 401 is the response. Requests with any method, POST included, are
/// retried if their bodies can be replayed, because a server refuses a request before it acts on it.
///
/// A request that accepts any stored response, with ``HTTPRequest/CachePolicy/returnCacheDataElseLoad`` or
/// ``HTTPRequest/CachePolicy/returnCacheDataDontLoad``, uses the current token even if it has expired, because
/// responses are stored for a token. If the request is then sent to the server, the token is refreshed after the 401.
/// Without a token, `returnCacheDataDontLoad` leaves the request unchanged.
///
/// The token is sent to the given origins only, also after redirects and if another interceptor changes the URL, and
/// never appears in descriptions. Requests with their own `Authorization` field, or with
/// ``HTTPHeaders/suppressDefault(_:)-(String)`` for it, aren't changed.
///
/// The refresh may use the same manager: until it returns, requests made in its task, in tasks that it creates and in
/// the handlers of their challenges aren't changed either. Capture the manager weakly there: it keeps its interceptors.
/// The refresh may also set ``token``, for instance to nil to sign out before it throws. The token that was set stays,
/// and the requests that wait use it, or fail if the refresh fails.
public final class BearerAuthenticator: RequestInterceptor, NonWrappingInterceptor, CredentialInterceptor {
    /// Returns a new token for one that was refused or has expired; the argument is nil if there was none.
    public typealias Refresh = @Sendable (BearerToken?) async throws -> BearerToken

    private struct RefreshRun {
        /// The generation of the token that is being refreshed.
        let generation: Int
        let task: Task<RefreshEnd, Never>
    }

    private enum RefreshEnd {
        case refreshed(BearerToken)
        /// The refresh failed, whether or not a token was set meanwhile.
        case failed(SessionError)
        /// The program has set another token, or nil, during the refresh, whose result is ignored.
        case superseded
    }

    private struct State {
        var bearer: BearerState
        var run: RefreshRun?
    }

    private let origins: Set<Origin>
    /// The first of the given URLs that is invalid, as printable text for the error; nil if all are valid.
    private let invalidOrigin: String?
    private let leeway: Duration?
    private let refresh: Refresh
    private let state: Locked<State>

    /// Creates an authenticator for the servers of `origins`.
    ///
    /// - Parameters:
    ///   - origins: URLs of the servers that get the token; only scheme, host and port are used. The default scheme is
    ///     https. If one isn't a valid URL, every request fails with ``SessionError/Code/invalidInput``.
    ///   - token: The first token; nil calls `refresh` before the first request.
    ///   - leeway: How long before its expiry a token is refreshed, while requests still use it. Nil refreshes after
    ///     the expiry. A token without ``BearerToken/expires`` is refreshed when it is refused.
    ///   - refresh: Called in a task of its own, never concurrently.
    public init(
        for origins: any URLConvertible..., token: BearerToken? = nil, refreshingBefore leeway: Duration? = nil,
        refresh: @escaping Refresh
    ) {
        let texts = origins.map(\.urlText)
        self.origins = Set(texts.compactMap(Self.origin))
        invalidOrigin = texts.first { Self.origin($0) == nil }.map { URLText($0).redacted }
        self.leeway = leeway
        self.refresh = refresh
        state = Locked(State(bearer: BearerState(token: token)))
    }

    /// The current token. Set it after signing in; set nil after signing out, and the next request refreshes it.
    public var token: BearerToken? {
        get { state.withLock { $0.bearer.token } }
        set { change { $0.bearer.set(newValue) } }
    }

    public func adapt(_ request: HTTPRequest, for attempt: RequestAttempt) async throws -> HTTPRequest {
        if let invalidOrigin {
            throw SessionError(
                .invalidInput,
                message:
                    "the bearer token's server \"\(invalidOrigin)\" isn't a URL such as https://api.example.org"
            )
        }
        let name = HTTPHeaders.Name.authorization
        guard isOurs(request), !request.headers.contains(named: name), !request.headers.isSuppressed(name) else {
            return request
        }
        let token: BearerToken
        switch await decide({ prepare($0, request.cachePolicy, attempt) }) {
        case .use(let current): token = current
        case .fail(let error): throw error
        case .ignore: return request
        }
        var request = request
        request.headers.set(name: name, value: Self.scheme + token.value, isSecret: true)
        return request
    }

    private func prepare(
        _ bearer: BearerState, _ policy: HTTPRequest.CachePolicy?, _ attempt: RequestAttempt
    ) -> BearerState.Step {
        switch policy {
        case .returnCacheDataDontLoad: bearer.prepareForCache(start: attempt.start, mayLoad: false)
        case .returnCacheDataElseLoad: bearer.prepareForCache(start: attempt.start, mayLoad: true)
        default: bearer.prepare(start: attempt.start, now: .now, leeway: leeway)
        }
    }

    public func retry(_ request: HTTPRequest, after outcome: AttemptOutcome) async -> RetryDecision {
        guard outcome.error == nil, outcome.status == 401, isOurs(request), isFromSameOrigin(outcome, of: request),
            outcome.attempt.earlierStatuses.count(where: { $0 == 401 }) < 2,
            let value = request.headers.first(named: .authorization), value.hasPrefix(Self.scheme)
        else { return .doNotRetry }
        let refused = String(value.dropFirst(Self.scheme.count))
        let step: (BearerState) -> BearerState.Step = { $0.decide(refused: refused, start: outcome.attempt.start) }
        // Releases a refused stream before the wait: a refresh over the same manager may need its connection.
        switch await decide(step, willWait: { outcome.release?() }) {
        case .use: return .retry
        case .fail(let error): return .fail(error.adding(outcome))
        case .ignore: return .doNotRetry
        }
    }

    func mayKeep(_ field: HTTPHeaders.Field, for origin: Origin) -> Bool {
        guard origins.contains(origin), field.isNamed(.authorization), field.value.hasPrefix(Self.scheme) else {
            return false
        }
        let value = String(field.value.dropFirst(Self.scheme.count))
        return state.withLock { $0.bearer.knows(value) }
    }

    private static let scheme = "Bearer "

    /// The number of refreshes that a request waits for before one attempt: one of a former token, and one of its own.
    private static let maximumRefreshes = 2

    /// Returns the origin of a URL, or of a host without a scheme, which may have a port and a path.
    private static func origin(_ text: String) -> Origin? {
        // A text such as "host:8443" has no scheme. "http:/host" is a mistyped URL, which must not be read as a host.
        let isURL = text.contains("//") || ["http:/", "https:/"].contains { ASCII.lowercased(text).hasPrefix($0) }
        return Origin(isURL ? text : "https://" + text)
    }

    private func isOurs(_ request: HTTPRequest) -> Bool {
        guard !RefreshScope.current.isPart(of: self) else { return false }
        return Origin(request.url).map(origins.contains) ?? false
    }

    /// Whether the response is from the server that the token was sent to, not from a redirect's target.
    private func isFromSameOrigin(_ outcome: AttemptOutcome, of request: HTTPRequest) -> Bool {
        guard let url = outcome.response?.url, let answered = Origin(url) else { return false }
        return answered == Origin(request.url)
    }

    /// Returns the decision about a request, after the refresh that it needs, if any: the running one, or a new one. If
    /// the token was replaced during the refresh, such as by another user's, decides again. The number of refreshes is
    /// limited, however often the program changes the token.
    ///
    /// - Parameter willWait: Called before each wait for a refresh.
    private func decide(
        _ ask: (BearerState) -> BearerState.Step, willWait: () -> Void = {}
    ) async -> Decision {
        for _ in 0..<Self.maximumRefreshes {
            let (step, run, isOutdated) = decideOnce(ask)
            switch step {
            case .use(let token), .useAndRefresh(let token): return .use(token)
            case .fail(let error): return .fail(error)
            case .ignore: return .ignore
            case .refresh: break
            }
            guard let run else { return .ignore }
            willWait()
            let end = await run.task.value
            // The request was cancelled, so no refresh is started for it.
            guard !Task.isCancelled else { return .fail(SessionError(.cancelled)) }
            switch end {
            case .refreshed(let token) where !isOutdated: return .use(token)
            case .failed(let error) where !isOutdated: return decideWithoutRefresh(ask, or: error)
            case .refreshed, .failed, .superseded: break
            }
        }
        return decideWithoutRefresh(
            ask, or: SessionError(.authentication, message: "the bearer token was removed while it was refreshed"))
    }

    /// Returns the decision about a request that must not wait for another refresh: use the token that was set
    /// meanwhile, or fail.
    private func decideWithoutRefresh(_ ask: (BearerState) -> BearerState.Step, or error: SessionError) -> Decision {
        switch state.withLock({ ask($0.bearer) }) {
        case .use(let token), .useAndRefresh(let token): .use(token)
        case .fail(let error): .fail(error)
        case .ignore: .ignore
        case .refresh: .fail(error)
        }
    }

    private enum Decision {
        case use(BearerToken)
        case fail(SessionError)
        case ignore
    }

    /// Decides, and starts a refresh if one is needed, under one lock, so that a refresh that has just ended isn't
    /// repeated.
    private func decideOnce(
        _ ask: (BearerState) -> BearerState.Step
    ) -> (step: BearerState.Step, run: RefreshRun?, isOutdated: Bool) {
        state.withLock { state in
            let step = ask(state.bearer)
            switch step {
            case .use, .fail, .ignore: return (step, nil, false)
            case .useAndRefresh, .refresh: break
            }
            let (token, generation) = (state.bearer.token, state.bearer.generation)
            let run =
                state.run
                ?? RefreshRun(generation: generation, task: Task { await self.performRefresh(from: token, generation) })
            state.run = run
            return (step, run, run.generation != generation)
        }
    }

    /// Changes the state under the lock. The former values, such as an error of the program's refresh, are released
    /// without the lock.
    private func change<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        state.withLock { state in
            let former = state
            return (body(&state), former)
        }.0
    }

    private func performRefresh(from token: BearerToken?, _ generation: Int) async -> RefreshEnd {
        let run = RefreshScope.Run(of: self)
        let scope = RefreshScope.current.adding(run)
        let result: Result<BearerToken, SessionError>
        do {
            result = .success(try await RefreshScope.$current.withValue(scope) { try await refresh(token) })
        } catch {
            result = .failure(
                SessionError(
                    .authentication, message: "the bearer token could not be refreshed", underlying: error))
        }
        run.end()
        return change { state in
            let isCurrent = state.bearer.finish(result, from: generation, at: .now)
            state.run = nil
            return switch result {
            case .success(let token): isCurrent ? .refreshed(token) : .superseded
            case .failure(let error): .failed(error)
            }
        }
    }
}

extension SessionError {
    /// Returns the error of a failed refresh, with the 401 that it was for.
    fileprivate func adding(_ outcome: AttemptOutcome) -> SessionError {
        guard code == .authentication, response == nil else { return self }
        var error = self
        error.response = outcome.response
        // The body of a stream's or a handshake's response wasn't collected.
        error.body = outcome.body.isEmpty ? nil : outcome.body
        return error
    }
}
