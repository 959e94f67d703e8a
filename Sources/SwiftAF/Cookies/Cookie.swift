public import FoundationEssentials

/// A cookie (RFC 6265bis).
public struct Cookie: Hashable, Sendable, Codable {
    /// The attribute `SameSite`. Stored and reported, but not enforced: there are no documents of other sites.
    public enum SameSite: String, Hashable, Sendable, Codable {
        /// `None`: sent in all contexts.
        case unrestricted
        /// `Lax`
        case lax
        /// `Strict`
        case strict
    }

    /// The name.
    public var name: String
    /// The value.
    public var value: String
    /// The domain: a name in ASCII or an address, in lower case, without a leading dot.
    public var domain: String
    /// The path, beginning with a slash.
    public var path: String
    /// The expiry date; nil for a session cookie.
    public var expiresDate: Date?
    /// Whether it is for ``domain`` only, not for subdomains.
    public var isHostOnly: Bool
    /// Whether it is sent over https only.
    public var isSecure: Bool
    /// Whether it is hidden from scripts.
    public var isHTTPOnly: Bool
    /// The attribute `SameSite`; nil if the server didn't set it.
    public var sameSite: SameSite?

    /// Creates a cookie, by default for one host and until the end of the session.
    public init(
        name: String, value: String, domain: String, path: String = "/", expiresDate: Date? = nil,
        isHostOnly: Bool = true, isSecure: Bool = false, isHTTPOnly: Bool = false, sameSite: SameSite? = nil
    ) {
        self.name = name
        self.value = value
        self.domain = domain
        self.path = path
        self.expiresDate = expiresDate
        self.isHostOnly = isHostOnly
        self.isSecure = isSecure
        self.isHTTPOnly = isHTTPOnly
        self.sameSite = sameSite
    }

    /// Which cookies of servers are kept. Cookies that are in a storage are always sent.
    public enum AcceptPolicy: Hashable, Sendable {
        /// Accepts the cookies of every host.
        case always
        /// Accepts no cookies.
        case never
        /// Accepts the cookies of hosts of the same site as ``HTTPRequest/mainDocumentURL``.
        case onlyFromMainDocumentDomain
    }
}

extension Cookie: CustomStringConvertible, CustomReflectable {
    /// Name, domain and path, without the value, which may be a secret.
    public var description: String { "\(name) of \(domain)\(path)" }

    /// Replaces the default mirror, which would show the value.
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension HTTPRequest {
    /// Whether cookies of the session's storage are sent, and cookies of the response are stored there. True unless
    /// ``Hints/handlesCookies`` is false.
    public var handlesCookies: Bool {
        get { hints.handlesCookies ?? true }
        set { hints.handlesCookies = newValue }
    }
}
