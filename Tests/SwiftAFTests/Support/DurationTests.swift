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
}
