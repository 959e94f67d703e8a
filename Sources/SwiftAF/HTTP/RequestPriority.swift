extension HTTPRequest {
    /// The priority of a request among those that wait for a connection: from 0 (last) to 1 (first).
    ///
    /// ```swift
    /// request.priority = .high
    /// request.priority = 0.8
    /// request.priority = .init(rawValue: share)
    /// ```
    public struct Priority: RawRepresentable, Hashable, Comparable, Sendable, Codable,
        ExpressibleByFloatLiteral, ExpressibleByIntegerLiteral
    {
        /// The number, from 0 to 1. With another one, the request fails with ``SessionError/Code/invalidInput``.
        public var rawValue: Float

        /// Creates a priority from a number from 0 to 1.
        public init(rawValue: Float) {
            self.rawValue = rawValue
        }

        public init(floatLiteral value: Float) {
            self.init(rawValue: value)
        }

        public init(integerLiteral value: Int8) {
            self.init(rawValue: Float(value))
        }

        public static func < (left: Priority, right: Priority) -> Bool {
            left.rawValue < right.rawValue
        }

        /// 0.25, for requests that can wait.
        public static let low = Priority(rawValue: 0.25)
        /// 0.5, the default.
        public static let normal = Priority(rawValue: 0.5)
        /// 0.75, for requests that a user waits for.
        public static let high = Priority(rawValue: 0.75)
    }
}
