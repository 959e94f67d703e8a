internal import CAFCore
import FoundationEssentials
import Glibc

/// Owns a result of the core. Must be consumed exactly once, on any thread: by
/// ``take(for:decodes:reportsTrust:bodyFailure:)``, by ``discard()``, or by ``takeResponse(for:decodes:)`` if that
/// returns a response. It is usually consumed on another thread than the loop's, which then has more time for other
/// tasks.
struct CoreResult: @unchecked Sendable {
    /// The number of bytes that are kept of a refused response's body, if the body would have been streamed or saved to
    /// a file.
    static let errorBodyLimit = Int(AFC_ERROR_BODY_LIMIT)

    private let raw: OpaquePointer

    init(taking raw: OpaquePointer) {
        self.raw = raw
    }

    /// Frees the result.
    func discard() {
        afc_result_free(raw)
    }

    /// Converts the result to Swift values and frees it. The returned `Data` takes over the core's memory of the body,
    /// unless the body is short.
    ///
    /// - Parameters:
    ///   - url: The requested URL, for errors that occurred before anything was sent.
    ///   - decodes: ``CoreRequest/decodesBody`` of the request.
    ///   - reportsTrust: Whether to report the server's certificates and their evaluation.
    ///   - bodyFailure: The error of the source of the request body, if any.
    func take(
        for url: String, decodes: Bool, reportsTrust: Bool, bodyFailure: @autoclosure () -> (any Error)?
    ) -> CoreOutcome {
        defer { afc_result_free(raw) }
        let url = lastURL(expecting: url)
        let metrics = metrics(lastURL: url)
        let response = afc_result_get_head(raw).map { makeResponse($0, url: url, decodes: decodes, metrics) }
        let body = takeBody()
        let download = afc_result_get_download(raw).flatMap {
            CoreDownload($0.pointee, isSuccessful: response?.isSuccessful == true)
        }
        let trust = reportsTrust ? trust : nil
        guard let failure = afc_result_get_failure(raw), failure.pointee.status != .AFC_OK else {
            return CoreOutcome(response: response, body: body, download: download, trust: trust)
        }
        var error = SessionError(failure.pointee, url: url, response: response, body: response == nil ? nil : body)
        if error.code == .bodySource, let cause = bodyFailure() { error = error.replacing(by: cause) }
        error.metrics = metrics
        if error.code == .untrusted { error.trust = (trust ?? self.trust)?.report }
        if let token = download?.token { error.resumeToken = token }
        if let download, response != nil { error.partialFileSize = download.size }
        return CoreOutcome(response: response, body: body, failure: error, download: download, trust: trust)
    }

    private var trust: SharedTrustReport? {
        afc_result_get_trust(raw).map { SharedTrustReport(TrustReport($0.pointee)) }
    }

    /// Returns head and body of a transfer that succeeded without a file, and frees the result. Returns nil for any
    /// other transfer, whose result must still be consumed.
    func takeResponse(for url: String, decodes: Bool) -> (HTTPResponse, Data)? {
        let failure = afc_result_get_failure(raw)
        guard failure == nil || failure?.pointee.status == .AFC_OK, afc_result_get_download(raw) == nil,
            let head = afc_result_get_head(raw)
        else { return nil }
        defer { afc_result_free(raw) }
        let url = lastURL(expecting: url)
        return (makeResponse(head, url: url, decodes: decodes, metrics(lastURL: url)), takeBody())
    }

    /// Converts the result of a WebSocket's handshake without taking ownership of it. `failure` is the WebSocket's,
    /// which is more specific than that of the result. There is a body only if the server refused the WebSocket; it is
    /// always decoded.
    static func outcome(borrowing raw: OpaquePointer, failure: afc_failure, for url: String) -> CoreOutcome {
        let result = CoreResult(taking: raw)
        let url = result.lastURL(expecting: url)
        let metrics = result.metrics(lastURL: url)
        let response = afc_result_get_head(raw).map { result.makeResponse($0, url: url, decodes: true, metrics) }
        guard failure.status != .AFC_OK else { return CoreOutcome(response: response) }
        let body = response.flatMap { $0.status == 101 ? nil : Data(buffer: afc_result_get_body(raw).buffer) }
        var error = SessionError(failure, url: url, response: response, body: body)
        error.metrics = metrics
        if error.code == .untrusted { error.trust = result.trust?.report }
        return CoreOutcome(response: response, body: body ?? Data(), failure: error)
    }

