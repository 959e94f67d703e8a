import FoundationEssentials

// Transfers that Swift tasks await: one call into the core, one event back.
extension CoreRequest {
    /// Runs a transfer to its end and returns the response.
    // Inlined, because each call of an async function and each return switches executors.
    @inline(__always)
    func response() async throws(SessionError) -> Response<Data> {
        guard handlers.interceptors.isEmpty, handlers.monitors == nil, !ProcessEvents.isObserved, !http.reportsTrust
        else { return try await observedResponse() }
        let transfer = CoreTask(self)
        return try transfer.response(from: try await transfer.run())
    }

    // Not inlined, because an outcome is large, and the memory of a waiting task would include it (the row `waiting` of
    // Benchmarks/run).
    @inline(never)
    private func observedResponse() async throws(SessionError) -> Response<Data> {
        try await outcome().answer()
    }

    /// Runs a transfer in one or more attempts. Cancelling the Swift task cancels it.
    func outcome() async -> CoreOutcome {
        guard let events = RequestEvents.begun(http, handlers.monitors) else { return await attempts() }
        let outcome = await with(events: events).attempts()
        events.finish(outcome)
        return outcome
    }

    /// A copy that reports events.
    func with(events: RequestEvents) -> CoreRequest {
        var handlers = handlers
        handlers.events = events
        return with(handlers: handlers)
    }

    private func attempts() async -> CoreOutcome {
        await retrying { await CoreTask($0).outcome() }
    }

    /// Makes one attempt, or several if there are interceptors.
    func retrying(_ send: @escaping @Sendable (CoreRequest) async -> CoreOutcome) async -> CoreOutcome {
        guard !handlers.interceptors.isEmpty else {
            handlers.events?.tell(.sent(http, attempt: 1))
            return await send(self)
        }
        let loop = RetryLoop(handlers.interceptors, handlers.events)
        return await withTaskCancellationHandler {
            await loop.run(self, send)
        } onCancel: {
            loop.interrupt()
        }
    }
}

extension CoreTask {
    /// Converts the result. Call once.
    // Not inlined; see above.
    @inline(never)
    fileprivate func response(from result: CoreResult) throws(SessionError) -> Response<Data> {
        guard let (response, body) = takeResponse(result) else { return try take(result).answer() }
        return Response(head: response, body: body)
    }

    /// Runs the task to its end; throws if it can't begin. Cancelling the Swift task cancels it.
    func outcome() async -> CoreOutcome {
        do throws(SessionError) {
            return take(try await run())
        } catch {
            return CoreOutcome(failure: error)
        }
    }
}
