import FoundationEssentials
import Testing

@testable import SwiftAF

@Suite struct RetryPolicyTests {
    private static let now = Date(timeIntervalSince1970: 784_111_777)
    private static let moment = ContinuousClock.now

    private static func delay(
        _ policy: RetryPolicy = RetryPolicy(), _ method: HTTPMethod = .get, body: HTTPBody = .none, attempt: Int = 1,
        deadline: Duration? = nil, status: Int? = nil, headers: HTTPHeaders = [:], error: SessionError? = nil,
        endedInAdapt: Bool = false, random: Double = 1
    ) -> Duration? {
        let attempt = RequestAttempt(number: attempt, start: moment, deadline: deadline.map { moment + $0 })
        let response = status.map { HTTPResponse(status: $0, headers: headers, url: "http://host/") }
        return policy.delay(
            for: HTTPRequest(method, "http://host/", body: body),
            after: AttemptOutcome(attempt: attempt, response: response, error: error, endedInAdapt: endedInAdapt),
            now: now, at: moment, random: random)
    }

    @Test(
        arguments: [
            ("GET", true), ("HEAD", true), ("OPTIONS", true), ("TRACE", true), ("PUT", true), ("DELETE", true),
            ("POST", false), ("PATCH", false), ("CONNECT", false), ("get", false), ("PURGE", false),
        ])
    func onlyIdempotentMethodsAreRetried(method: String, isRepeated: Bool) {
        #expect((Self.delay(.init(), HTTPMethod(method), status: 503) != nil) == isRepeated)
        #expect((Self.delay(.init(), HTTPMethod(method), error: SessionError(.connectionLost)) != nil) == isRepeated)
    }

    @Test func retriesOnlyTransientStatuses() {
        let repeated = (100...599).filter { Self.delay(status: $0) != nil }
        #expect(repeated == [408, 425, 429, 500, 502, 503, 504])
    }

    @Test(
        arguments: [
            (.connect, true), (.connectionLost, true), (.truncated, true), (.timeout, true), (.dns, false),
            (.protocol, false), (.tls, false), (.untrusted, false), (.cancelled, false), (.tooLarge, false),
            (.redirect, false), (.bodyNotReplayable, false), (.invalidInput, false), (.closed, false),
            (.authentication, false), (.file, false), (.interceptor, false), (.unknown, false),
        ] as [(SessionError.Code, Bool)])
    func retriesOnlyTransientErrors(code: SessionError.Code, isRepeated: Bool) {
        #expect((Self.delay(error: SessionError(code)) != nil) == isRepeated)
        // The status of an answer that broke off says nothing.
        let failed = SessionError(code, response: HTTPResponse(status: 503, url: "http://host/"))
        #expect((Self.delay(error: failed) != nil) == isRepeated)
    }

    /// The failure of the request for a credential decides.
    @Test func credentialsThatCouldNotBeHad() {
        func delay(_ cause: SessionError) -> Duration? {
            Self.delay(error: SessionError(.authentication, underlying: cause))
        }
        func refusal(_ status: Int) -> SessionError {
            SessionError(.status, response: HTTPResponse(status: status, url: "http://host/"))
        }
        #expect(delay(SessionError(.connect)) != nil && delay(SessionError(.untrusted)) == nil)
        #expect(delay(refusal(503)) != nil && delay(refusal(400)) == nil)
    }

    /// Nothing was sent, so neither the method nor the body matters; the time limit is that of an inner request.
    @Test func retriesEveryMethodAfterAFailureToAdapt() {
        let body = HTTPBody.stream(once: AsyncStream<Data> { $0.finish() })
        for method in [HTTPMethod.get, .post, .patch] {
            for error in [SessionError(.connect), SessionError(.timeout, reason: .total)] {
                #expect(Self.delay(.init(), method, body: body, error: error, endedInAdapt: true) != nil)
                let wrapped = SessionError(.authentication, underlying: error)
                #expect(Self.delay(.init(), method, body: body, error: wrapped, endedInAdapt: true) != nil)
                // After a 401, the body was sent.
                #expect(Self.delay(.init(), method, error: wrapped) != nil)
                #expect(Self.delay(.init(), method, body: body, error: wrapped) == nil)
            }
        }
        #expect(Self.delay(attempt: 4, error: SessionError(.connect), endedInAdapt: true) == nil)
        #expect(Self.delay(deadline: .zero, error: SessionError(.connect), endedInAdapt: true) == nil)
    }

