/// A request method: any token of RFC 9110, its case kept, because methods are case-sensitive.
public struct HTTPMethod: RawRepresentable, Hashable, Sendable {
    /// The token as it goes on the wire.
    public let rawValue: String

    /// Makes a method of any text. Text that is not a token is refused when the request is validated.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// Makes a method of any text.
    public init(_ rawValue: String) {
        self.rawValue = rawValue
    }

    /// Reads a representation.
    public static let get = HTTPMethod("GET")
    /// Reads the head of what `GET` would give.
    public static let head = HTTPMethod("HEAD")
    /// Hands the body to the resource to process.
    public static let post = HTTPMethod("POST")
    /// Replaces the resource by the body.
    public static let put = HTTPMethod("PUT")
    /// Changes the resource as the body says.
    public static let patch = HTTPMethod("PATCH")
    /// Removes the resource.
    public static let delete = HTTPMethod("DELETE")
    /// Asks what the resource can do.
    public static let options = HTTPMethod("OPTIONS")
    /// Asks for the request as it arrived.
    public static let trace = HTTPMethod("TRACE")
    /// Opens a tunnel; for proxies.
    public static let connect = HTTPMethod("CONNECT")

    /// Whether the text is a token (RFC 9110, section 5.6.2): not empty, no spaces, controls or separators.
    public var isValid: Bool {
        ASCII.isToken(rawValue)
    }

    /// Whether the method only reads (RFC 9110, section 9.2.1).
    public var isSafe: Bool {
        switch self {
        case .get, .head, .options, .trace: true
        default: false
        }
    }

    /// Whether repeating the request has the effect of sending it once (RFC 9110, section 9.2.2).
    public var isIdempotent: Bool {
        isSafe || self == .put || self == .delete
    }
}

extension HTTPMethod: ExpressibleByStringLiteral {
    public init(stringLiteral value: String) {
        self.rawValue = value
    }
}

extension HTTPMethod: CustomStringConvertible {
    public var description: String { rawValue }
}

extension HTTPMethod: Codable {
    public init(from decoder: any Decoder) throws {
        rawValue = try decoder.singleValueContainer().decode(String.self)
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }
}
