/// A request method (RFC 9110 9): any token. Methods are case-sensitive. Requests with `CONNECT` are refused: tunnels
/// through proxies are opened automatically.
public struct HTTPMethod: RawRepresentable, Hashable, Sendable {
    /// The method as it is sent.
    public let rawValue: String

    /// Creates a method. A text that isn't a token is refused when the request is validated.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// Creates a method.
    public init(_ rawValue: String) {
        self.rawValue = rawValue
    }

    /// Transfers a representation of the resource.
    public static let get = HTTPMethod("GET")
    /// Transfers only the head of the response to a `GET`.
    public static let head = HTTPMethod("HEAD")
    /// Lets the resource process the body.
    public static let post = HTTPMethod("POST")
    /// Replaces the resource with the body.
    public static let put = HTTPMethod("PUT")
    /// Applies the changes in the body to the resource (RFC 5789).
    public static let patch = HTTPMethod("PATCH")
    /// Removes the resource.
    public static let delete = HTTPMethod("DELETE")
    /// Describes the communication options of the resource.
    public static let options = HTTPMethod("OPTIONS")
    /// Echoes the received request.
    public static let trace = HTTPMethod("TRACE")

    /// Whether the text is a token (RFC 9110 5.6.2): not empty, no spaces, controls or separators.
    public var isValid: Bool {
        CoreField.isToken(rawValue)
    }

    /// Whether the method is safe (RFC 9110 9.2.1).
    public var isSafe: Bool {
        switch self {
        case .get, .head, .options, .trace: true
        default: false
        }
    }

    /// Whether the method is idempotent (RFC 9110 9.2.2).
    public var isIdempotent: Bool {
        isSafe || self == .put || self == .delete
    }

    /// The methods above that are idempotent.
    static let idempotent = Set(
        [HTTPMethod.get, .head, .post, .put, .patch, .delete, .options, .trace].filter(\.isIdempotent))
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
