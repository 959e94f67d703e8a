extension HTTPRequest {
    /// The settings of `URLRequest` that aren't part of HTTP.
    ///
    /// Nil means not set. Copies, serializers and conversions keep the hints, even those that have no effect here. Each
    /// one documents its effect on Linux.
    public struct Hints: Hashable, Sendable, Codable {
        /// Which responses may come from the cache. Without ``SessionConfiguration/cache``,
        /// ``HTTPRequest/CachePolicy/returnCacheDataDontLoad`` fails with ``SessionError/Code/invalidInput``, and other
        /// policies affect only caches between this machine and the server. Default: nil, the rules of HTTP.
        public var cachePolicy: CachePolicy?
        /// Whether cookies are sent and stored. No effect in a session without ``SessionConfiguration/cookieStorage``.
        /// Default: nil, which means true.
        public var handlesCookies: Bool?
        /// Whether to pipeline requests over HTTP/1.1. No effect: libcurl removed pipelining. Default: nil.
        public var usesPipelining: Bool?
        /// The purpose of the traffic. No effect on Linux. Default: nil.
        public var networkServiceType: NetworkServiceType?
        /// Whether a mobile network may be used. No effect on Linux. Default: nil.
        public var allowsCellularAccess: Bool?

        /// Creates hints; nil means not set.
        public init(
            cachePolicy: CachePolicy? = nil,
            handlesCookies: Bool? = nil,
            usesPipelining: Bool? = nil,
            networkServiceType: NetworkServiceType? = nil,
            allowsCellularAccess: Bool? = nil
        ) {
            self.cachePolicy = cachePolicy
            self.handlesCookies = handlesCookies
            self.usesPipelining = usesPipelining
            self.networkServiceType = networkServiceType
            self.allowsCellularAccess = allowsCellularAccess
        }

        /// Sets unset hints from `defaults`.
        mutating func fillGaps(from defaults: Hints) {
            cachePolicy = cachePolicy ?? defaults.cachePolicy
            handlesCookies = handlesCookies ?? defaults.handlesCookies
            usesPipelining = usesPipelining ?? defaults.usesPipelining
            networkServiceType = networkServiceType ?? defaults.networkServiceType
            allowsCellularAccess = allowsCellularAccess ?? defaults.allowsCellularAccess
        }
    }

    /// The purpose of traffic. Later versions may add types.
    public struct NetworkServiceType: RawRepresentable, Hashable, Sendable, Codable {
        /// The stable name of the type.
        public let rawValue: String

        /// Creates a type with any name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// No particular purpose.
        public static let `default` = NetworkServiceType(rawValue: "default")
        /// Control of a voice connection.
        public static let voip = NetworkServiceType(rawValue: "voip")
        /// The traffic is video.
        public static let video = NetworkServiceType(rawValue: "video")
        /// The traffic is a background transfer.
        public static let background = NetworkServiceType(rawValue: "background")
        /// The traffic is voice.
        public static let voice = NetworkServiceType(rawValue: "voice")
        /// Transfers that the user waits for.
        public static let responsiveData = NetworkServiceType(rawValue: "responsiveData")
        /// The traffic is call signalling.
        public static let callSignaling = NetworkServiceType(rawValue: "callSignaling")
    }
}
