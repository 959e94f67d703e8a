/// The source of a response: the server or the cache. Later versions may add values.
public struct CacheStatus: RawRepresentable, Hashable, Sendable, Codable {
    /// The stable name of the status.
    public let rawValue: String

    /// Creates a status with any name.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The server sent the response.
    public static let server = CacheStatus(rawValue: "server")
    /// The cache had the response, and it was fresh. No request was sent.
    public static let hit = CacheStatus(rawValue: "hit")
    /// The cache had the response. It was no longer fresh, but the response or the request allowed it to be used.
    public static let stale = CacheStatus(rawValue: "stale")
    /// The cache had the response, and the server confirmed that it is still valid.
    public static let revalidated = CacheStatus(rawValue: "revalidated")
    /// The cache had no response, and the request's policy doesn't allow sending it: the response is a 504 made by this
    /// library.
    public static let missing = CacheStatus(rawValue: "missing")

    /// Whether the body came from the cache.
    public var isFromCache: Bool { self == .hit || self == .stale || self == .revalidated }
}

extension CacheStatus: CustomStringConvertible {
    /// The stable name, such as `hit`.
    public var description: String { rawValue }
}

extension HTTPResponse {
    /// Where the response came from.
    public var cacheStatus: CacheStatus { metrics.hops.last?.cacheStatus ?? .server }
}

extension DownloadResponse {
    /// Where the response came from.
    public var cacheStatus: CacheStatus { head.cacheStatus }
}

extension StreamedResponse {
    /// Where the response came from. Known with the head.
    public var cacheStatus: CacheStatus { head.cacheStatus }
}

extension Response {
    /// Where the response came from.
    public var cacheStatus: CacheStatus { head.cacheStatus }
}
