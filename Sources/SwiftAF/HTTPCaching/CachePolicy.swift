extension HTTPRequest {
    /// Which responses may come from the cache: ``Hints/cachePolicy``.
    public var cachePolicy: CachePolicy? {
        get { hints.cachePolicy }
        set { hints.cachePolicy = newValue }
    }

    /// Which responses may come from a cache. Later versions may add policies.
    public struct CachePolicy: RawRepresentable, Hashable, Sendable, Codable {
        /// The stable name of the policy.
        public let rawValue: String

        /// Creates a policy with any name; a cache treats an unknown one as ``useProtocolCachePolicy``.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The rules of HTTP (RFC 9111).
        public static let useProtocolCachePolicy = CachePolicy(rawValue: "useProtocolCachePolicy")
        /// Ignores the local cache. The new response is stored.
        public static let reloadIgnoringLocalCacheData = CachePolicy(rawValue: "reloadIgnoringLocalCacheData")
        /// Ignores the local cache and the caches between this machine and the server: sends `Cache-Control: no-cache`
        /// and `Pragma: no-cache`, unless the request has these fields. The new response is stored.
        public static let reloadIgnoringLocalAndRemoteCacheData =
            CachePolicy(rawValue: "reloadIgnoringLocalAndRemoteCacheData")
        /// Uses a stored response of any age; sends the request if there is none.
        public static let returnCacheDataElseLoad = CachePolicy(rawValue: "returnCacheDataElseLoad")
        /// Uses a stored response of any age, and never sends the request. If nothing is stored, the response is a 504
        /// with ``CacheStatus/missing``.
        public static let returnCacheDataDontLoad = CachePolicy(rawValue: "returnCacheDataDontLoad")
        /// Revalidates the cached response with the server.
        public static let reloadRevalidatingCacheData = CachePolicy(rawValue: "reloadRevalidatingCacheData")
        /// Neither uses nor stores responses, as without a cache. Stored responses stay.
        public static let bypassCache = CachePolicy(rawValue: "bypassCache")
    }
}

extension HTTPRequest {
    /// Adds the header fields with which the cache policy affects caches between this machine and the server.
    mutating func addCacheFields() {
        guard cachePolicy == .reloadIgnoringLocalAndRemoteCacheData else { return }
        headers.fillGap(name: .cacheControl, value: "no-cache")
        // Caches of HTTP/1.0 don't know Cache-Control.
        headers.fillGap(name: "Pragma", value: "no-cache")
    }
}
