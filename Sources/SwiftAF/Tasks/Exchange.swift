/// A transfer that a Swift task waits for: one call down, one event up.
final class Exchange: CoreTask, @unchecked Sendable {
    private enum Ending {
        case finished(CoreResult)
        case refused(SessionError)
    }

    /// Set before the task begins, used when it ends.
    private var continuation: UnsafeContinuation<Ending, Never>?
    private let observers: TransferObservers

    private init(_ observers: TransferObservers) {
        self.observers = observers
    }

    /// Runs a transfer to its end, in as many attempts as it takes. Cancelling the Swift task cancels it.
    static func run(_ order: CoreOrder, _ observers: TransferObservers) async -> CoreOutcome {
        guard let events = RequestEvents.begun(order.request, observers.monitors) else {
            return await attempts(order, observers)
        }
        var observers = observers
        observers.events = events
        let outcome = await attempts(order, observers)
        events.finish(outcome)
        return outcome
    }

    private static func attempts(_ order: CoreOrder, _ observers: TransferObservers) async -> CoreOutcome {
        guard let interceptor = observers.interceptor else {
            observers.events?.tell(.sent(order.request, attempt: 1))
            return await send(order, observers)
        }
        let loop = AttemptLoop(interceptor, observers.events)
        return await withTaskCancellationHandler {
            await loop.run(order) { await send($0, observers) }
        } onCancel: {
            loop.interrupt()
        }
    }

    /// The response of a transfer that is run to its end. Nothing is copied on the way that most don't need.
    // Inlined, because every async function that is called, and that returns, asks for its executor.
    @inline(__always)
    static func response(
        _ order: CoreOrder, _ observers: TransferObservers
    ) async throws(SessionError) -> DataResponse {
        guard observers.interceptor == nil, observers.monitors == nil, TaskObservation.observers.isEmpty,
            !order.request.reportsTrust
        else { return try await run(order, observers).answer() }
        let (exchange, result) = try await attempt(order, observers)
        if let (response, body) = exchange.takeResponse(result, for: order.request.url) {
            return DataResponse(response: response, body: body)
        }
        return try exchange.take(result, for: order.request.url).answer()
    }

    private static func send(_ order: CoreOrder, _ observers: TransferObservers) async -> CoreOutcome {
        do throws(SessionError) {
            let (exchange, result) = try await attempt(order, observers)
            return exchange.take(result, for: order.request.url)
        } catch {
            return CoreOutcome(body: .init(), failure: error)
        }
    }

    /// Makes one attempt. The result must be taken from the exchange.
    ///
    /// - Throws: Why it did not begin.
    @inline(__always)
    private static func attempt(
        _ order: CoreOrder, _ observers: TransferObservers
    ) async throws(SessionError) -> (Exchange, CoreResult) {
        let exchange = Exchange(observers)
        let ending = await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                exchange.continuation = continuation
                // Refused, no end will come; begun, exactly one.
                if let error = exchange.begin(order) { continuation.resume(returning: .refused(error)) }
            }
        } onCancel: {
            exchange.cancel()
        }
        switch ending {
        case .finished(let result): return (exchange, result)
        case .refused(let error): throw error
        }
    }

    override func didFinish(_ result: CoreResult) {
        continuation?.resume(returning: .finished(result))
    }

    override func didProgress(_ progress: TransferProgress) {
        observers.progress?(progress)
    }

    override func willRedirect(_ proposal: RedirectProposal) -> RedirectDecision {
        observers.decide(proposal)
    }

    override func didAnswer(_ challenge: AuthenticationChallenge) {
        observers.events?.tell(.challenged(challenge))
    }

    override func didTrace(_ trace: WireTrace) {
        observers.events?.tell(.traced(trace))
    }

    override func didReceiveHead(_ response: HTTPResponse) -> ResponseDisposition {
        observers.judge(response)
    }
}

/// What is told on the way, on the loop thread.
struct TransferObservers: Sendable {
    var progress: (@Sendable (TransferProgress) -> Void)?
    var redirect: RedirectHandler?
    var response: ResponseHandler?
    /// Nil if there is one attempt, of the request as it is.
    var interceptor: (any RequestInterceptor)?
    /// Nil if nobody watches the manager.
    var monitors: MonitorGroup?
    /// Of the request, once it is known by a number. Nil if nobody hears.
    var events: RequestEvents?
    /// Every redirect is an error; the core only knows limits from 1 up.
    var refusesRedirects = false

    var interests: CoreTask.Interests {
        var interests: CoreTask.Interests = []
        if progress != nil { interests.insert(.progress) }
        if response != nil || monitors != nil { interests.insert(.head) }
        if redirect != nil || refusesRedirects || monitors != nil { interests.insert(.redirects) }
        if monitors != nil { interests.insert(.challenges) }
        if monitors?.tracesWire == true { interests.insert(.trace) }
        return interests
    }

    func decide(_ proposal: RedirectProposal) -> RedirectDecision {
        let decision = refusesRedirects ? .fail : redirect?(proposal) ?? .follow
        events?.tell(.redirected(proposal, decision))
        return decision
    }

    /// What really becomes of it.
    func judge(_ head: HTTPResponse) -> ResponseDisposition {
        events?.tell(.answered(head))
        let disposition = response?(head) ?? .allow
        if case .download = disposition, !head.isSuccessful { return .allow }
        return disposition
    }
}
