extension HTTPRequest {
    /// Limits in bytes per second of bodies, averaged over a transfer. Nil uses the session's limit; zero is no limit.
    ///
    /// Waiting because of a limit doesn't count as idle. Received bytes count before decoding.
    public struct RateLimit: Hashable, Sendable, Codable {
        /// Bytes per second sent. Default: nil, the session's limit or none.
        public var sendBytesPerSecond: Int?
        /// Bytes per second received. Default: nil, the session's limit or none.
        public var receiveBytesPerSecond: Int?

        /// Creates limits; nil uses the session's.
        public init(sendBytesPerSecond: Int? = nil, receiveBytesPerSecond: Int? = nil) {
            self.sendBytesPerSecond = sendBytesPerSecond
            self.receiveBytesPerSecond = receiveBytesPerSecond
        }

        /// Creates a limit that is the same in both directions.
        public init(bytesPerSecond: Int) {
            self.init(sendBytesPerSecond: bytesPerSecond, receiveBytesPerSecond: bytesPerSecond)
        }
    }

    /// When `Expect: 100-continue` is sent over HTTP/1.1, so that the server can refuse a body before it is sent (RFC
    /// 9110 10.1.1).
    ///
    /// If the server sends a final response first, the body isn't sent. After a 417 the request is repeated without
    /// Expect. If the server doesn't respond, the body is sent after the wait. An `Expect` field in the request means
    /// ``always``; suppressing that field means ``never``.
    public enum ContinueExpectation: Hashable, Sendable, Codable {
        /// Sent before bodies larger than 1 MiB or of unknown length; waits 200 ms.
        case automatic
        /// Sent before every body that isn't empty; waits one second.
        case always
        /// Sends the body at once.
        case never
    }
}
