package import FoundationEssentials

/// A transfer whose body is collected in memory, and also passed on piece by piece as it arrives.
private final class CollectingTransfer: CoreTask, @unchecked Sendable {
    private let feed: PieceFeed
    // Used on the loop thread, and on another one only after the end.
    private var head: HTTPResponse?
    private var isFed = false
    private var body = Data()

    init(_ request: CoreRequest, _ feed: PieceFeed) {
        self.feed = feed
        var http = request.http
        // The core applies its default limit only to bodies that it collects itself, not to a callback.
        if http.limits.maximumBodySize == nil {
            http.limits.maximumBodySize = request.session.configuration.limits.maximumBodySize
        }
        super.init(request.with(http: http, sink: .callback))
    }

    /// Runs the task to its end, and adds the body to its outcome.
    func collected(in loop: RetryLoop?) async -> CoreOutcome {
        var outcome = await outcome(in: loop)
        guard head != nil else { return outcome }
        outcome.body = body
        if outcome.failure?.response != nil { outcome.failure?.body = body }
        return outcome
    }

    override func didReceiveHead(_ response: HTTPResponse) -> ResponseDecision {
        let decision = super.didReceiveHead(response)
        if case .allow = decision {
            head = response
            isFed = response.isSuccessful && feed.begin()
        }
        return decision
    }

    override func didReceiveBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let head, !bytes.isEmpty else { return true }
        body += bytes
        if isFed { feed.pass(on: Data(bytes), of: head) }
        return true
    }
}

/// Passes the pieces of one transfer from the loop thread to a Swift task.
private final class PieceFeed: Sendable {
    typealias Piece = (head: HTTPResponse, bytes: Data)

    let pieces: AsyncStream<Piece>
    private let continuation: AsyncStream<Piece>.Continuation
    private let hasBegun = Locked(false)

    init() {
        (pieces, continuation) = AsyncStream.makeStream()
    }

    /// Marks that pieces are passed on. Returns true for the first call only, so that only one transfer does it.
    func begin() -> Bool { !hasBegun.exchange(true) }

    func pass(on bytes: Data, of head: HTTPResponse) { continuation.yield((head, bytes)) }

    func finish() { continuation.finish() }
}

extension CoreRequest {
    fileprivate func collected(_ feed: PieceFeed) async -> CoreOutcome {
        defer { feed.finish() }
        return await outcome { await CollectingTransfer($0, feed).collected(in: $1) }
    }
}

extension HTTPSessionManager {
    /// Sends a request like ``response(for:progress:)``, with the same attempts and events, and passes the body on as
    /// it arrives.
    ///
    /// - Parameter receive: Called with pieces of the body, where the caller runs. Only the pieces of the first attempt
    ///   with a successful status are passed on, because a reader can't take back what it has seen. It may take time;
    ///   pieces that arrive meanwhile are buffered, at most the whole body.
    package func response(
        for request: HTTPRequest, receiving receive: (HTTPResponse, Data) -> Void
    ) async throws(SessionError) -> Response<Data> {
        let snapshot = snapshot
        let prepared = try prepare(request, snapshot)
        let feed = PieceFeed()
        async let ending = prepared.collected(feed)
        for await piece in feed.pieces { receive(piece.head, piece.bytes) }
        return try await ending.reportedResponse(snapshot.settings.responses, isChecked: false)
    }
}
