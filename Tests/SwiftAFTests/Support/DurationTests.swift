import AFTestServer
import FoundationEssentials
import Testing

@testable import SwiftAF

@Suite struct DurationTests {
    @Test(
        arguments: [
            (Duration.zero, 0, 0, 0.0, 0), (.milliseconds(1), 1, 1, 1, 1), (.nanoseconds(1), 0, 1, 0, 1),
            (.microseconds(1500), 1, 2, 1.5, 2), (.seconds(2) + .nanoseconds(999), 2000, 2001, 2000, 2001),
            (.microseconds(-1500), -1, -1, -1.5, 0), (.seconds(5_000_000), 5_000_000_000, 5_000_000_000, 5e9, .max),
        ] as [(Duration, Int64, Int64, Double, UInt32)])
    func millisecondsOfDuration(
        duration: Duration, whole: Int64, roundedUp: Int64, fractional: Double, limit: UInt32
    ) {
        #expect(duration.wholeMilliseconds == whole && duration.wholeMillisecondsRoundedUp == roundedUp)
        #expect(duration.fractionalMilliseconds == fractional && duration.coreMilliseconds == limit)
    }

    @Test func longestDurationsAreTheLargestNumbers() {
        #expect(Duration.seconds(Int64.max).wholeMillisecondsRoundedUp == .max)
        #expect(Duration.seconds(Int64.min).wholeMilliseconds == .min)
        #expect(Duration.seconds(Int64.max).coreMilliseconds == .max)
    }

    @Test(
        arguments: [
            (.zero, 0, 0, 0), (.seconds(-2), -2, 0, -2),
            (Duration(secondsComponent: 0, attosecondsComponent: 1), 0, 1, 1),
            (.seconds(Int64.max), .max, 0, .max), (.seconds(Int64.max) * 3, .max, 0, .max),
            (.seconds(Int64.max) * -3, .min, 0, .min), (.seconds(Int64.max) + .milliseconds(1), .max, 0, .max),
            (.nanoseconds(-1), 0, -1_000_000_000, 0),
        ] as [(Duration, Int64, Int64, Int64)])
    func secondsOfDurationAreLimited(duration: Duration, seconds: Int64, attoseconds: Int64, roundedUp: Int64) {
        #expect(duration.limitedComponents == (seconds, attoseconds))
        #expect(duration.wholeSecondsRoundedUp == roundedUp)
        // These neither trap nor change the sign.
        #expect(duration.wholeMilliseconds.signum() * seconds.signum() >= 0)
        #expect(
            duration.fractionalMilliseconds * Double(seconds) >= 0
                && (duration > .zero || duration.coreMilliseconds == 0))
    }

    @Test func backoffOfTheLongestDurationsIsFinite() {
        let longest = Duration.seconds(Int64.max) * 18
        let backoff = Backoff(least: longest, jitter: longest, maximumJitter: longest)
        #expect(backoff.delay(failures: 100, random: 0.99) <= .seconds(Int64.max) * 2)
    }

    @Test func longestTimeLimitsAreNoLimits() async throws {
        let server = try TestServer()
        server.route("/x", .text("x"))
        let coded = Data(
            #"{"total":[4000000000000000000,0],"connect":[9223372036854775807,18446744073709551615]}"#.utf8)
        var configuration = SessionConfiguration()
        configuration.idleConnectionLifetime = .seconds(Int64.max) * 2
        configuration.maximumConnectionAge = .seconds(Int64.max) * 3
        for interceptors in [[], [Interceptor(adapt: { request, _ in request })]] {
            let manager = HTTPSessionManager(baseURL: server.urlString("/"), configuration: configuration)
            manager.interceptors = interceptors
            var request = HTTPRequest("x")
            request.timeouts = try JSONCoder().decode(HTTPRequest.Timeouts.self, from: coded)
            #expect(try await manager.response(for: request).text() == "x")
            request.timeouts.total = Duration(secondsComponent: .max, attosecondsComponent: .max)
            #expect(try await manager.response(for: request).text() == "x")
        }
    }
}
