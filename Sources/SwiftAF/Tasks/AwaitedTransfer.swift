import FoundationEssentials

/// A request that is ready to be sent, for one Swift task that waits for its response: one call into the core, one
/// event back.
// What waits is inlined, because each call of an async function and each return switches executors. What doesn't wait
// isn't inlined, because the memory of a waiting task would include its values (the row `waiting` of Benchmarks/run).
struct AwaitedTransfer {
    private let request: CoreRequest
    private let settings: ResponseSettings

    /// - Parameter settings: What the response is checked and decoded with.
    init(_ request: CoreRequest, _ settings: ResponseSettings) {
        self.request = request
        self.settings = settings
    }

    /// Whether nothing happens between the call and its response.
    private var isPlain: Bool {
        request.handlers.interceptors.isEmpty && request.handlers.monitors == nil && !ProcessEvents.isObserved
            && !request.http.reportsTrust
    }

    // Swift 6.2 and 6.3 leave the caller's actor if a nonsending function passes on an error that an ordinary async
    // function has thrown; one that catches the error returns to the actor. So each nonsending function awaits another
    // one, or catches (Scripts/checks/nonsending).

    /// Returns the response, or throws, on the caller's actor.
    ///
    /// - Parameter isChecked: Whether to throw if the response isn't acceptable.
    @inline(__always)
    nonisolated(nonsending) func awaitedResponse(isChecked: Bool = false) async throws(SessionError) -> Response<Data> {
        do throws(SessionError) { return try await response(isChecked: isChecked) } catch { throw error }
    }

    /// Returns the value or throws, on the caller's actor. The value is decoded elsewhere, unless its conformance belongs
    /// to an actor: then it must be the caller's.
    @inline(__always)
    nonisolated(nonsending) func awaitedValue<Value: Decodable>() async throws(SessionError) -> Value {
        do throws(SessionError) {
            switch try await received() as Received<Value> {
            case .value(let value): return value
            case .response(let response): return try response.value()
            }
        } catch { throw error }
    }

    @inline(__always)
    func response(isChecked: Bool = false) async throws(SessionError) -> Response<Data> {
        guard isPlain else { return try await observedResponse(isChecked: isChecked) }
        let transfer = CoreTask(request)
        return try transfer.response(from: try await transfer.run(), settings, isChecked: isChecked)
    }

    @inline(__always)
    private func received<Value: Decodable>() async throws(SessionError) -> sending Received<Value> {
        guard isPlain else { return try await observedValue() }
        let transfer = CoreTask(request)
        return try transfer.value(from: try await transfer.run(), settings)
    }

    @inline(never)
    private func observedResponse(isChecked: Bool) async throws(SessionError) -> Response<Data> {
        try await request.outcome().reportedResponse(settings, isChecked: isChecked)
    }

    @inline(never)
    private func observedValue<Value: Decodable>() async throws(SessionError) -> sending Received<Value> {
        try Received(try await request.outcome().reportedResponse(settings, isChecked: false))
    }
}

/// What an awaited transfer has received.
private enum Received<Value: Decodable> {
    case value(Value)
    /// The value must be decoded by the caller.
    case response(Response<Data>)

    /// Decodes the value, unless its conformance belongs to an actor. Called outside of all actors.
    init(_ response: Response<Data>) throws(SessionError) {
        self = DecodingProbe<Value>().isDecodable ? .value(try response.value()) : .response(response)
    }
}

/// Shows whether a type can be decoded outside of all actors.
///
/// A type's conformance to `Decodable` may belong to an actor, as in a module whose default isolation is the main actor.
/// Generic functions don't see that, but a dynamic cast to such a conformance fails outside of the actor (SE-0470). The
/// cast of a metatype doesn't fail, so the probe is a value.
private struct DecodingProbe<Value> {
    // Not inlined: where `Value` is known to be `Decodable`, the compiler could leave out the cast.
    @inline(never)
    var isDecodable: Bool { self as Any is any DecodableOutsideOfActors }
}

private protocol DecodableOutsideOfActors {}

extension DecodingProbe: DecodableOutsideOfActors where Value: Decodable {}

extension CoreRequest {
    /// Runs a transfer in one or more attempts. Cancelling the Swift task cancels it.
    ///
    /// - Parameter send: Makes one attempt.
    func outcome(
        _ send: @escaping RetryLoop.Send = { await CoreTask($0).outcome(in: $1) }
    ) async -> CoreOutcome {
        // Until the end has been reported. Before the beginning is, as a call that is refused is no request for
        // monitors.
        guard session.activity.begin() else { return CoreOutcome(failure: closed) }
        defer { session.activity.end() }
        guard let events = RequestEvents.begun(http, handlers.monitors) else { return await retrying(send) }
        let outcome = await with(events: events).retrying(send)
        events.finish(outcome)
        return outcome
    }

    /// A copy that reports events.
    func with(events: RequestEvents) -> CoreRequest {
        var handlers = handlers
        handlers.events = events
        return with(handlers: handlers)
    }

    /// Makes one attempt, or several if there are interceptors.
    ///
    /// - Parameter release: Releases what the last attempt has opened, which ends its transfer; nil if an attempt
    ///   leaves nothing open.
    func retrying(
        _ send: @escaping RetryLoop.Send, releasing release: (@Sendable () -> Void)? = nil
    ) async -> CoreOutcome {
        guard !handlers.interceptors.isEmpty else {
            handlers.events?.report(.sent(http, attempt: 1))
            return await send(self, nil)
        }
        let loop = RetryLoop(handlers.interceptors, handlers.events, release: release)
        return await withTaskCancellationHandler {
            await loop.run(self, send)
        } onCancel: {
            loop.interrupt()
        }
    }
}

extension CoreTask {
    /// Converts the result. Call once.
    @inline(never)
    fileprivate func response(
        from result: CoreResult, _ settings: ResponseSettings, isChecked: Bool
    ) throws(SessionError) -> Response<Data> {
        guard let (head, body) = takeResponse(result) else {
            return try take(result).reportedResponse(settings, isChecked: isChecked)
        }
        var response = Response(head: head, body: body)
        response.settings = settings
        if isChecked { try response.validated() }
        return response
    }

    /// Decodes the result, if that is possible on every thread. Call once.
    @inline(never)
    fileprivate func value<Value: Decodable>(
        from result: CoreResult, _ settings: ResponseSettings
    ) throws(SessionError) -> sending Received<Value> {
        try Received(try response(from: result, settings, isChecked: false))
    }

    /// Runs the task to its end. Cancelling the Swift task cancels it.
    ///
    /// - Parameter loop: The attempts that the task is one of, if there may be several.
    func outcome(in loop: RetryLoop? = nil) async -> CoreOutcome {
        loop?.sends(self)
        do throws(SessionError) {
            return take(try await run())
        } catch {
            return CoreOutcome(failure: error)
        }
    }
}
