/// A version of HTTP.
public struct HTTPVersion: Hashable, Sendable, Comparable, Codable {
    /// The major version.
    public let major: Int
    /// The minor version; 0 for HTTP/2 and later.
    public let minor: Int

    /// Creates a version.
    public init(major: Int, minor: Int) {
        self.major = major
        self.minor = minor
    }

    /// HTTP/1.0.
    public static let http1_0 = HTTPVersion(major: 1, minor: 0)
    /// HTTP/1.1.
    public static let http1_1 = HTTPVersion(major: 1, minor: 1)
    /// HTTP/2.
    public static let http2 = HTTPVersion(major: 2, minor: 0)
    /// HTTP/3.
    public static let http3 = HTTPVersion(major: 3, minor: 0)

    /// The version number: `1.1`, `2`, `3`.
    public var number: String {
        major >= 2 && minor == 0 ? String(major) : "\(major).\(minor)"
    }

    /// Orders versions by number.
    public static func < (left: HTTPVersion, right: HTTPVersion) -> Bool {
        (left.major, left.minor) < (right.major, right.minor)
    }
}

extension HTTPVersion: CustomStringConvertible {
    /// The version as in a status line: `HTTP/1.1`, `HTTP/2`.
    public var description: String { "HTTP/" + number }
}

/// The preferred version of HTTP. ``HTTPResponse/version`` is the one that was used.
public struct HTTPVersionPreference: RawRepresentable, Hashable, Sendable, Codable {
    /// The stable name of the preference.
    public let rawValue: String

    /// Creates a preference by name. Requests and sessions with an unknown name fail with
    /// ``SessionError/Code/unsupported``.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// HTTP/2 over https if the server supports it (ALPN), otherwise HTTP/1.1; over http HTTP/1.1.
    public static let automatic = HTTPVersionPreference(rawValue: "automatic")
    /// HTTP/1.1 only.
    public static let http1_1 = HTTPVersionPreference(rawValue: "http1.1")
    /// The same as ``automatic``: there is no upgrade over http.
    public static let http2 = HTTPVersionPreference(rawValue: "http2")
    /// HTTP/2 with prior knowledge, also over http, without negotiation.
    ///
    /// Over http with libcurl before 8.7.0, such as Debian 12's, use it only for a server that you trust: if it sends
    /// frames without content and without a pause, all requests of the manager, their time limits and cancellation wait
    /// until it stops.
    public static let http2PriorKnowledge = HTTPVersionPreference(rawValue: "http2-prior-knowledge")
    /// HTTP/3. Fails with ``SessionError/Code/unsupported`` if libcurl doesn't support it.
    public static let http3 = HTTPVersionPreference(rawValue: "http3")

    func validate() throws(SessionError) {
        let all: [HTTPVersionPreference] = [.automatic, .http1_1, .http2, .http2PriorKnowledge, .http3]
        guard !all.contains(self) else { return }
        let names = all.map(\.rawValue).joined(separator: ", ")
        throw SessionError(
            .unsupported,
            message: "unknown version preference '\(ASCII.printable(rawValue, limit: 40))'; accepted: \(names)")
    }
}
