/// Times and sizes of an exchange, one entry per request that was sent for it.
public struct ResponseMetrics: Sendable {
    /// The hops in order: redirects, then the one that answered.
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

    /// Makes metrics of hops in order.
    public init(hops: [HopMetrics] = []) {
        storage = .values(hops)
    }

    /// Metrics that become values when they are asked for, which is rare.
    init(_ record: any HopRecord) {
        storage = .record(record)
    }

    /// Bytes of bodies received over all hops.
    public var bytesReceived: Int64 { hops.reduce(0) { $0 + $1.bytesReceived } }

    /// Bytes of bodies sent over all hops.
    public var bytesSent: Int64 { hops.reduce(0) { $0 + $1.bytesSent } }

    /// The hops that redirected, in order.
    public var redirects: ArraySlice<HopMetrics> { hops.dropLast() }

    /// Time of all hops together, nil if no hop has one.
    public var total: Duration? {
        let times = hops.compactMap(\.total)
        return times.isEmpty ? nil : times.reduce(.zero, +)
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

/// What was measured, in the form it came in.
protocol HopRecord: AnyObject, Sendable {
    var hops: [HopMetrics] { get }
}

/// Times and sizes of one request and its response. Every time counts from the start of the hop and is nil if
/// the phase was not reached or did not happen, such as ``tls`` over http.
public struct HopMetrics: Sendable, Hashable {
    /// The URL that was asked.
    public var url: String
    /// The status that came, 0 if none did.
    public var status: Int
    /// Where a redirect that was followed leads to, as an absolute URL.
    public var location: String?
    /// The name was resolved.
    public var dns: Duration?
    /// The TCP connection stood.
    public var connect: Duration?
    /// The TLS handshake was done.
    public var tls: Duration?
    /// The last byte of the request was handed to the system.
    public var requestSent: Duration?
    /// The first byte of the response came.
    public var firstByte: Duration?
    /// The hop was complete.
    public var total: Duration?
    /// Bytes of the body sent.
    public var bytesSent: Int64
    /// Bytes of the body received, before decoding.
    public var bytesReceived: Int64
    /// Bytes of the heads received, interim ones included.
    public var headBytesReceived: Int64
    /// Whether the connection had served another request before.
    public var isReused: Bool
    /// The version spoken, nil if no response came.
    public var version: HTTPVersion?
    /// Our end of the connection.
    public var localAddress: SocketAddress?
    /// The other end of the connection.
    public var remoteAddress: SocketAddress?

    /// Makes a hop; times that are left out did not happen.
    public init(
        url: String,
        status: Int = 0,
        location: String? = nil,
        dns: Duration? = nil,
        connect: Duration? = nil,
        tls: Duration? = nil,
        requestSent: Duration? = nil,
        firstByte: Duration? = nil,
        total: Duration? = nil,
        bytesSent: Int64 = 0,
        bytesReceived: Int64 = 0,
        headBytesReceived: Int64 = 0,
        isReused: Bool = false,
        version: HTTPVersion? = nil,
        localAddress: SocketAddress? = nil,
        remoteAddress: SocketAddress? = nil
    ) {
        self.url = url
        self.status = status
        self.location = location
        self.dns = dns
        self.connect = connect
        self.tls = tls
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
    }
}

/// An IP address and a port.
public struct SocketAddress: Sendable, Hashable, CustomStringConvertible {
    /// The address in its usual notation, IPv6 without brackets.
    public var ip: String
    /// The port, 0 to 65535.
    public var port: Int

    /// Makes an address of its parts, unchecked.
    public init(ip: String, port: Int) {
        self.ip = ip
        self.port = port
    }

    /// `127.0.0.1:80`, `[::1]:80`.
    public var description: String {
        ip.utf8.contains(UInt8(ascii: ":")) ? "[\(ip)]:\(port)" : "\(ip):\(port)"
    }
}
