/// The progress of a transfer: a snapshot.
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

    public init(
        sent: Int64 = 0, sentTotal: Int64? = nil, received: Int64 = 0, receivedTotal: Int64? = nil, offset: Int64 = 0
    ) {
        self.sent = sent
        self.sentTotal = sentTotal
        self.received = received
        self.receivedTotal = receivedTotal
        self.offset = offset
    }

    /// The fraction from 0 to 1 over both directions, including ``offset``; nil while a total is unknown.
    public var fractionCompleted: Double? {
        guard let sentTotal, let receivedTotal else { return nil }
        let total = Double(sentTotal) + Double(receivedTotal) + Double(offset)
        return total > 0 ? min(1, (Double(sent) + Double(received) + Double(offset)) / total) : 1
    }
}
