import FoundationEssentials
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// The decisions about `--retry`, without a server.
@Suite struct AttemptsTests {
    /// What an ``Attempts`` has called and written.
    private final class Record: Sendable {
        private let lines = Locked<[String]>([])

        func add(_ line: String) { lines.withLock { $0.append(line) } }

        var all: [String] { lines.withLock { $0 } }
        var notes: [String] { all.filter { $0.hasPrefix("swiftaf: ") } }
        var calls: [String] { all.filter { !$0.hasPrefix("swiftaf: ") } }
    }

    private let record = Record()
    private let request = HTTPRequest("http://joe:s3cret@h/")

    private func attempts(
        _ words: String..., until deadline: Instant? = nil, about subject: String? = nil,
        wait: (@Sendable (Duration) async -> Void)? = nil
    ) -> Attempts {
        let options = ArgumentParser.parse((["get", "http://h/"] + words).map { RawText($0) }).options
        return Attempts(
            options, until: deadline, about: subject, show: { [record] in $0.forEach(record.add) },
            willBegin: { [record] in record.add("begin") }, willWait: { [record] in record.add("wait") },
            wait: { [record] in
                record.add("paused \(Format.wait($0))")
                await wait?($0)
            })
    }

    private func busy(after seconds: Int = 0, body: String = "") -> AttemptOutcome {
        let response = HTTPResponse(
            status: 503, headers: ["Retry-After": "\(seconds)"], url: "http://h/",
            metrics: ResponseMetrics(hops: [HopMetrics(url: "http://h/busy")]))
        return AttemptOutcome(attempt: RequestAttempt(), response: response, body: Data(body.utf8))
    }

    private func lost(status: Int? = 200) -> SessionError {
        var error = SessionError(.connectionLost, message: "the connection was lost: reset\u{1B}")
        error.response = status.map { HTTPResponse(status: $0, url: "http://h/") }
        return error
    }

    private func retries(_ attempts: Attempts, after outcome: AttemptOutcome) async -> Bool {
        if case .retry = await attempts.retry(request, after: outcome) { true } else { false }
    }

    /// The same after the first attempt has begun.
    private func retriesFirst(_ attempts: Attempts, after outcome: AttemptOutcome) async throws -> Bool {
        _ = try await attempts.adapt(request, for: RequestAttempt())
        return await retries(attempts, after: outcome)
    }

    @Test func countsAttemptsByThemselves() async throws {
        let attempts = attempts("--retry", "2")
        for number in 1...2 {
            _ = try await attempts.adapt(request, for: RequestAttempt())
            #expect(await retries(attempts, after: busy()))
            #expect(record.notes.last?.contains("; retry \(number) of 2 in ") == true)
        }
        _ = try await attempts.adapt(request, for: RequestAttempt())
        #expect(!(await retries(attempts, after: busy())))
        #expect(record.calls == ["begin", "wait", "begin", "wait", "begin"])
        #expect(record.notes.count == 2)
    }

    @Test func hasNoInterceptorWithoutRetries() async {
        let attempts = attempts()
        #expect(attempts.interceptors.isEmpty)
        #expect(!(await retries(attempts, after: busy())) && record.all.isEmpty)
        #expect(ArgumentParser.parse(["get", "http://h/"]).options.retryPolicy == nil)
        let policy = ArgumentParser.parse(["get", "http://h/", "--retry", "1"]).options.retryPolicy
        #expect(policy?.budget == nil && policy?.statusCodes == [429, 503])
    }

    @Test func limitsAllAttemptsTogether() async {
        let begins = attempts("--retry", "1", "--timeout", "600")
        #expect(!(await retries(begins, after: busy(after: 600))))
        #expect(record.notes.last?.contains("the server asks for 10 min, --timeout 10 min leaves 9 min") == true)
        let began = attempts("--retry", "1", "--timeout", "36000", until: .now + .seconds(3600))
        #expect(!(await retries(began, after: busy(after: 7200))))
        #expect(record.notes.last?.contains("the server asks for 2 h, --timeout 10 h leaves 59 min") == true)
        let over = attempts("--retry", "1", "--timeout", "600", until: .now + .seconds(-5))
        #expect(!(await retries(over, after: busy())))
        #expect(record.notes.last == "swiftaf: not repeated: --timeout 10 min leaves 0 s for a wait")
        #expect(record.calls.isEmpty)
    }

