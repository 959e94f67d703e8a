/// Whether there is a way to a host. The raw values are AFNetworking's.
public enum NetworkReachabilityStatus: Int, Hashable, Sendable {
    /// Nobody has looked yet.
    case unknown = -1
    /// No route, or one over a link that is down.
    case notReachable = 0
    /// Over a cellular link.
    case reachableViaWWAN = 1
    /// Over any other link, wires included, as AFNetworking counts them; ``NetworkReachability/link`` tells which.
    case reachableViaWiFi = 2
}

/// What kind of link a route takes, by what the kernel says of it.
public enum NetworkLink: Hashable, Sendable {
    case unknown, loopback
    /// Ethernet, and what behaves like it.
    case wired
    case wireless, cellular
    /// Tunnels, PPP.
    case other
}

/// The way to a host, as it was when the network last changed.
public struct NetworkReachability: Hashable, Sendable {
    /// Whether there is one.
    public var status: NetworkReachabilityStatus
    /// Unknown unless there is a route.
    public var link: NetworkLink
    /// Such as `eth0`; empty if it is not known.
    public var linkName: String

    public init(
        _ status: NetworkReachabilityStatus = .unknown, link: NetworkLink = .unknown, linkName: String = ""
    ) {
        self.status = status
        self.link = link
        self.linkName = linkName
    }

    /// False, too, while it is unknown.
    public var isReachable: Bool { isReachableViaWWAN || isReachableViaWiFi }
    /// Whether the way is over a cellular link.
    public var isReachableViaWWAN: Bool { status == .reachableViaWWAN }
    /// Whether the way is over any other link.
    public var isReachableViaWiFi: Bool { status == .reachableViaWiFi }
}

extension NetworkReachabilityStatus: CustomStringConvertible {
    /// AFNetworking's words, in English: `Not Reachable`, `Reachable via WWAN`, `Reachable via WiFi`, `Unknown`.
    public var description: String { coreText }
}
