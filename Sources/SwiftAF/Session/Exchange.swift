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
        let told = TaskObservation.begin(order.request)
        defer { TaskObservation.end(told) }
        guard let interceptor = observers.interceptor else { return await send(order, observers) }
        let loop = AttemptLoop(interceptor)
        return await withTaskCancellationHandler {
            await loop.run(order) { await send($0, observers) }
        } onCancel: {
            loop.interrupt()
        }
    }

    /// Makes one attempt.
    private static func send(_ order: CoreOrder, _ observers: TransferObservers) async -> CoreOutcome {
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
        case .finished(let result): return exchange.take(result, for: order.request.url)
        case .refused(let error): return CoreOutcome(body: .init(), failure: error)
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
    /// Every redirect is an error; the core only knows limits from 1 up.
    var refusesRedirects = false

    var interests: CoreTask.Interests {
        var interests: CoreTask.Interests = []
        if progress != nil { interests.insert(.progress) }
        if response != nil { interests.insert(.head) }
        if redirect != nil || refusesRedirects { interests.insert(.redirects) }
        return interests
    }

    func decide(_ proposal: RedirectProposal) -> RedirectDecision {
        if refusesRedirects { return .fail }
        return redirect?(proposal) ?? .follow
    }

    /// What really becomes of it.
    func judge(_ head: HTTPResponse) -> ResponseDisposition {
        let disposition = response?(head) ?? .allow
        if case .download = disposition, !head.isSuccessful { return .allow }
        return disposition
    }
}