    @Test func notesNameCauseAndURLWithoutPassword() async throws {
        let one = attempts("--retry", "1")
        #expect(try await retriesFirst(one, after: busy()))
        #expect(record.notes.last?.hasPrefix("swiftaf: the server responded with 503; retry 1 of 1 in ") == true)
        #expect(record.notes.last?.contains("--timeout") == false)
        let several = attempts("--retry", "1", about: request.url)
        #expect(try await retriesFirst(several, after: AttemptOutcome(attempt: RequestAttempt(), error: lost())))
        let start = "swiftaf: http://h/: the connection was lost: reset\\u{1B}; retry 1 of 1 in "
        #expect(record.notes.last?.hasPrefix(start) == true, "\(record.notes)")
    }

    @Test func adviceAboutLongWaitsNeedsNoLimit() async throws {
        #expect(try await retriesFirst(attempts("--retry", "1"), after: busy(after: 7200)))
        #expect(record.notes.last?.hasSuffix("retry 1 of 1 in 2 h; --timeout S limits the wait") == true)
        #expect(try await retriesFirst(attempts("--retry", "1", "--timeout", "72000"), after: busy(after: 7200)))
        #expect(record.notes.last?.hasSuffix("retry 1 of 1 in 2 h") == true)
    }

    @Test func verboseRunsHaveNotesOnlyAboutRefusals() async {
        #expect(await retries(attempts("--retry", "1", "-v"), after: busy()))
        #expect(record.notes.isEmpty)
        #expect(!(await retries(attempts("--retry", "1", "-v", "--timeout", "1"), after: busy(after: 60))))
        #expect(record.notes == ["swiftaf: not repeated: the server asks for 1 min, --timeout allows 1 s"])
    }

    @Test func completesErrorsOfWaitsOnly() async throws {
        let attempts = attempts("--retry", "9")
        #expect(attempts.completed(SessionError(.cancelled)).response == nil)
        #expect(await retries(attempts, after: busy(body: "busy")))
        var cancelled = SessionError(.cancelled)
        cancelled.metrics = ResponseMetrics(hops: [HopMetrics(url: "http://h/none")])
        let completed = attempts.completed(cancelled)
        #expect(completed.code == .cancelled && completed.response?.status == 503)
        #expect(completed.body == Data("busy".utf8))
        #expect(completed.metrics.hops.map(\.url) == ["http://h/busy"])
        #expect(attempts.completed(lost()).response?.status == 200)
        _ = try await attempts.adapt(request, for: RequestAttempt())
        #expect(attempts.completed(SessionError(.cancelled)).response == nil)
    }

    @Test func completesErrorsWithTheBodySoFar() async {
        let attempts = attempts("--retry", "9")
        var error = lost()
        error.body = Data("so far".utf8)
        #expect(await retries(attempts, after: AttemptOutcome(attempt: RequestAttempt(), error: error)))
        #expect(attempts.completed(SessionError(.cancelled)).body == Data("so far".utf8))
    }

    @Test func waitsOnlyAfterResponsesThatHadBegun() async {
        let attempts = attempts("--retry", "1")
        #expect(await attempts.pause(after: lost(status: nil), of: request) == nil)
        #expect(record.all.isEmpty)
        let repeated = await attempts.pause(after: lost(), of: request)
        #expect(repeated?.url == request.url && repeated?.timeouts.total == nil)
        #expect(record.calls.count == 2 && record.calls.first == "wait")
        let paused = record.calls.last?.dropFirst("paused ".count) ?? ""
        #expect(record.notes.first?.hasSuffix(" in \(paused)") == true)
    }

    @Test func givesTheNextAttemptTheTimeThatIsLeft() async throws {
        let attempts = attempts("--retry", "1", "--timeout", "7200", until: .now + .seconds(3600))
        let total = try #require(await attempts.pause(after: lost(), of: request)?.timeouts.total)
        #expect(total > .seconds(60) && total < .seconds(3600))
    }

    @Test func doesNotRepeatAfterTheTimeLimit() async {
        let deadline = Instant.now + .seconds(3)
        let attempts = attempts("--retry", "1", "--timeout", "7200", until: deadline) { _ in
            while Instant.now < deadline { await Duration.milliseconds(10).pause() }
        }
        #expect(await attempts.pause(after: lost(), of: request) == nil)
        #expect(record.notes.count == 2 && record.notes.last == "swiftaf: not repeated after all: --timeout is over")
    }

    @Test func doesNotRepeatAfterACancellation() async {
        let attempts = attempts("--retry", "1") { _ in withUnsafeCurrentTask { $0?.cancel() } }
        let run = Task { [request] in await attempts.pause(after: lost(), of: request) == nil }
        #expect(await run.value)
        #expect(record.calls.count == 2 && record.notes.count == 1)
    }
}
