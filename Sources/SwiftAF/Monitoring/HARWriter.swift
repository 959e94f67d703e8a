import FoundationEssentials

/// Writes entries of an HTTP archive. Unknown sizes and times are -1, as in the format.
struct HARWriter {
    let redaction: Redaction
    let maximumBodySize: Int

    /// Returns the entries of one attempt's requests. The core may have sent requests without an event, such as after a
    /// missing network route or an unusable partial file; for these only status and times are known.
    func entries(_ legs: [HARLeg], _ result: RequestResult) -> [JSONValue] {
        let hops = result.metrics.hops
        var entries: [JSONValue] = []
        var next = 0
        for hop in hops where next < legs.count {
            var leg = legs[next]
            if let status = leg.response?.status, status != hop.status {
                leg.response = HTTPResponse(status: hop.status, url: hop.url)
                entries.append(entry(leg, hop, nil))
            } else {
                next += 1
                entries.append(entry(leg, hop, next == legs.count ? result : nil))
            }
        }
        for (index, leg) in legs.enumerated().dropFirst(next) {
            entries.append(entry(leg, nil, index == legs.count - 1 ? result : nil))
        }
        return entries
    }

    /// - Parameter result: The result of the last request.
    private func entry(_ leg: HARLeg, _ hop: HopMetrics?, _ result: RequestResult?) -> JSONValue {
        let timings = Timings(hop)
        var entry: JSONObject = [
            "startedDateTime": .string(Self.text(of: leg.start)),
            "time": .double(timings.sum),
            "request": request(leg, hop),
            "response": response(leg.response, hop, result),
            "cache": [:],
            "timings": timings.json,
        ]
        if let address = hop?.remoteAddress { entry["serverIPAddress"] = .string(address.ip) }
        if let port = hop?.localAddress?.port { entry["connection"] = .string(String(port)) }
        if !leg.messages.isEmpty {
            entry["_resourceType"] = "websocket"
            entry["_webSocketMessages"] = .array(leg.messages)
        }
        var comment = leg.comment
        if let error = result?.error { comment = error.reason.map { "\(error.code) (\($0))" } ?? "\(error.code)" }
        if leg.droppedMessages > 0 {
            comment = (comment.map { $0 + "; " } ?? "") + "\(leg.droppedMessages) later messages weren't recorded"
        }
        if let comment { entry["comment"] = .string(comment) }
        return .object(entry)
    }

    // MARK: Messages of WebSockets

    /// Returns a message in the format that browsers write: bytes as Base64, the time in seconds since 1970.
    func message(_ message: WebSocket.Message, isSent: Bool, at date: Date) -> JSONValue {
        var members: JSONObject = [
            "type": isSent ? "send" : "receive", "time": .double(date.timeIntervalSince1970),
        ]
        let size: Int
        let shown: Int
        switch message {
        case .text(let text):
            let start = Self.prefix(of: text, maximumBodySize)
            members["opcode"] = 1
            members["data"] = .string(String(start))
            (size, shown) = (text.utf8.count, start.utf8.count)
        case .binary(let data):
            let start = data.prefix(maximumBodySize)
            members["opcode"] = 2
            members["data"] = .string(start.base64EncodedString())
            (size, shown) = (data.count, start.count)
        }
        if shown < size { members["comment"] = .string("the first \(shown) of \(size) bytes") }
        return .object(members)
    }

    /// Returns the longest prefix of a text with at most this number of bytes.
    private static func prefix(of text: String, _ size: Int) -> Substring {
        guard text.utf8.count > size else { return text[...] }
        var end = text.utf8.index(text.startIndex, offsetBy: size)
        while end.samePosition(in: text.unicodeScalars) == nil { end = text.utf8.index(before: end) }
        return text[..<end]
    }

    // MARK: Times

