extension Duration {
    private static let attosecondsPerMillisecond: Int64 = 1_000_000_000_000_000

    /// The milliseconds without a fraction; the largest or smallest number for a longer duration.
    var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        let (whole, overflows) = seconds.multipliedReportingOverflow(by: 1000)
        guard !overflows else { return seconds < 0 ? .min : .max }
        let (sum, isTooLarge) = whole.addingReportingOverflow(attoseconds / Self.attosecondsPerMillisecond)
        guard !isTooLarge else { return seconds < 0 ? .min : .max }
        return sum
    }

    /// The milliseconds, of which the last one may have begun only: a time limit never becomes 0, or shorter.
    var wholeMillisecondsRoundedUp: Int64 {
        let whole = wholeMilliseconds
        let hasRest = components.attoseconds % Self.attosecondsPerMillisecond > 0
        return hasRest && whole < .max ? whole + 1 : whole
    }

    /// The milliseconds, exact to the microsecond.
    var fractionalMilliseconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) * 1000 + Double(attoseconds / (Self.attosecondsPerMillisecond / 1000)) / 1000
    }
}
