internal import CAFCore
import FoundationEssentials
import Glibc

/// What came out of a task, as values.
struct CoreOutcome: Sendable {
    /// The final head, if one came; also beside a failure.
    var response: HTTPResponse?
    /// What was collected in memory.
    var body = Data()
    /// Why the transfer failed, nil if it did not.
    var failure: SessionError?
    /// What came of a file that the body was to go to.
    var download: CoreDownload?
    /// What the server has shown of itself, if somebody asked.
    var trust: SharedTrustReport?

    /// Where the file is that the body went into, if it stands in its place.
    var filePath: String? {
        guard let download, failure == nil, let response else { return nil }
        return response.isSuccessful || download.resumption == .alreadyComplete ? download.path : nil
    }
}

extension CoreOutcome {
    /// Of a transfer that did not begin, or that was given up.
    init(failure: SessionError) {
        self.init(response: failure.response, failure: failure)
    }
}

/// Owns a result of the core. It crosses threads once, so that the loop does not spend time on it, and must then
/// be given to ``take(for:reportsTrust:bodyFailure:)``, ``takeResponse(for:)`` or ``discard()`` exactly once.
struct CoreResult: @unchecked Sendable {
    private let raw: OpaquePointer

    init(taking raw: OpaquePointer) {
        self.raw = raw
    }

    func discard() {
        af_result_free(raw)
    }

    /// Its content as Swift values; the result is freed. The body is handed over without a copy.
    ///
    /// - Parameters:
    ///   - url: What was asked for, for errors that came before anything was sent.
    ///   - reportsTrust: Whether somebody asked what the server has shown of itself.
    ///   - bodyFailure: Why the source of the request's body failed, if it did.
    func take(
        for url: String, reportsTrust: Bool, bodyFailure: @autoclosure () -> (any Error)?
    ) -> CoreOutcome {
        defer { af_result_free(raw) }
        let url = lastURL(expecting: url)
        let metrics = metrics(lastURL: url)
        let response = af_result_get_head(raw).map { makeResponse($0, url: url, metrics) }
        let body = takeBody()
        let download = af_result_get_download(raw).flatMap { CoreDownload($0.pointee) }
        let trust = reportsTrust ? trust : nil
        guard let failure = af_result_get_failure(raw), failure.pointee.status != .AF_OK else {
            return CoreOutcome(response: response, body: body, download: download, trust: trust)
        }
        var error = SessionError(failure.pointee, url: url, response: response, body: response == nil ? nil : body)
        if error.code == .bodySource, let cause = bodyFailure() { error = error.replacing(by: cause) }
        error.metrics = metrics
        if error.code == .untrusted { error.trust = (trust ?? self.trust)?.report }
        if let token = download?.token { error.resumeToken = token }
        return CoreOutcome(response: response, body: body, failure: error, download: download, trust: trust)
    }

    private var trust: SharedTrustReport? {
        af_result_get_trust(raw).map { SharedTrustReport(TrustReport($0.pointee)) }
    }

    /// Head and body of a transfer that neither failed nor had to do with a file; the result is freed. Nil of any
    /// other.
    func takeResponse(for url: String) -> (HTTPResponse, Data)? {
        let failure = af_result_get_failure(raw)
        guard failure == nil || failure?.pointee.status == .AF_OK, af_result_get_download(raw) == nil,
            let head = af_result_get_head(raw)
        else { return nil }
        defer { af_result_free(raw) }
        let url = lastURL(expecting: url)
        return (makeResponse(head, url: url, metrics(lastURL: url)), takeBody())
    }

    /// The URL that was asked last: usually the one that was given, and then the same text.
    private func lastURL(expecting url: String) -> String {
        guard let last = af_result_get_url(raw), last.pointee != 0 else { return url }
        var url = url
        let size = strlen(last)
        let isExpected = url.withUTF8 { bytes in
            guard let start = bytes.baseAddress else { return false }
            return bytes.count == size && memcmp(start, last, size) == 0
        }
        return isExpected ? url : String(cString: last)
    }

    /// Short bodies are copied: that is cheaper than keeping memory of the core for them.
    private func takeBody() -> Data {
        let bytes = af_result_get_body(raw)
        guard bytes.size > Int(AF_BODY_SHORT) else { return Data(bytes.buffer) }
        return Data(taking: af_result_take_body(raw))
    }

    private func makeResponse(
        _ head: UnsafePointer<af_head>, url: String, _ metrics: ResponseMetrics
    ) -> HTTPResponse {
        var trailerCount = 0
        let trailers = af_result_get_trailers(raw, &trailerCount)
        var response = HTTPResponse(head.pointee, url: url, metrics: metrics)
        if trailerCount > 0 { response.trailers = HTTPHeaders(trailers, trailerCount) }
        return response
    }

    private func metrics(lastURL: String) -> ResponseMetrics {
        var count = 0
        guard let hops = af_result_get_hops(raw, &count), count > 0 else { return ResponseMetrics() }
        guard count > 1 else { return ResponseMetrics(CoreHop(hops.pointee, url: lastURL)) }
        return ResponseMetrics(
            hops: UnsafeBufferPointer(start: hops, count: count).map { hop in
                HopMetrics(hop, url: hop.url.map { String(cString: $0) } ?? "")
            })
    }
}

