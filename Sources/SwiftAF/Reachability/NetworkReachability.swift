/// Whether a host is reachable. The raw values are AFNetworking's.
public enum NetworkReachabilityStatus: Int, Hashable, Sendable {
    /// Not determined yet.
    case unknown = -1
    /// There is no route, or its link is down.
    case notReachable = 0
    /// Reachable over a cellular link.
    case reachableViaWWAN = 1
    /// Reachable over any other link, including wired ones, as in AFNetworking; ``NetworkReachability/link`` has the
    /// kind.
    case reachableViaWiFi = 2
}

/// The kind of the link that a route uses, as reported by the kernel.
public enum NetworkLink: Hashable, Sendable {
    /// No route, or an unknown kind.
    case unknown
    /// The loopback link.
    case loopback
    /// Ethernet and similar links.
    case wired
    /// Wireless LAN.
    case wireless
    /// A mobile network.
    case cellular
    /// Other links, such as tunnels and PPP.
    case other
}

/// The reachability of a host at the last change of the network.
public struct NetworkReachability: Hashable, Sendable {
    /// Whether the host is reachable.
    public var status: NetworkReachabilityStatus
    /// The kind of the link; unknown if there is no route.
    public var link: NetworkLink
    /// The name of the link, such as `eth0`; empty if unknown.
    public var linkName: String

    /// Creates a value, for tests and previews.
    public init(
        _ status: NetworkReachabilityStatus = .unknown, link: NetworkLink = .unknown, linkName: String = ""
    ) {
        self.status = status
        self.link = link
        self.linkName = linkName
    }

    /// Whether the host is reachable; false while unknown.
    public var isReachable: Bool { isReachableViaWWAN || isReachableViaWiFi }
    /// Whether the host is reachable over a cellular link.
    public var isReachableViaWWAN: Bool { status == .reachableViaWWAN }
    /// Whether the host is reachable over any other link.
    public var isReachableViaWiFi: Bool { status == .reachableViaWiFi }
}

extension NetworkReachabilityStatus: CustomStringConvertible {
    /// AFNetworking's texts, in English: `Not Reachable`, `Reachable via WWAN`, `Reachable via WiFi`, `Unknown`.
    public var description: String { coreText }
}