    @Test(arguments: [("7", 7), ("61", nil), ("soon", 0)] as [(String, Double?)])
    func waitsForRetryAfterOfTheInnerRequest(text: String, seconds: Double?) async {
        let response = HTTPResponse(status: 503, headers: ["Retry-After": text], url: "http://token/")
        let refused = SessionError(.status, response: response)
        let expected = seconds.map { Duration.seconds($0) }
        #expect(Self.delay(error: refused, endedInAdapt: true, random: 0) == expected)
        let wrapped = SessionError(.authentication, underlying: refused)
        #expect(Self.delay(error: wrapped, endedInAdapt: true, random: 0) == expected)
        #expect(Self.delay(error: wrapped, random: 0) == expected)
        // The head of a response that broke off says nothing.
        let broken = SessionError(.truncated, response: response)
        #expect(Self.delay(error: broken, endedInAdapt: true, random: 0) == .zero)
    }

    @Test func leavesRequestsThatDontAllowRetries() async {
        let outcome = AttemptOutcome(
            attempt: RequestAttempt(), response: HTTPResponse(status: 503, url: "http://host/"))
        for allowsRetries in [true, false] {
            var request = HTTPRequest("http://host/")
            request.allowsRetries = allowsRetries
            guard case .retry = await RetryPolicy().retry(request, after: outcome) else {
                #expect(!allowsRetries)
                continue
            }
            #expect(allowsRetries)
        }
    }

    @Test func retriesAllTimeoutsExceptTotal() {
        #expect(Self.delay(error: SessionError(.timeout, reason: .connect)) != nil)
        #expect(Self.delay(error: SessionError(.timeout, reason: .idle)) != nil)
        #expect(Self.delay(error: SessionError(.timeout, reason: .total)) == nil)
    }

    @Test func onlyReplayableBodiesAreRetried() {
        let chunks = AsyncStream<Data> { $0.finish() }
        let form = { (isReplayable: Bool) in
            var form = BodyForm(boundary: "b", isBoundaryChosen: true)
            let stream = BodyStream(length: 1, isReplayable: isReplayable) { _ in }
            form.parts = [
                .raw(Data(), [:]),
                .stream(stream, .init(name: "a", fileName: nil, mediaType: nil, headers: [:])),
            ]
            return HTTPBody(.form(form))
        }
        for body in [HTTPBody.none, .text("a"), .file("/a"), .stream { chunks }, form(true)] {
            #expect(Self.delay(.init(), .put, body: body, status: 503) != nil, "\(body)")
        }
        for body in [HTTPBody.stream(once: chunks), form(false)] {
            #expect(Self.delay(.init(), .put, body: body, status: 503) == nil, "\(body)")
        }
    }

    @Test func backoffDoublesUpToMaximumWithJitter() {
        var policy = RetryPolicy(maximumRetries: 100)
        policy.baseDelay = .seconds(1)
        policy.maximumDelay = .seconds(10)
        let longest = (1...6).map { Self.delay(policy, attempt: $0, status: 503, random: 1) }
        #expect(longest == [1, 2, 4, 8, 10, 10].map { .seconds($0) })
        #expect(Self.delay(policy, attempt: 4, status: 503, random: 0) == .zero)
        #expect(Self.delay(policy, attempt: 4, status: 503, random: 0.25) == .seconds(2))
        #expect(Self.delay(policy, attempt: 100, status: 503, random: 1) == .seconds(10))
        policy.maximumDelay = .seconds(Int64.max)
        #expect((Self.delay(policy, attempt: 100, status: 503) ?? .zero) > .seconds(1 << 62))
        (policy.baseDelay, policy.maximumDelay) = (.seconds(-1), .seconds(-1))
        #expect(Self.delay(policy, attempt: 3, status: 503) == .zero)
    }

