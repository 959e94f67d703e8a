import Testing

@testable import SwiftAF

@Suite struct EventStreamStateTests {
    private static func response(_ status: Int, _ type: String?) -> HTTPResponse {
        var headers = HTTPHeaders()
        headers["Content-Type"] = type
        return HTTPResponse(status: status, headers: headers, url: "http://host/")
    }

    private static func options(_ change: (inout ServerSentEvents.Options) -> Void = { _ in })
        -> ServerSentEvents.Options
    {
        var options = ServerSentEvents.Options()
        change(&options)
        return options
    }

    private static let lost = SessionError(.connectionLost)

    @Test(
        arguments: [
            (200, "text/event-stream", "read"),
            (200, "Text/Event-Stream; charset=utf-8", "read"),
            (200, "text/event-stream;x", "read"),
            (200, "text/html", "contentType"),
            (200, "text/event-streams", "contentType"),
            (200, nil, "contentType"),
            (204, nil, "end"),
            (204, "text/html", "end"),
            (201, "text/event-stream", "status"),
            (206, "text/event-stream", "status"),
            (304, "text/event-stream", "status"),
            (301, "text/event-stream", "status"),
            (401, "text/event-stream", "status"),
            (404, "text/html", "status"),
            (503, "text/event-stream", "status"),
        ] as [(Int, String?, String)])
    func responseHeadDecidesWhetherStreamIsRead(status: Int, type: String?, expected: String) {
        var state = EventStreamState(options: Self.options())
        let found =
            switch state.decide(Self.response(status, type)) {
            case .read: "read"
            case .end: "end"
            case .lost: "lost"
            case .fail(let error): error.code.rawValue
            }
        #expect(found == expected)
    }

    @Test(arguments: [(503, true), (500, false), (404, false)])
    func retriesOnlyListedStatuses(status: Int, isRetried: Bool) {
        var state = EventStreamState(
            options: Self.options {
                $0.retriedStatusCodes = [502, 503]
                $0.maximumRetries = 1
            })
        switch state.decide(Self.response(status, nil)) {
        case .lost(let error):
            #expect(isRetried && error.status == status)
            #expect(Self.delay(state.ended(error, retry: nil, random: 0)) == .seconds(3))
            guard case .fail(let last) = state.ended(error, retry: nil, random: 0) else {
                Issue.record("one attempt too many")
                return
            }
            #expect(last.status == status)
        case .fail: #expect(!isRetried)
        case .read, .end: Issue.record("no event stream")
        }
    }

    @Test(arguments: [("text/html", "text/html"), (nil, "no content type")])
    func namesTheTypeThatIsNoEventStream(type: String?, shown: String) {
        var state = EventStreamState(options: Self.options())
        guard case .fail(let error) = state.decide(Self.response(200, type)) else {
            Issue.record("not refused")
            return
        }
        #expect(error.message == "expected text/event-stream, got \(shown)")
    }

    @Test(
        arguments: [
            (.dns, true), (.connect, true), (.connectionLost, true), (.truncated, true), (.timeout, true),
            (.protocol, true), (.tls, true), (.untrusted, false), (.cancelled, false), (.closed, false),
            (.invalidInput, false), (.tooLarge, false), (.redirect, false), (.bodyNotReplayable, false),
            (.outOfMemory, false), (.authentication, false), (.unknown, false),
        ] as [(SessionError.Code, Bool)])
    func reconnectsOnlyAfterTransientErrors(code: SessionError.Code, mayPass: Bool) {
        var state = EventStreamState(options: Self.options())
        switch state.ended(SessionError(code), retry: nil, random: 0) {
        case .reconnect: #expect(mayPass)
        case .end: Issue.record("an end without a stream")
        case .fail(let error):
            #expect(!mayPass)
            #expect(error.code == code)
        }
    }

    @Test(
        arguments: [
            // A complete response, or a lost connection.
            (.automatic, .get, true, nil, "reconnect"), (.automatic, .put, true, .truncated, "reconnect"),
            (.automatic, .post, true, nil, "end"), (.automatic, .post, true, .truncated, "truncated"),
            (.automatic, .post, true, .timeout, "timeout"), (.automatic, .post, true, .connect, "connect"),
            (.automatic, .post, true, .dns, "dns"), (.automatic, .patch, true, .connectionLost, "connectionLost"),
            (.automatic, .get, false, nil, "end"), (.automatic, .put, false, .truncated, "truncated"),
            (.always, .post, true, nil, "reconnect"), (.always, .post, true, .truncated, "reconnect"),
            (.always, .get, false, nil, "bodyNotReplayable"), (.always, .post, false, .connect, "bodyNotReplayable"),
            (.always, .post, false, .untrusted, "untrusted"),
            (.never, .get, true, nil, "end"), (.never, .get, true, .connect, "connect"),
            (.never, .get, false, nil, "end"),
            // A status that is listed.
            (.automatic, .post, true, .status, "reconnect"), (.automatic, .post, false, .status, "status"),
            (.never, .get, true, .status, "status"), (.always, .post, false, .status, "bodyNotReplayable"),
        ] as [(ServerSentEvents.Reconnection, HTTPMethod, Bool, SessionError.Code?, String)])
    func repeatsWhatTheOptionsAllow(
        reconnects: ServerSentEvents.Reconnection, method: HTTPMethod, isReplayable: Bool, code: SessionError.Code?,
        expected: String
    ) {
        let options = Self.options {
            $0.reconnects = reconnects
            $0.retriedStatusCodes = [503]
        }
        var state = EventStreamState(options: options, method: method, isReplayable: isReplayable)
        let error = code.map { SessionError($0, response: $0 == .status ? Self.response(503, nil) : nil) }
        let found =
            switch state.ended(error, retry: nil, random: 0) {
            case .reconnect: "reconnect"
            case .end: "end"
            case .fail(let error): error.code.rawValue
            }
        #expect(found == expected)
    }