    private static func text(of date: Date) -> String {
        date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    // MARK: The request

    /// Returns the fields that were sent. Fields that the request has are taken from it, because the trace may have
    /// hidden their values.
    private func sentFields(_ leg: HARLeg) -> HTTPHeaders {
        guard let head = leg.sentHead else { return leg.request.headers }
        var given = leg.request.headers.fields[...]
        var sent: HTTPHeaders = [:]
        for line in head.split(whereSeparator: { "\r\n".utf8.contains($0) }).dropFirst() {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { continue }
            let name = String(decoding: line[..<colon], as: UTF8.self)
            if let index = given.firstIndex(where: { $0.isNamed(name) }) {
                sent.add(given.remove(at: index))
            } else {
                let value = String(decoding: line[(colon + 1)...], as: UTF8.self)
                sent.add(HTTPHeaders.Field(name: name, value: String(ASCII.trimmingBlanks(value[...]))))
            }
        }
        return sent
    }

    private func request(_ leg: HARLeg, _ hop: HopMetrics?) -> JSONValue {
        let request = leg.request
        var members: JSONObject = [
            "method": .string(request.method.rawValue),
            "url": .string(redaction.url(request.url)),
            "httpVersion": .string(hop?.version?.description ?? ""),
            "cookies": cookies(request.headers, .cookie),
            "headers": headers(sentFields(leg)),
            "queryString": .array(queryItems(of: request.url)),
            "headersSize": -1,
            "bodySize": .integer(request.body.isNone ? 0 : hop?.bytesSent ?? -1),
        ]
        if !request.body.isNone {
            var data: JSONObject = [
                "mimeType": .string(request.headers.first(named: .contentType) ?? ""), "text": "",
            ]
            if let body = request.body.data, maximumBodySize > 0 {
                let (text, encoding, comment) = shown(body)
                data["text"] = .string(text)
                data["encoding"] = encoding.map { .string($0) }
                data["comment"] = comment.map { .string($0) }
            } else {
                data["comment"] = .string("not kept")
            }
            members["postData"] = .object(data)
        }
        return .object(members)
    }

    private func queryItems(of url: String) -> [JSONValue] {
        let shown = URLText(redaction.url(url))
        guard let query = shown.query, !query.isEmpty else { return [] }
        return query.utf8.split(separator: UInt8(ascii: "&")).map { Self.pair(Substring($0)) }
    }

    // MARK: The response

    private func response(_ response: HTTPResponse?, _ hop: HopMetrics?, _ result: RequestResult?) -> JSONValue {
        let location = response?.headers.first(named: .location)
        let isRedirect = (300...399).contains(response?.status ?? 0)
        return [
            "status": .integer(Int64(response?.status ?? 0)),
            "statusText": .string(response?.reason ?? ""),
            "httpVersion": .string((response?.version ?? hop?.version)?.description ?? ""),
            "cookies": cookies(response?.headers ?? [:], .setCookie),
            "headers": headers(response?.headers ?? [:]),
            "content": content(response, hop, result?.body),
            "redirectURL": .string(isRedirect ? location.map(redaction.url) ?? "" : ""),
            "headersSize": .integer(hop.map { $0.headBytesReceived > 0 ? $0.headBytesReceived : -1 } ?? -1),
            "bodySize": .integer(hop?.bytesReceived ?? -1),
        ]
    }

    private func content(_ response: HTTPResponse?, _ hop: HopMetrics?, _ body: Data?) -> JSONValue {
        let size = body.map { Int64($0.count) } ?? hop?.bytesReceived ?? 0
        var content: JSONObject = [
            "size": .integer(size),
            "mimeType": .string(response?.headers.first(named: .contentType) ?? ""),
        ]
        if let body, !body.isEmpty, maximumBodySize > 0 {
            let (text, encoding, comment) = shown(body)
            content["text"] = .string(text)
            content["encoding"] = encoding.map { .string($0) }
            content["comment"] = comment.map { .string($0) }
        }
        return .object(content)
    }

    // MARK: Both

    private func headers(_ headers: HTTPHeaders) -> JSONValue {
        .array(headers.fields.map { Self.pair($0.name, redaction.value(of: $0)) })
    }

    private func cookies(_ headers: HTTPHeaders, _ name: HTTPHeaders.Name) -> JSONValue {
        let fields = headers.fields.filter { $0.isNamed(name) && !redaction.hides($0) }
        return .array(
            fields.flatMap { field in
                let pairs = field.value.utf8.split(separator: UInt8(ascii: ";"))
                // The other pairs of Set-Cookie are attributes.
                return (name == .setCookie ? pairs.prefix(1) : pairs[...]).map { pair in
                    Self.pair(ASCII.trimmingBlanks(Substring(pair)))
                }
            })
    }

    /// The name and the value of a query item or a cookie; the value is empty without `=`.
    private static func pair(_ text: Substring) -> JSONValue {
        let mark = text.utf8.firstIndex(of: UInt8(ascii: "=")) ?? text.endIndex
        return pair(String(text[..<mark]), String(Substring(text.utf8[mark...].dropFirst())))
    }

    private static func pair(_ name: String, _ value: String) -> JSONValue {
        ["name": .string(name), "value": .string(value)]
    }

    private func shown(_ body: Data) -> (text: String, encoding: String?, comment: String?) {
        func comment(_ shown: Int) -> String? {
            shown < body.count ? "the first \(shown) of \(body.count) bytes" : nil
        }
        if let text = String(startOf: body, upTo: maximumBodySize) { return (text, nil, comment(text.utf8.count)) }
        let start = body.prefix(maximumBodySize)
        return (start.base64EncodedString(), "base64", comment(start.count))
    }
}

/// The durations of a request's phases in milliseconds; nil if a phase didn't happen.
private struct Timings {
    private var dns: Double?
    private var connect: Double?
    private var tls: Double?
    private var send = 0.0
    private var wait = 0.0
    private var receive = 0.0

    init(_ hop: HopMetrics?) {
        guard let hop else { return }
        var reached = 0.0
        /// The duration of the phase that ends at a time. Times are never before earlier ones.
        func phase(until moment: Duration?) -> Double? {
            guard let moment else { return nil }
            let end = max(reached, moment.fractionalMilliseconds)
            defer { reached = end }
            return end - reached
        }
        if !hop.isReused {
            dns = phase(until: hop.dnsDone)
            connect = phase(until: hop.connectDone)
            tls = phase(until: hop.tlsDone)
            // In HAR, `connect` includes `ssl`.
            if let tls { connect = (connect ?? 0) + tls }
        }
        send = phase(until: hop.requestSent) ?? 0
        // Without a response, the remaining time counts as waiting.
        wait = phase(until: hop.firstByte ?? hop.total) ?? 0
        receive = phase(until: hop.total) ?? 0
    }

    var sum: Double { (dns ?? 0) + (connect ?? 0) + send + wait + receive }

    var json: JSONValue {
        [
            "blocked": -1, "dns": .double(dns ?? -1), "connect": .double(connect ?? -1), "send": .double(send),
            "wait": .double(wait), "receive": .double(receive), "ssl": .double(tls ?? -1),
        ]
    }
}