    @Test func initializerSetsRetriesAndBaseDelay() {
        let policy = RetryPolicy(maximumRetries: 2, baseDelay: .seconds(7))
        #expect(policy.maximumRetries == 2)
        #expect(
            (1...3).map { Self.delay(policy, attempt: $0, status: 503, random: 1) } == [.seconds(7), .seconds(14), nil])
        #expect(RetryPolicy(maximumRetries: 2).baseDelay == RetryPolicy().baseDelay)
    }

    @Test func doublesDurationsUpToTheLimit() {
        let second = Duration.seconds(1)
        #expect(
            (-1...5).map { second.doubled(times: $0, atMost: .seconds(10)) }
                == [1, 1, 2, 4, 8, 10, 10].map { .seconds($0) })
        #expect(second.doubled(times: .max, atMost: .seconds(3)) == .seconds(3))
        #expect(second.doubled(times: 0, atMost: .milliseconds(1)) == .milliseconds(1))
        #expect(second.doubled(times: 3, atMost: .seconds(-1)) == .zero)
        #expect(Duration.zero.doubled(times: .max, atMost: second) == .zero)
        #expect(Duration.seconds(-1).doubled(times: 3, atMost: second) == .zero)
    }

    @Test func longerSequencesRetryMoreErrors() {
        let added = TransientFailures.ofWebSockets.subtracting(TransientFailures.ofRequests)
        #expect(added == [.dns, .tls])
        #expect(TransientFailures.ofEventStreams.subtracting(TransientFailures.ofWebSockets) == [.protocol])
        #expect(RetryPolicy().errorCodes == TransientFailures.ofRequests)
        #expect(RetryPolicy().errorCodes == [.connect, .connectionLost, .truncated, .timeout])
    }

    @Test func stopsAfterMaximumRetries() {
        #expect((1...5).map { Self.delay(attempt: $0, status: 503) != nil } == [true, true, true, false, false])
        #expect(Self.delay(RetryPolicy(maximumRetries: 0), status: 503) == nil)
        #expect(Self.delay(RetryPolicy(maximumRetries: -1), status: 503) == nil)
    }

    @Test(
        arguments: [
            ("7", nil, 7), ("0", nil, 0), ("60", nil, 60), ("007", nil, 7),
            // Beyond the ceiling no request is repeated.
            ("61", nil, nil), ("99999999999999999999999", nil, nil), ("Fri, 31 Dec 9999 23:59:59 GMT", nil, nil),
            // Dates, by the server's clock if it shows it.
            ("Sun, 06 Nov 1994 08:49:57 GMT", nil, 20), ("Sunday, 06-Nov-94 08:49:57 GMT", nil, 20),
            ("Sun Nov  6 08:49:57 1994", nil, 20), ("Sun, 06 Nov 1994 08:00:00 GMT", nil, 0),
            ("Mon, 07 Nov 1994 08:00:20 GMT", "Mon, 07 Nov 1994 08:00:00 GMT", 20),
            ("Sun, 06 Nov 1994 08:49:57 GMT", "yesterday", 20),
            // A value that can't be read counts as missing.
            ("soon", nil, 0), ("-5", nil, 0), ("1.5", nil, 0), ("+5", nil, 0), ("5 s", nil, 0), ("", nil, 0),
        ] as [(String, String?, Double?)])
    func waitsAtLeastForRetryAfter(text: String, date: String?, seconds: Double?) {
        var headers: HTTPHeaders = ["Retry-After": text]
        headers["Date"] = date
        let expected = seconds.map { Duration.seconds($0) }
        #expect(Self.delay(status: 503, headers: headers, random: 0) == expected)
        #expect(Self.delay(status: 429, headers: headers, random: 0) == expected)
    }

    @Test func addsRandomDelayToTheOneThatServerAsksFor() {
        var policy = RetryPolicy()
        policy.baseDelay = .seconds(10)
        policy.maximumDelay = .seconds(15)
        let headers: HTTPHeaders = ["Retry-After": "30"]
        for (random, expected) in [(0, 30), (0.5, 35), (1, 40)] {
            #expect(Self.delay(policy, status: 503, headers: headers, random: random) == .seconds(expected))
        }
        #expect(Self.delay(policy, attempt: 2, status: 503, headers: headers, random: 1) == .seconds(45))
        // The head of a response that broke off says nothing.
        let failed = SessionError(
            .truncated, response: HTTPResponse(status: 503, headers: headers, url: "http://host/"))
        #expect(Self.delay(policy, error: failed, random: 0.5) == .seconds(5))
    }

    @Test func neverWaitsBeyondDeadline() {
        let headers: HTTPHeaders = ["Retry-After": "5"]
        #expect(Self.delay(deadline: .seconds(6), status: 503, headers: headers, random: 0) == .seconds(5))
        #expect(Self.delay(deadline: .seconds(5), status: 503, headers: headers, random: 0) == nil)
        #expect(Self.delay(deadline: .zero, status: 503, random: 0) == nil)
        #expect(Self.delay(deadline: .seconds(-1), status: 503, random: 0) == nil)
    }

    @Test func budgetPaysForRetriesWithNewRequests() async throws {
        var policy = RetryPolicy()
        policy.baseDelay = .zero
        policy.budget = RetryBudget(capacity: 2, tokensPerRequest: 0.2)
        let request = HTTPRequest("http://host/")
        let busy = AttemptOutcome(
            attempt: RequestAttempt(), response: HTTPResponse(status: 503, url: "http://host/"))
        func isRepeated() async -> Bool {
            if case .retry = await policy.retry(request, after: busy) { true } else { false }
        }
        #expect(await [isRepeated(), isRepeated(), isRepeated()] == [true, true, false])
        for _ in 0..<4 { _ = try await policy.adapt(request, for: RequestAttempt()) }
        // Repeats bring nothing.
        _ = try await policy.adapt(request, for: RequestAttempt(number: 2))
        #expect(await isRepeated() == false)
        _ = try await policy.adapt(request, for: RequestAttempt())
        #expect(await [isRepeated(), isRepeated()] == [true, false])
    }

    @Test func budgetCountsEachOriginSeparately() {
        let budget = RetryBudget(capacity: 2, tokensPerRequest: 0.5)
        let (dead, healthy) = (HTTPRequest("http://dead.test/hook"), HTTPRequest("http://healthy.test/hook"))
        #expect([true, true, false] == (0..<3).map { _ in budget.withdraw(for: dead) })
        #expect(budget.available(for: dead) == 0 && budget.available(for: healthy) == 2)
        #expect(budget.withdraw(for: healthy))
        for _ in 0..<2 { budget.deposit(for: healthy) }
        #expect(budget.available(for: HTTPRequest("http://HEALTHY.test:80/")) == 2)
        // Another port is another server.
        #expect(budget.available(for: HTTPRequest("http://dead.test:81/")) == 2)
        #expect([true, true, false] == (0..<3).map { _ in budget.withdraw(for: HTTPRequest("path")) })
        // However many servers fail, one that failed before them has no more retries than before.
        for number in 0..<5000 { _ = budget.withdraw(for: HTTPRequest("http://host\(number).test/")) }
        #expect(budget.available(for: dead) == 0)
    }

    @Test(arguments: [
        ("0", 0.5, true), ("1", 0.5, false), ("1", 1, false), ("1", 2, true), ("0", 0, true), ("1", 0, false),
        // A date that has passed, and what isn't valid.
        ("Sun, 06 Nov 1994 08:00:00 GMT", 0.5, true), ("soon", 0.5, true),
    ]) func countsRetriesUnlessServerAsksForPause(retryAfter: String, baseDelay: Double, isCounted: Bool) async {
        var policy = RetryPolicy()
        policy.baseDelay = .seconds(baseDelay)
        policy.budget = RetryBudget(capacity: 1, tokensPerRequest: 0)
        let busy = AttemptOutcome(
            attempt: RequestAttempt(),
            response: HTTPResponse(status: 503, headers: ["Retry-After": retryAfter], url: "http://host/"))
        guard case .retry = await policy.retry(HTTPRequest("http://host/"), after: busy) else {
            Issue.record("not retried")
            return
        }
        #expect(policy.budget?.available(for: HTTPRequest("http://host/")) == (isCounted ? 0 : 1))
    }

    @Test func budgetLimitsRetriesUnderLoad() {
        var bucket = TokenBucket(capacity: 10, refill: 0.2)
        var repeats = 0
        for _ in 0..<1000 {
            bucket.deposit()
            if bucket.withdraw() { repeats += 1 }
        }
        #expect((200...210).contains(repeats))
        var none = TokenBucket(capacity: -1, refill: .infinity)
        none.deposit()
        let isGiven = none.withdraw()
        #expect(!isGiven)
    }
}

