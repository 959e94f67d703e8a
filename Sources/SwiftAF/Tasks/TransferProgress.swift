/// How far a transfer is, at one moment. A value: it does not change afterwards.
public struct TransferProgress: Hashable, Sendable {
    /// Bytes of the request body that were sent.
    public var sent: Int64
    /// Bytes of the request body altogether, nil if that is not known.
    public var sentTotal: Int64?
    /// Bytes of the response body that came over the wire, before decoding.
    public var received: Int64
    /// Bytes of the response body altogether, nil if that is not known.
    public var receivedTotal: Int64?

    /// Bytes that were there before, of a download that goes on. They are in neither of the others.
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

    /// From 0 to 1 over both directions and what was there before, nil as long as a total is not known.
    public var fractionCompleted: Double? {
        guard let sentTotal, let receivedTotal else { return nil }
        let total = Double(sentTotal) + Double(receivedTotal) + Double(offset)
        return total > 0 ? min(1, (Double(sent) + Double(received) + Double(offset)) / total) : 1
    }
}
