import SwiftAF

/// Prints what was sent and received with `-v`, line by line, as reported by the core.
final class WireLog: EventMonitor {
    let tracesWire = true
    /// Whether ``lastHead`` is recorded.
    let keepsHead: Bool
    private let write: @Sendable ([String]) -> Void
    private let head = Locked<String?>(nil)

    /// - Parameter write: Called with lines that belong together.
    init(_ write: @escaping @Sendable ([String]) -> Void, keepsHead: Bool = false) {
        self.write = write
        self.keepsHead = keepsHead
    }

    /// The head of the last request that was sent, with credentials hidden and an empty line behind it.
    var lastHead: String? { head.withLock { $0 } }

    func requestTraced(_ request: MonitoredRequest, _ trace: WireTrace) {
        if keepsHead, case .requestHead(let bytes) = trace.event {
            let lines = Self.lines(trace).map { String($0.dropFirst(2)) + "\r\n" }
            head.withLock { $0 = bytes.isEmpty ? nil : lines.joined() }
        }
        write(Self.lines(trace))
    }

    func requestRetried(_ request: MonitoredRequest, after outcome: AttemptOutcome, delay: Duration) {
        let cause = outcome.error.map(\.message) ?? "status \(outcome.status ?? 0)"
        write(["* \(cause.printable); repeated in \(Format.milliseconds(delay))"])
    }

    func requestFinished(_ request: MonitoredRequest, with result: RequestResult) {
        if let error = result.error { write(Self.refusal(error)) }
    }

    // MARK: Lines

    /// Returns why a TLS connection wasn't used, with the certificates of the server, as far as that is known.
    static func refusal(_ error: SessionError) -> [String] {
        guard error.code == .untrusted || error.code == .tls else { return [] }
        guard let report = error.trust else { return ["* TLS failed: \(error.message.printable)"] }
        return ["* \(TrustText.verdict(report))"] + TrustText.chain(report).map { "*   \($0)" }
    }

    static func lines(_ trace: WireTrace) -> [String] {
        switch trace.event {
        case .connection(let connection): ["* \(text(connection))"]
        case .requestHead(let head): lines(head, ">")
        case .responseLine(let line): lines(line, "<")
        }
    }

    private static func lines(_ bytes: [UInt8], _ mark: String) -> [String] {
        var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        if lines.last?.isEmpty == true { lines.removeLast() }
        return lines.map { line in
            let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
            return line.isEmpty ? mark : "\(mark) \(text(line).printable)"
        }
    }

    /// Decodes UTF-8, or ISO-8859-1 (HTTP's historic encoding) if it isn't valid UTF-8.
    private static func text(_ bytes: ArraySlice<UInt8>) -> String {
        String(validating: bytes, as: UTF8.self)
            ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }

    private static func text(_ connection: WireTrace.Connection) -> String {
        let address = connection.address.map { "\($0) port \(connection.port)" } ?? "a Unix-domain socket"
        var parts = ["\(connection.isReused ? "reusing the connection to" : "connected to") \(address)"]
        if connection.isProxy { parts[0] += " (proxy)" }
        if let version = connection.tlsVersion { parts.append(version) }
        if let cipher = connection.cipher { parts.append(cipher) }
        if let name = connection.applicationProtocol { parts.append("ALPN \(name)") }
        if let subject = connection.certificateSubject { parts.append("certificate \(subject)") }
        return parts.joined(separator: ", ").printable
    }
}
