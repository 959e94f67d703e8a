// A transfer that a Swift task waits for: one call down, one event up.
extension CoreRequest {
    /// The response of a transfer that is run to its end. Nothing is copied on the way that most don't need.
    // Inlined, because every async function that is called, and that returns, asks for its executor.
    @inline(__always)
    func response() async throws(SessionError) -> DataResponse {
        guard handlers.interceptor == nil, handlers.monitors == nil, !ProcessEvents.isObserved, !http.reportsTrust
        else { return try await outcome().answer() }
        let transfer = CoreTask(self)
        let result = try await transfer.run()
        if let (response, body) = transfer.takeResponse(result) {
            return DataResponse(response: response, body: body)
        }
        return try transfer.take(result).answer()
    }

    /// How a transfer ends that is run in as many attempts as it takes. Cancelling the Swift task cancels it.
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

    /// Makes one attempt, or as many as the interceptor wants.
    func retrying(_ send: (CoreRequest) async -> CoreOutcome) async -> CoreOutcome {
        guard let interceptor = handlers.interceptor else {
            handlers.events?.tell(.sent(http, attempt: 1))
            return await send(self)
        }
        let loop = RetryLoop(interceptor, handlers.events)
        return await withTaskCancellationHandler {
            await loop.run(self, send)
        } onCancel: {
            loop.interrupt()
        }
    }
}

extension CoreTask {
    /// Runs the task to its end; an error if it does not begin. Cancelling the Swift task cancels it.
    func outcome() async -> CoreOutcome {
        do throws(SessionError) {
            return take(try await run())
        } catch {
            return CoreOutcome(failure: error)
        }
    }
}