    /// Returns the URL of the last hop. Usually that is the given one, which is then returned itself instead of a new
    /// string.
    private func lastURL(expecting url: String) -> String {
        guard let last = afc_result_get_url(raw), last.pointee != 0 else { return url }
        var url = url
        let size = strlen(last)
        let isExpected = url.withUTF8 { bytes in
            guard let start = bytes.baseAddress else { return false }
            return bytes.count == size && memcmp(start, last, size) == 0
        }
        return isExpected ? url : String(cString: last)
    }

    /// Returns the body. Short bodies are copied, which is cheaper than keeping the core's memory for them.
    private func takeBody() -> Data {
        let bytes = afc_result_get_body(raw)
        guard bytes.size > Int(AFC_BODY_SHORT) else { return Data(buffer: bytes.buffer) }
        return Data(taking: afc_result_take_body(raw))
    }

    private func makeResponse(
        _ head: UnsafePointer<afc_head>, url: String, decodes: Bool, _ metrics: ResponseMetrics
    ) -> HTTPResponse {
        var trailerCount = 0
        let trailers = afc_result_get_trailers(raw, &trailerCount)
        var response = HTTPResponse(head.pointee, url: url, decodes: decodes, metrics: metrics)
        if trailerCount > 0 { response.trailers = HTTPHeaders(trailers, trailerCount) }
        return response
    }

    private func metrics(lastURL: String) -> ResponseMetrics {
        var count = 0
        guard let hops = afc_result_get_hops(raw, &count), count > 0 else { return ResponseMetrics() }
        guard count > 1 else { return ResponseMetrics(CoreHop(hops.pointee, url: lastURL)) }
        return ResponseMetrics(
            hops: UnsafeBufferPointer(start: hops, count: count).map { hop in
                HopMetrics(hop, url: hop.url.map { String(cString: $0) } ?? "")
            })
    }
}

/// The only hop of a task, which is the common case. Its ``HopMetrics`` are made when they are asked for.
private final class CoreHop: HopRecord, @unchecked Sendable {
    /// The hop without its strings, which are freed together with the result.
    private let hop: afc_hop
    private let url: String

    init(_ hop: afc_hop, url: String) {
        var hop = hop
        // A single hop only has a location if the redirect could not be sent.
        location = hop.location.map { String(cString: $0) }
        proxy = hop.proxy.map { String(cString: $0) }
        hop.url = nil
        hop.location = nil
        hop.proxy = nil
        self.hop = hop
        self.url = url
    }

    private let location: String?
    private let proxy: String?

    var hops: [HopMetrics] {
        var metrics = HopMetrics(hop, url: url)
        metrics.location = location
        metrics.proxy = proxy
        return [metrics]
    }
}

extension SessionError {
    /// Turns this error, of a transfer that was cancelled because its request body had failed, into
    /// ``Code/bodySource``.
    func causedByBody(_ cause: any Error) -> SessionError {
        var error = self
        error.code = .bodySource
        error.message = "the sequence of the request body failed"
        return error.replacing(by: cause)
    }

    /// Returns this error with the cause that the source of the body reports: its message, if the cause is ours; the
    /// cause itself, if it is a ``SessionError`` without a response; else this error with the cause as the underlying
    /// error.
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
    /// Takes ownership of the core's bytes, which are freed together with the last copy of this `Data`.
    init(taking bytes: afc_bytes) {
        guard let start = bytes.bytes, bytes.size > 0 else {
            afc_free(bytes.bytes)
            self.init()
            return
        }
        self.init(bytesNoCopy: start, count: bytes.size, deallocator: .custom { memory, _ in afc_free(memory) })
    }
}

