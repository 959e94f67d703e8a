import FoundationEssentials
import SwiftAF

/// Sends one request and says what came of it. A cancelled task ends it early.
struct Exchange {
    let request: HTTPRequest
    /// Nil for standard output.
    let file: FileTarget?
    let options: Options
    let configuration: SessionConfiguration
    let console: Console
    /// Hears how far it is; nil for a bar of its own.
    var watcher: (@Sendable (TransferProgress) -> Void)?

    func run() async -> Outcome {
        if options.isVerbose { show(HeadLines.request(request)) }
        let log = ExchangeLog()
        var outcome = await transferWithProgress(log)
        outcome.locations = log.locations
        // With a file to go to, a body goes there or nowhere.
        if file != nil { outcome.body = nil }
        if let response = outcome.response, options.isVerbose { show(HeadLines.response(response)) }
        if outcome.failure == nil { parse(&outcome) }
        if let metrics = outcome.metrics, options.printsTimings { show(Timings.lines(metrics)) }
        return outcome
    }

    private func show(_ lines: [String]) {
        lines.forEach(console.complain)
    }

    // MARK: The transfer

    private func transferWithProgress(_ log: ExchangeLog) async -> Outcome {
        let manager = makeManager(log)
        if let watcher { return await transfer(manager, progress: watcher) }
        guard console.error.isTerminal, !options.isQuiet else { return await transfer(manager, progress: nil) }
        let display = ProgressDisplay(sink: console.error)
        display.begin()
        return await display.accompany { await transfer(manager) { display.note($0) } }
    }

    private func transfer(
        _ manager: HTTPSessionManager, progress: (@Sendable (TransferProgress) -> Void)?
    ) async -> Outcome {
        do throws(SessionError) {
            if let file { return outcome(of: try await file.download(request, with: manager, progress: progress)) }
            let answer = try await manager.response(for: request, progress: progress)
            return outcome(of: answer.response, body: answer.body)
        } catch {
            return outcome(of: error)
        }
    }

    private func makeManager(_ log: ExchangeLog) -> HTTPSessionManager {
        let manager = HTTPSessionManager(configuration: configuration)
        manager.redirectHandler = { [console, options] proposal in
            log.note(proposal)
            if options.isVerbose {
                let lines = HeadLines.response(proposal.response) + HeadLines.request(proposal.request)
                lines.forEach(console.complain)
            }
            return .follow
        }
        manager.interceptor = options.retryPolicy.map { policy in
            CompositeInterceptor(attempts(log), policy)
        }
        return manager
    }

    /// Notes what is to be known of each attempt; it decides nothing.
    private func attempts(_ log: ExchangeLog) -> Interceptor {
        Interceptor(
            adapt: { request, attempt in
                let former = log.begin()
                if attempt.number > 1, options.isVerbose {
                    if let response = former?.response { show(HeadLines.response(response)) }
                    if let error = former?.error { show(["* \(error.message.printable)"]) }
                    show(HeadLines.request(request))
                }
                return request
            },
            retry: { _, outcome in
                log.note(outcome)
                return .doNotRetry
            })
    }

    // MARK: What came of it

    private func outcome(of response: HTTPResponse, body: Data) -> Outcome {
        var outcome = Outcome(failure: refusal(of: response))
        outcome.response = response
        outcome.url = response.url
        outcome.metrics = response.metrics
        outcome.body = body
        outcome.bodyBytes = body.count
        return outcome
    }

    private func outcome(of download: DownloadResponse) -> Outcome {
        var outcome = outcome(of: download.response, body: Data())
        // A 416 that says the file is complete is no refusal.
        if download.resumption == .alreadyComplete { outcome.failure = nil }
        outcome.file = download.filePath
        outcome.bodyBytes = Int(clamping: download.fileSize)
        return outcome
    }

    private func outcome(of error: SessionError) -> Outcome {
        if error.code == .status, let response = error.response {
            // The answer came; whether its status is acceptable is decided here.
            var outcome = outcome(of: response, body: error.body ?? Data())
            note(error.resumeToken, in: &outcome)
            return outcome
        }
        var outcome = Outcome(failure: file?.problem(behind: error).map(Failure.init) ?? Failure(error))
        note(error.resumeToken, in: &outcome)
        outcome.response = error.response
        outcome.url = error.response?.url ?? request.url
        outcome.metrics = error.metrics.hops.isEmpty ? nil : error.metrics
        if error.code != .tooLarge, let body = error.body {
            outcome.body = body
            outcome.bodyBytes = body.count
        }
        return outcome
    }

    private func note(_ token: ResumeToken?, in outcome: inout Outcome) {
        guard let token, let file else { return }
        outcome.failure?.resumption = file.advice(token)
    }

    private func refusal(of response: HTTPResponse) -> Failure? {
        let phrase = HTTPStatus.phrase(for: response.status).map { " \($0)" } ?? ""
        let message = "the server answered \(response.status)\(phrase)"
        switch response.status {
        case 200...299: return nil
        case 300...399 where !options.redirects.followsRedirects: return nil
        case 401, 407: return Failure(.authentication, .authentication, message)
        default: return Failure(.status, .status, message)
        }
    }

    /// With `--json` an answer that calls itself JSON has to be.
    private func parse(_ outcome: inout Outcome) {
        guard options.printsJSON, outcome.response?.mediaType?.isJSON == true, let body = outcome.body, !body.isEmpty
        else { return }
        do {
            outcome.json = try JSONValue(parsing: body)
        } catch {
            outcome.failure = Failure(.serialization, .serialization, "the body is \(error)")
        }
    }
}

/// Remembers what happened in the current attempt.
private final class ExchangeLog: Sendable {
    private struct State {
        var locations: [String] = []
        var outcome: AttemptOutcome?
    }

    private let state = Guarded(State())

    /// What redirects said.
    var locations: [String] { state.withLock { $0.locations } }

    /// An attempt begins.
    ///
    /// - Returns: What came of the one before.
    func begin() -> AttemptOutcome? {
        state.withLock { state in
            defer { state = State() }
            return state.outcome
        }
    }

    func note(_ outcome: AttemptOutcome) {
        state.withLock { $0.outcome = outcome }
    }

    func note(_ proposal: RedirectProposal) {
        let location = proposal.response.headers.first(HTTPHeaders.Name.location) ?? ""
        state.withLock { $0.locations.append(location) }
    }
}