@Suite struct HTTPDateTests {
    private static let now = Date(timeIntervalSince1970: 1_700_000_000)

    @Test(
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Thu, 29 Feb 2024 12:00:00 GMT", 1_709_208_000), ("Tue, 01 Mar 2022 00:00:00 GMT", 1_646_092_800),
            ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800), ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
            ("Mon, 28 Feb 2000 00:00:00 GMT", 951_696_000),
            // Two digits: at most fifty years ahead.
            ("Tuesday, 01-Mar-22 00:00:00 GMT", 1_646_092_800), ("Wednesday, 01-Jan-70 00:00:00 GMT", 3_155_760_000),
            ("Thursday, 01-Jan-76 00:00:00 GMT", 189_302_400),
            // None of them.
            ("", nil), ("Sun, 06 Nov 1994 08:49:37", nil), ("Sun, 06 Nov 1994 08:49:37 CET", nil),
            ("Sun, 31 Nov 1994 08:49:37 GMT", nil), ("Thu, 29 Feb 2023 12:00:00 GMT", nil),
            ("Thu, 29 Feb 1900 12:00:00 GMT", nil), ("Sun, 00 Nov 1994 08:49:37 GMT", nil),
            ("Sun, 06 nov 1994 08:49:37 GMT", nil), ("Sun, 06 Nov 1994 24:00:00 GMT", nil),
            ("Sun, 06 Nov 1994 08:60:00 GMT", nil), ("Sun, 06 Nov 1994 08:49:61 GMT", nil),
            ("Sun, 06 Nov 94 08:49:37 GMT", nil), ("Sun, 06 Nov 1994 8:49:37 GMT", nil),
            ("Sun, 06 Nov 1994 08:49 GMT", nil), ("Sun, 06-Nov-1994 08:49:37 GMT", nil),
            ("Sunday, 06-Nov-9 08:49:37 GMT", nil), ("Sun Nov 6 08:49:37 94", nil), ("1 2 3 4 5 6", nil),
            ("784111777", nil), ("Sun, 06 Nov ١٩٩٤ 08:49:37 GMT", nil),
        ] as [(String, Double?)])
    func parsesAllFormatsOfHTTPDates(text: String, seconds: Double?) {
        #expect(HTTPDate.parse(text, now: Self.now)?.timeIntervalSince1970 == seconds)
    }

    @Test(
        arguments: [
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (-1, "Wed, 31 Dec 1969 23:59:59 GMT"), (253_402_300_799, "Fri, 31 Dec 9999 23:59:59 GMT"),
            (253_402_300_800, nil), (.max, nil), (.min, nil),
        ] as [(Int, String?)])
    func writesYearsOfFourDigits(seconds: Int, text: String?) {
        #expect(HTTPDate.text(of: seconds) == text)
    }
}
