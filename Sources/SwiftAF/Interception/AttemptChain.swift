import FoundationEssentials

/// One attempt: calls its interceptors, one around the other, and sends a transfer each time the innermost one calls
/// `next`.
final class AttemptChain: Sendable {
    private struct State {
        /// The request to send next. For a download it resumes the partial file that an earlier transfer has kept.
        var request: CoreRequest
        /// The last request that was sent.
        var sent: HTTPRequest?
        /// The outcome of the last transfer.
        var last: CoreOutcome?
    }

    private let loop: RetryLoop
    private let interceptors: [any RequestInterceptor]
    private let attempt: RequestAttempt
    private let events: RequestEvents?
    private let send: RetryLoop.Send
    private let sink: CoreRequest.Sink
    private let state: Locked<State>

    /// - Parameter send: Performs one transfer.
    init(
        _ loop: RetryLoop, _ interceptors: [any RequestInterceptor], _ request: CoreRequest, _ attempt: RequestAttempt,
        _ events: RequestEvents?, _ send: @escaping RetryLoop.Send
    ) {
        self.loop = loop
        self.interceptors = interceptors
        self.attempt = attempt
        self.events = events
        self.send = send
        sink = request.sink
        state = Locked(State(request: request))
    }

    /// The last request that was sent; nil before the first one.
    var sent: HTTPRequest? { state.withLock { $0.sent } }

    func run(_ request: HTTPRequest) async -> CoreOutcome {
        do throws(SessionError) {
            var response = try await intercept(request, from: 0)
            if response.head.url.isEmpty { response.head.url = request.url }
            return outcome(of: response)
        } catch {
            return outcome(of: error)
        }
    }

    /// Calls the interceptor with this index; after the last one, sends the request.
    func intercept(_ request: HTTPRequest, from index: Int) async throws(SessionError) -> Response<Data> {
        var index = index
        // The type is cast, not the value, because a cast of the value would copy it to the heap.
        while index < interceptors.count, type(of: interceptors[index]) is any NonWrappingInterceptor.Type {
            index += 1
        }
        guard index < interceptors.count else { return try await transfer(request) }
        do {
            let next = RequestSender(attempt: attempt, step: .chain(self, index: index + 1, given: request))
            return try await interceptors[index].intercept(request, next: next)
        } catch {
            throw SessionError(intercepting: error, url: request.url)
        }
    }

    /// Returns the request that an interceptor passes to `next`. If it has another origin than the request that the
    /// interceptor was given, secrets of the latter are removed: the outer interceptors have added theirs for the
    /// former origin.
    func safe(_ request: HTTPRequest, madeFrom given: HTTPRequest) -> HTTPRequest {
        var request = request
        request.dropSecrets(of: given, interceptors)
        return request
    }

    // `begin` and `end` aren't async, so that their values aren't in the frame that lives while the task waits for the
    // transfer.
    private func transfer(_ http: HTTPRequest) async throws(SessionError) -> Response<Data> {
        try await loop.waitUntilResumed(http.url, attempt.number)
        let request = try begin(http)
        return try end(request.http, await send(request, loop))
    }

    /// Announces a transfer to the loop and to monitors, and returns its request.
    @inline(never)
    private func begin(_ http: HTTPRequest) throws(SessionError) -> CoreRequest {
        let (prepared, last) = state.withLock { ($0.request, $0.last) }
        var http = http
        if let deadline = attempt.deadline {
            let rest = deadline - .now
            guard rest > .zero else { throw SessionError.totalTimeout(url: http.url) }
            http.timeouts.total = rest
        }
        // An interceptor may have kept the secrets of the original request, and added them again.
        http.dropSecrets(of: prepared.http, interceptors)
        try http.encodeJSON(with: prepared.handlers.encoder)
        try http.validate()
        guard last == nil || http.body.isReplayable else { throw SessionError(.bodyNotReplayable, url: http.url) }
        try loop.beginSending(http.url, attempt.number)
        if let last { events?.report(.retried(retried(last), delay: .zero)) }
        events?.report(.sent(http, attempt: attempt.number))
        return prepared.with(http: http)
    }

    /// Records the outcome of a transfer.
    @inline(never)
    private func end(_ http: HTTPRequest, _ outcome: CoreOutcome) throws(SessionError) -> Response<Data> {
        state.withLock { state in
            state.sent = http
            state.last = outcome
            state.request = state.request.resuming(after: outcome.failure)
        }
        loop.endSending(outcome, collects: sink == .memory)
        return try outcome.dataResponse()
    }

    private func retried(_ last: CoreOutcome) -> AttemptOutcome {
        AttemptOutcome(attempt: attempt, response: last.response, body: last.body, error: last.failure)
    }

    // MARK: The result of the interceptors

    @inline(never)
    private func outcome(of response: Response<Data>) -> CoreOutcome {
        let last = state.withLock { $0.last }
        guard sink == .memory else {
            // The file or the stream belongs to a transfer.
            guard var outcome = last, outcome.failure == nil else { return CoreOutcome(failure: unsent(response)) }
            // The status received has decided whether there is a file.
            if let download = outcome.download, response.head.isSuccessful, !download.isComplete {
                return CoreOutcome(failure: unsaved(response))
            }
            outcome.response = response.head
            return outcome
        }
        var outcome = CoreOutcome(response: response.head, body: response.body, trust: response.sharedTrust)
        if let last, response.filePath != nil, response.filePath == last.filePath { outcome.download = last.download }
        return outcome
    }

    private func unsent(_ response: Response<Data>) -> SessionError {
        SessionError(
            .interceptor,
            message: "an interceptor can't answer a stream, a download, an event stream or a WebSocket itself: "
                + "it must return the response of next",
            response: response.head)
    }

    private func unsaved(_ response: Response<Data>) -> SessionError {
        SessionError(
            .interceptor, message: "an interceptor returned success for a failed download, which has no file",
            response: response.head)
    }

    private func outcome(of error: SessionError) -> CoreOutcome {
        guard var outcome = state.withLock({ $0.last }), outcome.failure != nil else {
            return CoreOutcome(failure: error)
        }
        outcome.failure = error
        return outcome
    }
}
