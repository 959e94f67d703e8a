extension Duration {
    /// Returns the sum, or the longest duration with its sign if the sum overflows.
    func addingClamped(_ other: Duration) -> Duration {
        let (sum, overflows) = attoseconds.addingReportingOverflow(other.attoseconds)
        return overflows ? Duration(attoseconds: attoseconds < 0 ? .min : .max) : Duration(attoseconds: sum)
    }

    /// Like `components`, but limited to what `Int64` can hold: `components` traps for more than about 292 billion
    /// years.
    package var limitedComponents: (seconds: Int64, attoseconds: Int64) {
        min(max(self, .seconds(Int64.min)), .seconds(Int64.max)).components
    }

    /// The seconds with their fraction, as a floating-point number.
    package var fractionalSeconds: Double {
        let (seconds, attoseconds) = limitedComponents
        return Double(seconds) + Double(attoseconds) / 1e18
    }

    /// The seconds, rounded up; the largest or smallest number for a duration that `Int64` can't hold.
    var wholeSecondsRoundedUp: Int64 {
        let (seconds, attoseconds) = limitedComponents
        return attoseconds > 0 && seconds < .max ? seconds + 1 : seconds
    }

    private static let attosecondsPerMillisecond: Int64 = 1_000_000_000_000_000

    /// The milliseconds without a fraction; the largest or smallest number for a duration that `Int64` can't hold.
    package var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = limitedComponents
        let (whole, overflows) = seconds.multipliedReportingOverflow(by: 1000)
        guard !overflows else { return seconds < 0 ? .min : .max }
        let (sum, isTooLarge) = whole.addingReportingOverflow(attoseconds / Self.attosecondsPerMillisecond)
        guard !isTooLarge else { return seconds < 0 ? .min : .max }
        return sum
    }

    /// The milliseconds, rounded up, so that a time limit never becomes shorter, or 0.
    var wholeMillisecondsRoundedUp: Int64 {
        let whole = wholeMilliseconds
        let hasRest = limitedComponents.attoseconds % Self.attosecondsPerMillisecond > 0
        return hasRest && whole < .max ? whole + 1 : whole
    }

    /// The milliseconds, exact to the microsecond: rounded once, as one division.
    package var fractionalMilliseconds: Double {
        let (seconds, attoseconds) = limitedComponents
        return (Double(seconds) * 1_000_000 + Double(attoseconds / (Self.attosecondsPerMillisecond / 1000))) / 1000
    }
}
