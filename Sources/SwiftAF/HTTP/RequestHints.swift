extension HTTPRequest {
    /// The settings of `URLRequest` that aren't part of HTTP.
    ///
    /// Nil means not set. Hints are kept by copies, serializers and conversions, for code that uses them. Each
    /// documents its effect on Linux.
    public struct Hints: Hashable, Sendable, Codable {
        /// Which responses may come from the cache. Without ``SessionConfiguration/cache``,
        /// ``HTTPRequest/CachePolicy/returnCacheDataDontLoad`` fails with ``SessionError/Code/invalidInput``; others
        /// have no effect. Default: nil, as HTTP says.
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

        /// Makes hints; nil means not set.
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

    /// Which responses may come from the cache: ``Hints/cachePolicy``.
    public var cachePolicy: CachePolicy? {
        get { hints.cachePolicy }
        set { hints.cachePolicy = newValue }
    }

    /// Which responses may come from a cache. Later versions may add policies.
    public struct CachePolicy: RawRepresentable, Hashable, Sendable, Codable {
        /// The stable name of the policy.
        public let rawValue: String

        /// Makes a policy with any name; a cache treats an unknown one as ``useProtocolCachePolicy``.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The rules of HTTP (RFC 9111).
        public static let useProtocolCachePolicy = CachePolicy(rawValue: "useProtocolCachePolicy")
        /// Ignores the local cache.
        public static let reloadIgnoringLocalCacheData = CachePolicy(rawValue: "reloadIgnoringLocalCacheData")
        /// Ignores the local cache and those on the way.
        public static let reloadIgnoringLocalAndRemoteCacheData =
            CachePolicy(rawValue: "reloadIgnoringLocalAndRemoteCacheData")
        /// Uses the cache regardless of age, else the server.
        public static let returnCacheDataElseLoad = CachePolicy(rawValue: "returnCacheDataElseLoad")
        /// Uses the cache regardless of age, never the server. If nothing is stored, the response is a 504 with
        /// ``CacheStatus/missing``.
        public static let returnCacheDataDontLoad = CachePolicy(rawValue: "returnCacheDataDontLoad")
        /// Revalidates the cached response with the server.
        public static let reloadRevalidatingCacheData = CachePolicy(rawValue: "reloadRevalidatingCacheData")
    }

    /// The purpose of traffic. Later versions may add types.
    public struct NetworkServiceType: RawRepresentable, Hashable, Sendable, Codable {
        /// The stable name of the type.
        public let rawValue: String

        /// Makes a type with any name.
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