    /// The server didn't act on a request that had no credential.
    @Test(arguments: [(.connect, true), (.untrusted, false)] as [(SessionError.Code, Bool)])
    func repeatsEveryMethodAfterAFailedTokenRefresh(code: SessionError.Code, isRepeated: Bool) {
        var state = EventStreamState(options: Self.options(), method: .post)
        let error = SessionError(.authentication, underlying: SessionError(code))
        #expect((Self.delay(state.ended(error, retry: nil, random: 0)) != nil) == isRepeated)
    }

    private static func delay(_ next: ReconnectionDecision) -> Duration? {
        if case .reconnect(let delay) = next { delay } else { nil }
    }

    @Test(
        arguments: [
            (nil, 3000), (0, 500), (499, 500), (500, 500), (501, 501), (7000, 7000), (60_000, 60_000), (60_001, 60_000),
            (.max, 60_000),
        ] as [(Int64?, Int64)])
    func retryTimeIsClampedToItsLimits(retry: Int64?, expected: Int64) {
        for random in [0, 0.5, 0.99, 7, -7, .nan] {
            var state = EventStreamState(options: Self.options())
            _ = state.decide(Self.response(200, "text/event-stream"))
            let next = state.ended(nil, retry: retry.map { .milliseconds($0) }, random: random)
            #expect(Self.delay(next) == .milliseconds(expected))
        }
    }

    @Test func delaysDoubleUntilStreamResetsThem() {
        var state = EventStreamState(options: Self.options { $0.maximumRetries = nil })
        let longest = [6, 9, 15, 27, 51, 60, 60].map { Duration.seconds($0) }
        for expected in longest {
            var copy = state
            #expect(Self.delay(copy.ended(Self.lost, retry: nil, random: 0)) == .seconds(3))
            copy = state
            #expect(
                Self.delay(copy.ended(Self.lost, retry: nil, random: 0.5)) == .seconds(3) + (expected - .seconds(3)) / 2
            )
            #expect(Self.delay(state.ended(Self.lost, retry: nil, random: 1)) == expected)
        }
        for _ in 0..<1000 { _ = state.ended(Self.lost, retry: .zero, random: 1) }
        #expect(Self.delay(state.ended(Self.lost, retry: .zero, random: 1)) == .seconds(60))
        _ = state.decide(Self.response(200, "text/event-stream"))
        #expect(Self.delay(state.ended(Self.lost, retry: nil, random: 1)) == .seconds(3))
        #expect(Self.delay(state.ended(Self.lost, retry: nil, random: 1)) == .seconds(6))
    }

    @Test(arguments: [0, 1, 5])
    func countsOnlyConsecutiveFailuresAsAttempts(most: Int) {
        var state = EventStreamState(options: Self.options { $0.maximumRetries = most })
        for _ in 0..<3 {
            for _ in 0..<most {
                #expect(Self.delay(state.ended(Self.lost, retry: nil, random: 0)) != nil)
            }
            _ = state.decide(Self.response(200, "text/event-stream"))
            // The loss of a stream is not one of them.
            #expect(Self.delay(state.ended(Self.lost, retry: nil, random: 0)) != nil)
        }
        for _ in 0..<most { _ = state.ended(Self.lost, retry: nil, random: 0) }
        guard case .fail(let error) = state.ended(Self.lost, retry: nil, random: 0) else {
            Issue.record("one attempt too many")
            return
        }
        #expect(error.code == .connectionLost)
    }

    @Test func unreasonableOptionsKeepDelaysNonNegative() {
        let huge = Duration(secondsComponent: .max, attosecondsComponent: 0)
        for (least, most) in [
            (Duration.seconds(-5), Duration.seconds(-9)), (.zero, .zero), (huge, .zero), (.zero, huge),
        ] {
            var state = EventStreamState(
                options: Self.options {
                    $0.minimumDelay = least
                    $0.maximumDelay = most
                    $0.maximumRetries = nil
                    $0.reconnectionTime = .seconds(1)
                })
            for _ in 0..<200 {
                let delay = Self.delay(state.ended(Self.lost, retry: .milliseconds(Int64.max), random: 1))
                #expect(delay ?? .seconds(-1) >= .zero)
            }
        }
    }
}
