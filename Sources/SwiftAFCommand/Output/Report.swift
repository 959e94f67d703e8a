import FoundationEssentials
import SwiftAF

/// The object that `--json` prints. It always has the same fields; those without a value are null. For `trust`,
/// `cache` and `--cache`, fields are added.
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
                switch (name, outcome.json) {
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
        if let trust = outcome.trust, case .object(var fields) = transfer {
            // Added for `trust` only: scripts rely on the fields of the other reports.
            fields["trust"] = TrustText.value(trust)
            return .object(fields)
        }
        guard outcome.parts.isEmpty else { return several }
        guard !outcome.addedFields.isEmpty, case .object(var fields) = transfer else { return transfer }
        for (name, value) in outcome.addedFields { fields[name] = value }
        return .object(fields)
    }

    private var several: JSONValue {
        [
            "ok": .bool(outcome.failure == nil),
            "downloads": [],
            "error": outcome.failure.map(Self.error) ?? .null,
        ]
    }

    private var transfer: JSONValue {
        let response = outcome.response
        let text = outcome.body.flatMap { String(validating: $0, as: UTF8.self) }
        let base64 = text == nil ? outcome.body?.base64EncodedString() : nil
        return [
            "ok": .bool(outcome.failure == nil),
            "status": (response?.status).orNull,
            "version": (response?.version.number).orNull,
            "url": outcome.url.map { URLText($0).withoutUserInfo }.orNull,
            "headers": response.map { .array($0.headers.fields.map(Self.header)) } ?? .null,
            "body": text.orNull,
            "bodyBase64": base64.orNull,
            "bodyBytes": outcome.bodyBytes.orNull,
            "json": .null,
            "file": outcome.file.orNull,
            "redirects": outcome.metrics.map { .array(redirects(of: $0)) } ?? .null,
            "timings": outcome.metrics.flatMap(Self.timings) ?? .null,
            "reused": outcome.metrics?.hops.last.map { .bool($0.isReused) } ?? .null,
            "sent": (outcome.metrics?.bytesSent).map { .integer($0) } ?? .null,
            "received": (outcome.metrics?.bytesReceived).map { .integer($0) } ?? .null,
            "error": outcome.failure.map(Self.error) ?? .null,
        ]
    }

    private static func header(_ field: HTTPHeaders.Field) -> JSONValue {
        [.string(field.name), .string(field.value)]
    }

    /// Returns the redirects that were followed.
    private func redirects(of metrics: ResponseMetrics) -> [JSONValue] {
        zip(metrics.hops.filter { $0.location != nil }, outcome.locations).map { hop, location in
            [
                "status": .integer(Int64(hop.status)),
                "url": .string(URLText(hop.url).withoutUserInfo),
                "location": .string(URLText(location).withoutUserInfo),
            ]
        }
    }

    /// Returns the phases of the final hop, and the total time of all hops.
    private static func timings(_ metrics: ResponseMetrics) -> JSONValue? {
        metrics.hops.last.map { hop in
            [
                "dns": milliseconds(hop.dnsDone), "connect": milliseconds(hop.connectDone),
                "tls": milliseconds(hop.tlsDone),
                "firstByte": milliseconds(hop.firstByte), "total": milliseconds(metrics.total),
            ]
        }
    }

    private static func milliseconds(_ duration: Duration?) -> JSONValue {
        duration.map { .double($0.milliseconds) } ?? .null
    }

    static func error(_ failure: Failure) -> JSONValue {
        [
            "code": .string(failure.code), "message": .string(failure.message), "reason": failure.reason.orNull,
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
