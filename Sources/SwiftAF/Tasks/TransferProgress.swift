/// A snapshot of the progress of a transfer.
public struct TransferProgress: Hashable, Sendable {
    /// The number of bytes sent of the request body.
    public var sent: Int64
    /// The size of the request body in bytes; nil if unknown.
    public var sentTotal: Int64?
    /// The number of bytes received of the response body, before decoding.
    public var received: Int64
    /// The size of the response body in bytes, before decoding; nil if unknown.
    public var receivedTotal: Int64?

    /// The number of bytes that a resumed download started with. Not counted in the other properties.
    public var offset: Int64

    /// Creates a snapshot, for tests and previews.
    public init(
        sent: Int64 = 0, sentTotal: Int64? = nil, received: Int64 = 0, receivedTotal: Int64? = nil, offset: Int64 = 0
    ) {
        self.sent = sent
        self.sentTotal = sentTotal
        self.received = received
        self.receivedTotal = receivedTotal
        self.offset = offset
    }

    /// The fraction of the request body that was sent, from 0 to 1; 1 without a body. Nil while the size is unknown; it
    /// is known from the start of an upload, unless the body is a stream of unknown length.
    public var uploadFraction: Double? {
        sentTotal.map { Self.fraction(Double(sent), Double($0)) }
    }

    /// The fraction of the response body that was received, from 0 to 1, including the part that a resumed download
    /// started with. Nil while the size is unknown.
    public var downloadFraction: Double? {
        receivedTotal.map { Self.fraction(Double(received) + Double(offset), Double($0) + Double(offset)) }
    }

    /// The number of bytes of the response body that exist on this side: the sum of ``received`` and ``offset``.
    public var downloaded: Int64 { Self.sum(received, offset) }

    /// The size of the whole response body in bytes, including ``offset``; nil if unknown.
    public var downloadTotal: Int64? { receivedTotal.map { Self.sum($0, offset) } }

    private static func fraction(_ done: Double, _ total: Double) -> Double {
        total > 0 ? min(1, done / total) : 1
    }

    private static func sum(_ left: Int64, _ right: Int64) -> Int64 {
        let (sum, overflows) = left.addingReportingOverflow(right)
        return overflows ? .max : sum
    }

    /// The fraction from 0 to 1 over both directions, including ``offset``; nil while a total is unknown, which for an
    /// upload is until the response begins. See ``uploadFraction`` and ``downloadFraction``.
    public var fractionCompleted: Double? {
        guard let sentTotal, let receivedTotal else { return nil }
        return Self.fraction(
            Double(sent) + Double(received) + Double(offset),
            Double(sentTotal) + Double(receivedTotal) + Double(offset))
    }
}
