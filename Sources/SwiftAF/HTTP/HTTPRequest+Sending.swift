extension HTTPRequest {
    /// Bytes of bodies per second at most, averaged over a transfer. Nil is the session's; zero is no limit.
    ///
    /// Waiting for a limit doesn't count as idle. What is received counts before decoding.
    public struct RateLimit: Hashable, Sendable, Codable {
        /// From here to the server.
        public var sending: Int?
        /// From the server to here.
        public var receiving: Int?

        /// Makes limits; those left out are the session's.
        public init(sending: Int? = nil, receiving: Int? = nil) {
            self.sending = sending
            self.receiving = receiving
        }

        /// The same limit both ways.
        public init(bytesPerSecond: Int) {
            self.init(sending: bytesPerSecond, receiving: bytesPerSecond)
        }
    }

    /// Whether the server is asked, by `Expect: 100-continue` over HTTP/1.1, before a body is sent.
    ///
    /// A final answer is then the answer, and the body is not sent; but after a 417 the request is sent once more
    /// without the question. A server that says nothing gets the body after the wait. An `Expect` field of the request
    /// with that value is as ``always``, its removal as ``never``.
    public enum ContinueExpectation: Hashable, Sendable, Codable {
        /// For bodies beyond 1 MiB or of unknown length; waits 200 ms.
        case automatic
        /// For every body that is not empty; waits a second.
        case always
        /// The body follows at once.
        case never
    }
}
