import FoundationEssentials
import SwiftAF

/// The object that `--json` prints. It always has the same fields; those without a value are null. For `trust`,
/// `cache` and `--cache`, and for a response with trailers, fields are added.
struct Report {
    let outcome: Outcome

    /// Returns the object as JSON text with a line break.
    ///
    /// - Parameter isForTerminal: Whether it is written in lines and without control characters.
    func text(isForTerminal: Bool) throws(JSONValue.WritingError) -> String {
        let json = try json
        return String(decoding: isForTerminal ? Style(isColoured: false).pretty(json) : json.bytes, as: UTF8.self)
            + "\n"
    }

    /// The object, with the body's JSON unchanged.
    private var json: JSONText {
        get throws(JSONValue.WritingError) {
            var members: [(String, JSONText)] = []
            for (name, value) in zip(value.object?.keys ?? [], value.object?.values ?? []) {
                switch (name, outcome.transfer?.json) {
                case ("json", let body?): members.append((name, body.compact))
                case ("downloads", _):
                    var parts: [JSONText] = []
                    for part in outcome.parts { parts.append(try Report(outcome: part).json) }
                    members.append((name, .array(parts)))
                default: members.append((name, try .value(value)))
                }
            }
            return .object(members)
        }
    }

    /// The object without the body's JSON, which ``text(isForTerminal:)`` inserts.
    var value: JSONValue {
        switch outcome.content {
        case .parts: several
        // Added for `trust` only: scripts rely on the fields of the other reports.
        case .trust(let trust, let url): value(of: TransferOutcome(url: url), ["trust": TrustText.value(trust)])
        case .text(let text): value(of: TransferOutcome(body: Data(text.utf8), bodyBytes: text.utf8.count))
        case .transfer(let transfer): value(of: transfer)
        case .empty, .printed: value(of: TransferOutcome())
        }
    }

    private var several: JSONValue {
        [
            "ok": .bool(outcome.failure == nil),
            "downloads": [],
            "error": outcome.failure.map(Self.error) ?? .null,
        ]
    }

    private func value(
        of transfer: TransferOutcome, _ moreFields: KeyValuePairs<String, JSONValue> = [:]
    ) -> JSONValue {
        var fields = fields(of: transfer)
        for (name, value) in outcome.addedFields { fields[name] = value }
        for (name, value) in moreFields { fields[name] = value }
        return .object(fields)
    }

    private func fields(of transfer: TransferOutcome) -> JSONObject {
        let response = transfer.response
        let text = transfer.body.flatMap { String(validating: $0, as: UTF8.self) }
        let base64 = text == nil ? transfer.body?.base64EncodedString() : nil
        return [
            "ok": .bool(outcome.failure == nil),
            "status": (response?.status).orNull,
            "version": (response?.version.number).orNull,
            "url": transfer.url.map { URLText($0).withoutUserInfo }.orNull,
            "headers": response.map { Self.pairs($0.headers) } ?? .null,
            "body": text.orNull,
            "bodyBase64": base64.orNull,
            "bodyBytes": transfer.bodyBytes.orNull,
            "json": .null,
            "file": transfer.file.orNull,
            "redirects": transfer.metrics.map { .array(redirects($0, transfer.locations)) } ?? .null,
            "timings": transfer.metrics.flatMap(Self.timings) ?? .null,
            "reused": transfer.metrics?.hops.last.map { .bool($0.isReused) } ?? .null,
            "sent": (transfer.metrics?.bytesSent).map { .integer($0) } ?? .null,
            "received": (transfer.metrics?.bytesReceived).map { .integer($0) } ?? .null,
            "error": outcome.failure.map(Self.error) ?? .null,
        ]
    }

    /// Returns fields as pairs of name and value, in order.
    static func pairs(_ headers: HTTPHeaders) -> JSONValue {
        .array(headers.fields.map { [.string($0.name), .string($0.value)] })
    }

    /// Returns the redirects that were followed.
    private func redirects(_ metrics: ResponseMetrics, _ locations: [String]) -> [JSONValue] {
        zip(metrics.hops.filter { $0.location != nil }, locations).map { hop, location in
            [
                "status": .integer(Int64(hop.status)),
                "url": .string(URLText(hop.url).withoutUserInfo),
                "location": .string(URLText(location).withoutUserInfo),
            ]
        }
    }

    /// Returns the times at which the phases of the final hop ended, counted from the start of the first hop.
    private static func timings(_ metrics: ResponseMetrics) -> JSONValue? {
        let start = metrics.redirects.compactMap(\.total).reduce(.zero, +)
        func milliseconds(_ time: Duration?) -> JSONValue {
            time.map { .double((start + $0).fractionalMilliseconds) } ?? .null
        }
        return metrics.hops.last.map { hop in
            [
                "dns": milliseconds(hop.dnsDone), "connect": milliseconds(hop.connectDone),
                "tls": milliseconds(hop.tlsDone), "firstByte": milliseconds(hop.firstByte),
                "total": metrics.total.map { .double($0.fractionalMilliseconds) } ?? .null,
            ]
        }
    }

    static func error(_ failure: Failure) -> JSONValue {
        [
            "code": .string(failure.code.name), "message": .string(failure.message), "reason": failure.reason.orNull,
            "resumable": .bool(failure.resumption != nil),
        ]
    }
}

extension String? {
    fileprivate var orNull: JSONValue { map { .string($0) } ?? .null }
}

extension Int? {
    fileprivate var orNull: JSONValue { map { .integer(Int64($0)) } ?? .null }
}