/// The only hop of a task, as in almost all of them.
private final class CoreHop: HopRecord, @unchecked Sendable {
    /// Without its texts, which are gone.
    private let hop: af_hop
    private let url: String

    init(_ hop: af_hop, url: String) {
        var hop = hop
        // A hop that leads somewhere is not the only one, unless what it led to could not be sent.
        location = hop.location.map { String(cString: $0) }
        hop.url = nil
        hop.location = nil
        self.hop = hop
        self.url = url
    }

    private let location: String?

    var hops: [HopMetrics] {
        var metrics = HopMetrics(hop, url: url)
        metrics.location = location
        return [metrics]
    }
}

extension SessionError {
    /// A reader's own error tells more than that there was one; any other is kept below.
    func replacing(by cause: any Error) -> SessionError {
        var error = self
        if let cause = cause as? CoreBodyError {
            error.message = cause.message
        } else if var own = cause as? SessionError, own.response == nil {
            own.url = own.url ?? url
            return own
        } else {
            error.underlying = cause
        }
        return error
    }
}

extension Data {
    /// Takes the core's bytes over; they are given back when the last copy is gone.
    fileprivate init(taking bytes: af_bytes) {
        guard let start = bytes.bytes, bytes.size > 0 else {
            af_free(bytes.bytes)
            self.init()
            return
        }
        self.init(bytesNoCopy: start, count: bytes.size, deallocator: .custom { memory, _ in af_free(memory) })
    }
}

extension HTTPResponse {
    init(_ head: af_head, url: String, metrics: ResponseMetrics = ResponseMetrics()) {
        self.init(
            status: Int(head.status), version: HTTPVersion(head.version) ?? .http1_1, reason: head.reason.text,
            headers: HTTPHeaders(head.headers, head.header_count), url: url, metrics: metrics)
    }
}

extension HTTPHeaders {
    init(_ headers: UnsafePointer<af_header>?, _ count: Int) {
        guard let headers, count > 0 else {
            self.init()
            return
        }
        self.init(ReceivedFields(count: count) { (headers[$0].name.buffer, headers[$0].value.buffer) })
    }
}

extension HTTPVersion {
    fileprivate init?(_ version: af_http_version) {
        switch version {
        case AF_HTTP_1_0: self = .http1_0
        case AF_HTTP_1_1: self = .http1_1
        case AF_HTTP_2: self = .http2
        case AF_HTTP_3: self = .http3
        default: return nil
        }
    }
}

extension HopMetrics {
    fileprivate init(_ hop: af_hop, url: String) {
        self.init(
            url: url,
            status: Int(hop.status),
            location: hop.location.map { String(cString: $0) },
            dns: Duration(core: hop.dns_us),
            connect: Duration(core: hop.connect_us),
            tls: url.utf8.starts(with: "https:".utf8) ? Duration(core: hop.tls_us) : nil,
            requestSent: Duration(core: hop.request_sent_us),
            firstByte: Duration(core: hop.first_byte_us),
            total: Duration(core: hop.total_us),
            bytesSent: hop.sent,
            bytesReceived: hop.received,
            headBytesReceived: hop.head_received,
            isReused: hop.is_reused,
            version: HTTPVersion(hop.version),
            localAddress: SocketAddress(hop.local_address, hop.local_port),
            remoteAddress: SocketAddress(hop.remote_address, hop.remote_port))
    }
}

extension Duration {
    /// Microseconds, -1 for a moment that did not come.
    fileprivate init?(core microseconds: Int64) {
        guard microseconds >= 0 else { return nil }
        self = .microseconds(microseconds)
    }
}

extension SocketAddress {
    fileprivate init?<Text>(_ text: Text, _ port: UInt16) {
        let ip = withUnsafeBytes(of: text) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        guard !ip.isEmpty else { return nil }
        self.init(ip: ip, port: Int(port))
    }
}

extension RedirectProposal {
    init(_ redirect: af_redirect) {
        let method = redirect.method.map { String(cString: $0) } ?? ""
        let url = redirect.url.map { String(cString: $0) } ?? ""
        let from = redirect.from.map { String(cString: $0) } ?? ""
        var headers = HTTPHeaders()
        for header in UnsafeBufferPointer(start: redirect.headers, count: redirect.header_count) {
            if header.flags & UInt32(AF_HEADER_REMOVE) != 0 {
                headers.removeDefault(header.name.text)
            } else {
                let isSecret = header.flags & UInt32(AF_HEADER_SECRET) != 0
                headers.add(name: header.name.text, value: header.value.text, secret: isSecret)
            }
        }
        let response = redirect.head.map { HTTPResponse($0.pointee, url: from) }
        self.init(
            response: response ?? HTTPResponse(status: 0, url: from),
            request: HTTPRequest(HTTPMethod(method), url, headers: headers),
            count: Int(redirect.count), crossesOrigin: redirect.crosses_origin, keepsBody: redirect.keeps_body)
    }
}
