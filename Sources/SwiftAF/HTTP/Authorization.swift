import FoundationEssentials

extension HTTPHeaders {
    /// The value of an Authorization field.
    public struct Authorization: RawRepresentable, Hashable, Sendable, CustomStringConvertible, CustomReflectable {
        /// The scheme and the credentials, as sent.
        public let rawValue: String

        /// Creates any value, such as `AWS4-HMAC-SHA256 …`.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// `Bearer …` (RFC 6750).
        public static func bearer(_ token: String) -> Authorization {
            Authorization(rawValue: "Bearer " + token)
        }

        /// `Basic …`, with user name and password as UTF-8 (RFC 7617).
        public static func basic(user: String, password: String) -> Authorization {
            Authorization(rawValue: "Basic " + Data("\(user):\(password)".utf8).base64EncodedString())
        }

        /// The scheme, if there is one, without the credentials.
        public var description: String {
            // A value without a space is a key alone, as some servers expect it: all of it is secret.
            guard let space = rawValue.utf8.firstIndex(of: UInt8(ascii: " ")) else { return Redaction.placeholder }
            return "\(rawValue[..<space]) \(Redaction.placeholder)"
        }

        public var customMirror: Mirror { Mirror(self, children: []) }
    }

    /// The Authorization field; nil without one.
    ///
    /// ```swift
    /// manager.headers.authorization = .bearer(token)
    /// ```
    public var authorization: Authorization? {
        get { self[Name.authorization].map { Authorization(rawValue: $0) } }
        set { self[Name.authorization] = newValue?.rawValue }
    }
}
