/// The version of HTTP that an exchange used.
public struct HTTPVersion: Hashable, Sendable, Comparable, Codable {
    /// The number before the dot.
    public let major: Int
    /// The number after the dot, 0 for versions that have none.
    public let minor: Int

    /// Makes a version of its numbers.
    public init(major: Int, minor: Int) {
        self.major = major
        self.minor = minor
    }

    /// HTTP/1.0: one exchange per connection.
    public static let http1_0 = HTTPVersion(major: 1, minor: 0)
    /// HTTP/1.1.
    public static let http1_1 = HTTPVersion(major: 1, minor: 1)
    /// HTTP/2.
    public static let http2 = HTTPVersion(major: 2, minor: 0)
    /// HTTP/3.
    public static let http3 = HTTPVersion(major: 3, minor: 0)

    /// The number alone, as people write it: `1.1`, `2`, `3`.
    public var number: String {
        major >= 2 && minor == 0 ? String(major) : "\(major).\(minor)"
    }

    /// Older versions are less.
    public static func < (left: HTTPVersion, right: HTTPVersion) -> Bool {
        (left.major, left.minor) < (right.major, right.minor)
    }
}

extension HTTPVersion: CustomStringConvertible {
    /// `HTTP/1.1`, `HTTP/2`.
    public var description: String { "HTTP/" + number }
}

/// The version a caller wishes for. What was used is in ``HTTPResponse/version``.
public struct HTTPVersionPreference: RawRepresentable, Hashable, Sendable {
    /// A stable name of the wish.
    public let rawValue: String

    /// Makes a wish by name; one that the library does not know fails as unsupported.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// HTTP/2 where a TLS server offers it, HTTP/1.1 otherwise and in the clear.
    public static let automatic = HTTPVersionPreference(rawValue: "automatic")
    /// HTTP/1.1 only.
    public static let http1_1 = HTTPVersionPreference(rawValue: "http1.1")
    /// HTTP/2, asked for with ALPN over TLS and with an upgrade in the clear; HTTP/1.1 if the server declines.
    public static let http2 = HTTPVersionPreference(rawValue: "http2")
    /// HTTP/2 from the first byte, also in the clear, without asking.
    public static let http2PriorKnowledge = HTTPVersionPreference(rawValue: "http2-prior-knowledge")
    /// HTTP/3. Fails with ``SessionError/Code/unsupported`` where the libcurl in use can't.
    public static let http3 = HTTPVersionPreference(rawValue: "http3")
}
