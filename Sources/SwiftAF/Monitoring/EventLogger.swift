import FoundationEssentials

/// Logs the events of requests, with the secrets of header fields and URLs redacted. Bodies aren't redacted.
///
/// ```swift
/// manager.eventMonitors = [EventLogger(level: .headers)]
/// ```
public struct EventLogger: EventMonitor {
    /// The level of detail. Each level includes the previous one.
    public enum Level: Int, Sendable, Comparable {
        /// Requests that failed or have a response with status 400 or higher.
        case failures
        /// Every request at its end, and retries.
        case requests
        /// The heads of each attempt, its redirects and its response.
        case headers
        /// Also bodies in memory, up to ``EventLogger/maximumBodySize``.
        case bodies

        public static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
    }

    /// The level of detail.
    public let level: Level
    /// What to hide. Bodies aren't redacted. Default: ``Redaction/standard``.
    public var redaction = Redaction.standard
    /// The maximum number of body bytes to log. Default: 4096.
    public var maximumBodySize = 4096

    private let write: @Sendable (Level, String) -> Void

    /// Creates a logger.
    ///
    /// - Parameters:
    ///   - level: How much is logged.
    ///   - write: Called with one or more lines, without a trailing line break, and their level, on the manager's
    ///     monitor queue. Nil writes to standard error.
    public init(level: Level = .requests, write: (@Sendable (Level, String) -> Void)? = nil) {
        self.level = level
        self.write = write ?? { _, text in StandardError.write(text + "\n") }
    }

    public func requestSent(_ request: MonitoredRequest, as sent: HTTPRequest, attempt: Int) {
        guard level >= .headers else { return }
        let title = attempt == 1 ? "" : " (attempt \(attempt))"
        say(.headers, request, ["\(sent.method) \(shown(sent.url))\(title)"] + lines(sent.headers, ">"))
        guard level >= .bodies else { return }
        if let body = sent.body.data {
            say(.bodies, request, [text(of: body)])
        } else if !sent.body.isNone {
            say(.bodies, request, ["\(sent.body)"])
        }
    }

    public func requestRedirected(
        _ request: MonitoredRequest, by proposal: RedirectProposal, decision: RedirectDecision
    ) {
        guard level >= .headers else { return }
        let next: String
        switch decision {
        case .follow: next = "to \(proposal.request.method) \(shown(proposal.request.url))"
        case .replace(let other): next = "to \(other.method) \(shown(other.url)), replaced"
        case .stop: next = "not followed"
        case .fail: next = "refused"
        }
        let status = proposal.response.status
        say(.headers, request, ["\(status), \(next)"] + lines(proposal.response.headers, "<"))
    }

    public func challengeAnswered(_ request: MonitoredRequest, _ challenge: AuthenticationChallenge) {
        guard level >= .headers else { return }
        let (status, scheme) = (challenge.response.status, challenge.protectionSpace.authenticationScheme)
        say(.headers, request, ["\(status), answered by \(scheme)"] + lines(challenge.response.headers, "<"))
    }

    public func responseReceived(_ request: MonitoredRequest, _ response: HTTPResponse) {
        guard level >= .headers else { return }
        say(.headers, request, ["\(response.version) \(response.status)"] + lines(response.headers, "<"))
    }

    public func requestRetried(_ request: MonitoredRequest, after outcome: AttemptOutcome, delay: Duration) {
        guard level >= .requests else { return }
        let cause = outcome.error.map { $0.code.rawValue } ?? outcome.status.map(String.init) ?? "?"
        say(.requests, request, ["\(name(request)): \(cause), again in \(delay.wholeMilliseconds) ms"])
    }

    public func requestFinished(_ request: MonitoredRequest, with result: RequestResult) {
        let hasFailed = result.error != nil || (result.response?.status ?? 0) >= 400
        let level = hasFailed ? Level.failures : .requests
        guard self.level >= level else { return }
        let end = result.error.map { "\($0)" } ?? result.response.map { "\($0.status)" } ?? "no response"
        let size = "\(result.metrics.bytesReceived) bytes"
        let time = result.metrics.total.map { ", \($0.wholeMilliseconds) ms" } ?? ""
        say(level, request, ["\(name(request)): \(end), \(size)\(time)"])
        if self.level >= .bodies, let body = result.body, !body.isEmpty { say(.bodies, request, [text(of: body)]) }
    }

    // MARK: Texts

    private func say(_ level: Level, _ request: MonitoredRequest, _ lines: [String]) {
        write(level, lines.map { "[\(request.id)] \(ASCII.printable($0))" }.joined(separator: "\n"))
    }

    private func name(_ request: MonitoredRequest) -> String {
        "\(request.request.method) \(shown(request.request.url))"
    }

    private func shown(_ url: String) -> String { redaction.url(url) }

    private func lines(_ headers: HTTPHeaders, _ mark: String) -> [String] {
        headers.fields.map { "\(mark) \($0.name): \(redaction.value(of: $0))" }
    }

    private func text(of body: Data) -> String {
        guard let text = String(startOf: body, upTo: max(0, maximumBodySize)) else { return "\(body.count) bytes" }
        return text.utf8.count < body.count ? "\(text)… (\(body.count) bytes)" : text
    }
}
