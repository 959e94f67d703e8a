extension HTTPRequest {
    /// What a request says beside the protocol: the settings that `URLRequest` has and other systems obey.
    ///
    /// Each that is nil was never set. They are carried with the request, through copies, serializers and conversions,
    /// so that none is lost on the way to code that knows what to do with it. Each says what it means on Linux.
    public struct Hints: Hashable, Sendable, Codable {
        /// Which answers may come from a cache. A session without a cache has nothing to choose from.
        public var cachePolicy: CachePolicy?
        /// Whether cookies that were received are sent, and received ones kept. A session without a
        /// ``SessionConfiguration/cookieStorage`` does neither.
        public var handlesCookies: Bool?
        /// Whether a request may be sent on a connection before the answer to the one in front of it. HTTP/2 does
        /// so always; for HTTP/1.1 no effect: libcurl gave it up, because servers never got it right.
        public var usesPipelining: Bool?
        /// What the traffic is for. No effect on Linux, where the interface isn't chosen by it.
        public var networkServiceType: NetworkServiceType?
        /// Whether a mobile radio may be used. No effect on Linux, which has no such distinction.
        public var allowsCellularAccess: Bool?

        /// Makes hints; those left out are not set.
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

        /// Takes over from `defaults` what is not set here.
        mutating func fillGaps(from defaults: Hints) {
            cachePolicy = cachePolicy ?? defaults.cachePolicy
            handlesCookies = handlesCookies ?? defaults.handlesCookies
            usesPipelining = usesPipelining ?? defaults.usesPipelining
            networkServiceType = networkServiceType ?? defaults.networkServiceType
            allowsCellularAccess = allowsCellularAccess ?? defaults.allowsCellularAccess
        }
    }

    /// Which answers may come from a cache. Open: more may come.
    public struct CachePolicy: RawRepresentable, Hashable, Sendable, Codable {
        /// A stable name of the policy.
        public let rawValue: String

        /// Makes a policy of any name; one that a cache doesn't know is ``useProtocolCachePolicy`` to it.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// As HTTP's own rules say (RFC 9111).
        public static let useProtocolCachePolicy = CachePolicy(rawValue: "useProtocolCachePolicy")
        /// Always from the server.
        public static let reloadIgnoringLocalCacheData = CachePolicy(rawValue: "reloadIgnoringLocalCacheData")
        /// Always from the server itself: caches on the way are told so too.
        public static let reloadIgnoringLocalAndRemoteCacheData =
            CachePolicy(rawValue: "reloadIgnoringLocalAndRemoteCacheData")
        /// From the cache, however old, else from the server.
        public static let returnCacheDataElseLoad = CachePolicy(rawValue: "returnCacheDataElseLoad")
        /// From the cache, however old, or not at all.
        public static let returnCacheDataDontLoad = CachePolicy(rawValue: "returnCacheDataDontLoad")
        /// From the cache, if the server says that it still holds.
        public static let reloadRevalidatingCacheData = CachePolicy(rawValue: "reloadRevalidatingCacheData")
    }

    /// What traffic is for. Open: more may come.
    public struct NetworkServiceType: RawRepresentable, Hashable, Sendable, Codable {
        /// A stable name of the type.
        public let rawValue: String

        /// Makes a type of any name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// No particular purpose.
        public static let `default` = NetworkServiceType(rawValue: "default")
        /// Control of a voice connection.
        public static let voip = NetworkServiceType(rawValue: "voip")
        /// Moving pictures.
        public static let video = NetworkServiceType(rawValue: "video")
        /// What nobody waits for.
        public static let background = NetworkServiceType(rawValue: "background")
        /// Speech and sound.
        public static let voice = NetworkServiceType(rawValue: "voice")
        /// What somebody waits for.
        public static let responsiveData = NetworkServiceType(rawValue: "responsiveData")
        /// Signals of a call.
        public static let callSignaling = NetworkServiceType(rawValue: "callSignaling")
    }
}

extension HTTPRequest.Timeouts {
    /// Takes over from `defaults` what is not set here.
    mutating func fillGaps(from defaults: HTTPRequest.Timeouts) {
        connect = connect ?? defaults.connect
        idle = idle ?? defaults.idle
        total = total ?? defaults.total
    }
}
