public import FoundationEssentials
public import SwiftAF

/// Performs the requests for images, instead of an ``/SwiftAF/HTTPSessionManager``.
public protocol ImageFetching: Sendable {
    /// Performs a request. Must end soon after its Swift task is cancelled.
    func fetch(_ request: HTTPRequest) async throws(SessionError) -> Response<Data>

    /// Performs a request like ``fetch(_:)``, and passes on the pieces of the body as they arrive; of several attempts,
    /// those of one only. The default passes on none.
    func fetch(
        _ request: HTTPRequest, receiving: (HTTPResponse, Data) -> Void
    ) async throws(SessionError) -> Response<Data>

    /// Returns the URL that a request is sent to, by which its image is cached. A fetcher that resolves relative URLs
    /// must return the absolute one. The default returns the request's URL.
    func resolvedURL(of request: HTTPRequest) -> String
}

extension ImageFetching {
    public func resolvedURL(of request: HTTPRequest) -> String { request.url }

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

    func resolvedURL(of request: HTTPRequest) -> String {
        manager.resolvedURL(request.url)
    }

    func fetch(_ request: HTTPRequest) async throws(SessionError) -> Response<Data> {
        try await manager.response(for: request)
    }

    func fetch(
        _ request: HTTPRequest, receiving: (HTTPResponse, Data) -> Void
    ) async throws(SessionError) -> Response<Data> {
        try await manager.response(for: request, receiving: receiving)
    }
}

/// Makes previews of an image during its download. The interval between them grows with the received size, so that all
/// previews together cost as much as a few decodings. It also grows with the number of pixels, because each preview
/// copies them, and a small file may have millions.
final class ProgressivePreview {
    private static let least = 16 << 10
    /// The number of bytes to receive after a preview is its number of pixels divided by this. A photograph has about 4
    /// pixels per byte.
    private static let pixelsPerByte = 16

    private var decoder: (any ProgressiveImageDecoding)?
    private var received = 0
    private var next = least

    init(_ decoder: any ProgressiveImageDecoding) {
        self.decoder = decoder
    }

    /// Appends bytes. Returns a preview, if one is due and can be made.
    func append(_ bytes: Data) -> Image? {
        received += bytes.count
        do {
            try decoder?.append(bytes)
            guard received >= next else { return nil }
            let image = try decoder?.image()
            let pixelCount = image.map { $0.pixelWidth * $0.pixelHeight } ?? 0
            next = received + Self.interval(received: received, pixelCount: pixelCount)
            return image
        } catch {
            // Errors are reported when the whole file is decoded.
            decoder = nil
            return nil
        }
    }

    /// Returns the number of bytes to receive before the next preview.
    ///
    /// - Parameters:
    ///   - received: The number of bytes received so far.
    ///   - pixelCount: The number of pixels of the last preview; 0 if there was none.
    static func interval(received: Int, pixelCount: Int) -> Int {
        max(least, received / 4, pixelCount / pixelsPerByte)
    }
}
