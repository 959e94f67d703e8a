public import FoundationEssentials
public import SwiftAF

/// Performs the requests for images, instead of an ``/SwiftAF/HTTPSessionManager``.
public protocol ImageFetching: Sendable {
    /// Performs a request. Must end soon after its Swift task is cancelled.
    func fetch(_ request: HTTPRequest) async throws(SessionError) -> Response<Data>

    /// Performs a request like ``fetch(_:)``, and passes each piece of the body on as it arrives. The default passes
    /// none on.
    func fetch(
        _ request: HTTPRequest, receiving: (HTTPResponse, Data) -> Void
    ) async throws(SessionError) -> Response<Data>
}

extension ImageFetching {
    public func fetch(
        _ request: HTTPRequest, receiving: (HTTPResponse, Data) -> Void
    ) async throws(SessionError) -> Response<Data> {
        try await fetch(request)
    }
}

/// Performs the requests with a manager.
struct SessionFetcher: ImageFetching {
    private let manager: HTTPSessionManager

    init(_ manager: HTTPSessionManager) {
        self.manager = manager
    }

    func fetch(_ request: HTTPRequest) async throws(SessionError) -> Response<Data> {
        try await manager.response(for: request)
    }

    func fetch(
        _ request: HTTPRequest, receiving: (HTTPResponse, Data) -> Void
    ) async throws(SessionError) -> Response<Data> {
        var request = request
        // A stream has no size limit unless its request has one, but this one is collected in memory.
        if request.limits.maximumBodySize == nil {
            request.limits.maximumBodySize = manager.configuration.limits.maximumBodySize
        }
        let start = ContinuousClock.now
        let stream = try await manager.stream(request)
        var body = Data()
        var chunks = stream.bytes.makeAsyncIterator()
        do throws(SessionError) {
            while let chunk = try await chunks.next() {
                body += chunk
                receiving(stream.head, chunk)
            }
        } catch {
            guard let again = await retry(of: request, begunAt: start, stream.head, error) else { throw error }
            return try await fetch(again)
        }
        return Response(head: stream.head, body: body, filePath: stream.filePath)
    }

    /// The request to send again after its body was cut short; nil if no interceptor wants that. A stream itself is
    /// retried only until its head arrives, because its reader has seen what followed.
    private func retry(
        of request: HTTPRequest, begunAt start: ContinuousClock.Instant, _ head: HTTPResponse, _ error: SessionError
    ) async -> HTTPRequest? {
        guard request.body.isReplayable, error.code != .cancelled, error.reason != .total else { return nil }
        let limit =
            request.timeouts.total ?? manager.timeouts.total ?? manager.configuration.timeouts.total ?? .zero
        let deadline = limit > .zero ? start + limit : nil
        let outcome = AttemptOutcome(
            attempt: RequestAttempt(start: start, deadline: deadline), response: head, error: error)
        for interceptor in request.interceptors + manager.interceptors {
            switch await interceptor.retry(request, after: outcome) {
            case .doNotRetry: continue
            case .fail: return nil
            case .retry(let delay):
                if let deadline, .now + delay >= deadline { return nil }
                await delay.pause()
                var again = request
                if let deadline { again.timeouts.total = max(.milliseconds(1), deadline - .now) }
                return again
            }
        }
        return nil
    }
}

/// Makes previews of an image during its download. The interval grows with the received size, so that all previews
/// together cost a few decodings.
final class ProgressivePreview {
    private static let least = 16 << 10

    private var decoder: (any ProgressiveImageDecoding)?
    private var received = 0
    private var next = least

    init(_ decoder: any ProgressiveImageDecoding) {
        self.decoder = decoder
    }

    /// Nil if the next preview isn't due, or there is none.
    func append(_ bytes: Data) -> Image? {
        received += bytes.count
        do {
            try decoder?.append(bytes)
            guard received >= next else { return nil }
            next = received + max(Self.least, received / 4)
            return try decoder?.image()
        } catch {
            // Errors are reported when the whole file is decoded.
            decoder = nil
            return nil
        }
    }
}