extension HTTPResponse {
    // Not inlined: several places call it.
    @inline(never)
    init(_ head: afc_head, url: String, decodes: Bool = false, metrics: ResponseMetrics = ResponseMetrics()) {
        self.init(
            status: Int(head.status), version: HTTPVersion(head.version) ?? .http1_1, reason: head.reason.text,
            headers: HTTPHeaders(head.headers, head.header_count), url: url, metrics: metrics)
        self.decodes = decodes
    }
}

extension InformationalResponse {
    init(_ head: afc_head) {
        self.init(
            status: Int(head.status), reason: head.reason.text, headers: HTTPHeaders(head.headers, head.header_count))
    }
}

extension HTTPHeaders {
    init(_ headers: UnsafePointer<afc_header>?, _ count: Int) {
        guard let headers, count > 0 else {
            self.init()
            return
        }
        self.init(ReceivedFields(count: count) { (headers[$0].name.buffer, headers[$0].value.buffer) })
    }
}

extension HTTPVersion {
    fileprivate init?(_ version: afc_http_version) {
        switch version {
        case .AFC_HTTP_1_0: self = .http1_0
        case .AFC_HTTP_1_1: self = .http1_1
        case .AFC_HTTP_2: self = .http2
        case .AFC_HTTP_3: self = .http3
        default: return nil
        }
    }
}

extension HopMetrics {
    fileprivate init(_ hop: afc_hop, url: String) {
        self.init(
            url: url,
            status: Int(hop.status),
            location: hop.location.map { String(cString: $0) },
            dnsDone: Duration(core: hop.dns_us),
            connectDone: Duration(core: hop.connect_us),
            tlsDone: url.utf8.starts(with: "https:".utf8) ? Duration(core: hop.tls_us) : nil,
            requestSent: Duration(core: hop.request_sent_us),
            firstByte: Duration(core: hop.first_byte_us),
            total: Duration(core: hop.total_us),
            bytesSent: hop.sent,
            bytesReceived: hop.received,
            headBytesReceived: hop.head_received,
            isReused: hop.is_reused,
            version: HTTPVersion(hop.version),
            localAddress: SocketAddress(hop.local_address, hop.local_port),
            remoteAddress: SocketAddress(hop.remote_address, hop.remote_port),
            cacheStatus: CacheStatus(hop.cache),
            proxy: hop.proxy.map { String(cString: $0) })
    }
}

extension Duration {
    /// Creates a duration from the core's microseconds; nil for -1, which stands for a moment that wasn't reached.
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
    init(_ redirect: afc_redirect) {
        let method = redirect.method.map { String(cString: $0) } ?? ""
        let url = redirect.url.map { String(cString: $0) } ?? ""
        let from = redirect.from.map { String(cString: $0) } ?? ""
        var headers = HTTPHeaders()
        for header in UnsafeBufferPointer(start: redirect.headers, count: redirect.header_count) {
            if header.flags & UInt32(AFC_HEADER_REMOVE) != 0 {
                headers.suppressDefault(header.name.text)
            } else {
                // Made from the bytes, which needn't be UTF-8: the core recognises an unchanged field by its value, so
                // the value must stay the same byte by byte.
                var field = HTTPHeaders.Field(name: header.name.buffer, value: header.value.buffer)
                field.isMarkedSecret = header.flags & UInt32(AFC_HEADER_SECRET) != 0
                headers.add(field)
            }
        }
        let response = redirect.head.map { HTTPResponse($0.pointee, url: from) }
        self.init(
            response: response ?? HTTPResponse(status: 0, url: from),
            request: HTTPRequest(HTTPMethod(method), url, headers: headers),
            count: Int(redirect.count), crossesOrigin: redirect.crosses_origin, keepsBody: redirect.keeps_body)
    }
}
