/// Times and sizes of an exchange, with one entry per hop.
public struct ResponseMetrics: Sendable {
    /// The hops in order: redirects and challenges, then the final one.
    public var hops: [HopMetrics] {
        get {
            switch storage {
            case .values(let hops): hops
            case .record(let record): record.hops
            }
        }
        set { storage = .values(newValue) }
    }

    private enum Storage {
        case values([HopMetrics])
        case record(any HopRecord)
    }

    private var storage: Storage

    /// Creates metrics.
    public init(hops: [HopMetrics] = []) {
        storage = .values(hops)
    }

    /// Creates metrics that are converted from the core's when they are read, which is rare.
    init(_ record: any HopRecord) {
        storage = .record(record)
    }

    /// The number of body bytes received over all hops.
    public var bytesReceived: Int64 { sum(of: \.bytesReceived) }

    /// The number of body bytes sent over all hops.
    public var bytesSent: Int64 { sum(of: \.bytesSent) }

    // Clamped instead of trapping, because hops that a program has made may have any numbers.
    private func sum(of count: (HopMetrics) -> Int64) -> Int64 {
        hops.reduce(0) { sum, hop in
            let (exact, overflows) = sum.addingReportingOverflow(count(hop))
            return overflows ? (sum < 0 ? .min : .max) : exact
        }
    }

    /// All hops but the last, in order: redirects, and challenges that were answered.
    public var redirects: ArraySlice<HopMetrics> { hops.dropLast() }

    /// The total time of all hops; nil if none was measured.
    public var total: Duration? {
        let times = hops.compactMap(\.total)
        return times.isEmpty ? nil : times.reduce(.zero) { $0.addingClamped($1) }
    }
}

extension ResponseMetrics: Hashable {
    public static func == (left: ResponseMetrics, right: ResponseMetrics) -> Bool {
        left.hops == right.hops
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(hops)
    }
}

extension ResponseMetrics: CustomStringConvertible {
    /// The number of hops, the total time and the sizes.
    public var description: String {
        let milliseconds = total.map { "\($0.wholeMilliseconds) ms" } ?? "no time"
        return "\(hops.count) hop\(hops.count == 1 ? "" : "s"), \(milliseconds), \(bytesSent) bytes sent, "
            + "\(bytesReceived) received"
    }
}

/// The measured values of the core, which are converted when `hops` is read.
protocol HopRecord: AnyObject, Sendable {
    var hops: [HopMetrics] { get }
}

/// Times and sizes of one request and its response. Each time is measured from the start of the hop. It is nil if the
/// phase wasn't reached or didn't happen, such as ``tlsDone`` over http.
public struct HopMetrics: Sendable, Hashable {
    /// The URL of the hop.
    public var url: String
    /// The status code; 0 without a response.
    public var status: Int
    /// The absolute URL of a followed redirect's target.
    public var location: String?
    /// When the name was resolved.
    public var dnsDone: Duration?
    /// When the TCP connection was established.
    public var connectDone: Duration?
    /// When the TLS handshake was complete.
    public var tlsDone: Duration?
    /// When the last byte of the request was passed to the system.
    public var requestSent: Duration?
    /// When the first byte of the response arrived.
    public var firstByte: Duration?
    /// When the hop was complete.
    public var total: Duration?
    /// The number of body bytes sent.
    public var bytesSent: Int64
    /// The number of body bytes received, before decoding.
    public var bytesReceived: Int64
    /// The number of head bytes received, including informational responses.
    public var headBytesReceived: Int64
    /// Whether the connection was reused.
    public var isReused: Bool
    /// The version of HTTP; nil without a response.
    public var version: HTTPVersion?
    /// The local address.
    public var localAddress: SocketAddress?
    /// The remote address.
    public var remoteAddress: SocketAddress?
    /// Whether the response came from the cache. If so, the hop has sent nothing.
    public var cacheStatus: CacheStatus
    /// The proxy as `scheme://host:port`, without credentials; nil without one.
    public var proxy: String?

    /// Creates the metrics of a hop.
    public init(
        url: String,
        status: Int = 0,
        location: String? = nil,
        dnsDone: Duration? = nil,
        connectDone: Duration? = nil,
        tlsDone: Duration? = nil,
        requestSent: Duration? = nil,
        firstByte: Duration? = nil,
        total: Duration? = nil,
        bytesSent: Int64 = 0,
        bytesReceived: Int64 = 0,
        headBytesReceived: Int64 = 0,
        isReused: Bool = false,
        version: HTTPVersion? = nil,
        localAddress: SocketAddress? = nil,
        remoteAddress: SocketAddress? = nil,
        cacheStatus: CacheStatus = .server,
        proxy: String? = nil
    ) {
        self.url = url
        self.status = status
        self.location = location
        self.dnsDone = dnsDone
        self.connectDone = connectDone
        self.tlsDone = tlsDone
        self.requestSent = requestSent
        self.firstByte = firstByte
        self.total = total
        self.bytesSent = bytesSent
        self.bytesReceived = bytesReceived
        self.headBytesReceived = headBytesReceived
        self.isReused = isReused
        self.version = version
        self.localAddress = localAddress
        self.remoteAddress = remoteAddress
        self.cacheStatus = cacheStatus
        self.proxy = proxy
    }
}

/// An IP address and a port.
public struct SocketAddress: Sendable, Hashable, CustomStringConvertible {
    /// The address as text; IPv6 without brackets.
    public var ip: String
    /// The port, 0 to 65535.
    public var port: Int

    /// Creates an address, without checking it.
    public init(ip: String, port: Int) {
        self.ip = ip
        self.port = port
    }

    /// Address and port: `127.0.0.1:80`, `[::1]:80`.
    public var description: String {
        ip.utf8.contains(UInt8(ascii: ":")) ? "[\(ip)]:\(port)" : "\(ip):\(port)"
    }
}
