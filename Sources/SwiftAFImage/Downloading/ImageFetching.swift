public import FoundationEssentials
public import SwiftAF

/// Gets the responses that images are made of. ``SwiftAF/HTTPSessionManager`` is what usually does.
public protocol ImageFetching: Sendable {
    /// The response to a request. Ends soon when its task is cancelled.
    func fetch(_ request: HTTPRequest) async throws(SessionError) -> DataResponse

    /// The same, with each piece of the body as it comes. The default gives none.
    func fetch(
        _ request: HTTPRequest, receiving: (HTTPResponse, Data) -> Void
    ) async throws(SessionError) -> DataResponse
}

extension ImageFetching {
    public func fetch(
        _ request: HTTPRequest, receiving: (HTTPResponse, Data) -> Void
    ) async throws(SessionError) -> DataResponse {
        try await fetch(request)
    }
}

extension HTTPSessionManager: ImageFetching {
    public func fetch(_ request: HTTPRequest) async throws(SessionError) -> DataResponse {
        try await response(for: request)
    }

    public func fetch(
        _ request: HTTPRequest, receiving: (HTTPResponse, Data) -> Void
    ) async throws(SessionError) -> DataResponse {
        var request = request
        // A stream has no limit unless its request has one; this one is collected.
        if request.limits.maximumBodySize == nil {
            request.limits.maximumBodySize = configuration.limits.maximumBodySize
        }
        let stream = try await stream(request)
        var body = Data()
        var chunks = stream.bytes.makeAsyncIterator()
        while let chunk = try await chunks.next() {
            body += chunk
            receiving(stream.response, chunk)
        }
        return DataResponse(response: stream.response, body: body, filePath: stream.filePath)
    }
}

/// What can be seen of an image while it comes. The more there is already, the more must come until it is looked at
/// again, so that looking costs no more than a few decodings in all.
final class PartialSight {
    private static let least = 16 << 10

    private var decoder: (any ProgressiveImageDecoding)?
    private var received = 0
    private var next = least

    init(_ decoder: any ProgressiveImageDecoding) {
        self.decoder = decoder
    }

    /// Nil if it is not time to look, or if there is nothing to be seen.
    func append(_ bytes: Data) -> Image? {
        received += bytes.count
        do {
            try decoder?.append(bytes)
            guard received >= next else { return nil }
            next = received + max(Self.least, received / 4)
            return try decoder?.image()
        } catch {
            // What is wrong with it is told when all of it is there.
            decoder = nil
            return nil
        }
    }
}
