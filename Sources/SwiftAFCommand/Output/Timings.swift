import SwiftAF

/// The table that `--timings` prints: one line per hop, with the time at which each phase ended.
enum Timings {
    static func lines(_ metrics: ResponseMetrics) -> [String] {
        metrics.hops.flatMap { hop in
            let status = hop.status == 0 ? "---" : String(hop.status)
            return ["\(status) \(URLText(hop.url).withoutUserInfo.printable)", "    \(phases(of: hop))"]
        }
    }

    private static func phases(of hop: HopMetrics) -> String {
        let phases: [(String, Duration?)] = [
            ("dns", hop.dnsDone), ("connect", hop.connectDone), ("tls", hop.tlsDone), ("sent", hop.requestSent),
            ("first byte", hop.firstByte), ("total", hop.total),
        ]
        let texts = phases.compactMap { name, time in time.map { "\(name) \(Format.milliseconds($0))" } }
        return (texts + (hop.isReused ? ["connection reused"] : [])).joined(separator: "  ")
    }
}
