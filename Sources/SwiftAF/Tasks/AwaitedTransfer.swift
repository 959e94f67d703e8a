import FoundationEssentials

/// A prepared request that one Swift task sends and whose response it awaits. Costs one call into the core, and one
/// callback.
// Functions that wait are inlined, because each call of an async function, and each return, may switch executors.
// Functions that don't wait aren't inlined into them: the frame of an async function lives while it waits, and would
// include their values (measured by the row `waiting` of Benchmarks/run).
struct AwaitedTransfer {
    private let request: CoreRequest
    private let settings: ResponseSettings

    /// - Parameter settings: The settings that the response is validated and decoded with.
    init(_ request: CoreRequest, _ settings: ResponseSettings) {
        self.request = request
        self.settings = settings
    }

    /// Whether nothing observes or changes the transfer, so that its result can be converted directly.
    private var isPlain: Bool {
        request.handlers.interceptors.isEmpty && request.handlers.monitors == nil && !ProcessEvents.isObserved
            && !request.http.reportsTrust
    }

    // Swift 6.2 and 6.3 have a fault: if a nonsending function passes on an error that an ordinary async function has
    // thrown, it doesn't return to the caller's actor. If it catches the error and throws it again, it does. So each
    // nonsending function either awaits another nonsending one, or catches (Scripts/checks/nonsending).

    /// Returns the response, or throws, on the caller's actor.
    ///
    /// - Parameter isChecked: Whether to throw if the response isn't acceptable.
    @inline(__always)
    nonisolated(nonsending) func awaitedResponse(isChecked: Bool = false) async throws(SessionError) -> Response<Data> {
        do throws(SessionError) { return try await response(isChecked: isChecked) } catch { throw error }
    }

    /// Returns the value or throws, on the caller's actor. The value is decoded on Swift's shared threads, unless the
    /// conformance of its type belongs to an actor: then it is decoded on the caller's, which must be that actor.
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

/// The value of an awaited transfer, or the response to decode it from.
private enum Received<Value: Decodable> {
    case value(Value)
    /// The response, whose value must be decoded on the caller's actor.
    case response(Response<Data>)

    /// Decodes the value, unless its conformance belongs to an actor. Called outside of all actors.
    init(_ response: Response<Data>) throws(SessionError) {
        self = DecodingProbe<Value>().isDecodable ? .value(try response.value()) : .response(response)
    }
}

/// Finds out whether a type can be decoded outside of all actors.
///
/// A type's conformance to `Decodable` may belong to an actor, as in a module whose default isolation is the main
/// actor. The type system doesn't show that to generic functions, but a dynamic cast to such a conformance fails
/// outside of the actor (SE-0470). The cast of a metatype wouldn't fail, so a value of this generic struct is cast.
private struct DecodingProbe<Value> {
    // Not inlined: the compiler could omit the cast where it knows that `Value` is `Decodable`.
    @inline(never)
    var isDecodable: Bool { self as Any is any DecodableOutsideOfActors }
}

private protocol DecodableOutsideOfActors {}

extension DecodingProbe: DecodableOutsideOfActors where Value: Decodable {}

extension CoreRequest {
    /// Runs a transfer in one or more attempts. Cancelling the Swift task cancels it.
    ///
    /// - Parameter send: Sends the request once.
    func outcome(
        _ send: @escaping RetryLoop.Send = { await CoreTask($0).outcome(in: $1) }
    ) async -> CoreOutcome {
        // The activity spans the events: it begins before the first one, because monitors aren't notified of a call
        // that a closed session refuses, and ends after the last one.
        guard session.activity.begin() else { return CoreOutcome(failure: closed) }
        defer { session.activity.end() }
        guard let events = RequestEvents.begun(http, handlers.monitors) else { return await retrying(send) }
        let outcome = await with(events: events).retrying(send)
        events.finish(outcome)
        return outcome
    }

    /// Returns a copy that reports its events.
    func with(events: RequestEvents) -> CoreRequest {
        var handlers = handlers
        handlers.events = events
        return with(handlers: handlers)
    }

    /// Makes one attempt, or several if there are interceptors.
    ///
    /// - Parameter release: Releases the stream or WebSocket that the last attempt has opened, which ends its transfer;
    ///   nil if attempts leave nothing open.
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
    /// Converts the result of ``run()`` to a response, or throws its error. Call once.
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

    /// Converts the result of ``run()``, and decodes the value if that is possible outside of all actors. Call once.
    @inline(never)
    fileprivate func value<Value: Decodable>(
        from result: CoreResult, _ settings: ResponseSettings
    ) throws(SessionError) -> sending Received<Value> {
        try Received(try response(from: result, settings, isChecked: false))
    }

    /// Runs the task to its end. Cancelling the Swift task cancels it.
    ///
    /// - Parameter loop: The loop of attempts that this task belongs to; nil without interceptors.
    func outcome(in loop: RetryLoop? = nil) async -> CoreOutcome {
        loop?.sends(self)
        do throws(SessionError) {
            return take(try await run())
        } catch {
            return CoreOutcome(failure: error)
        }
    }
}
