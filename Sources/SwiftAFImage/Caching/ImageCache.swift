internal import FoundationEssentials
public import SwiftAF

/// A cache of images by identifier. Use ``AutoPurgingImageCache`` or your own.
public protocol ImageCache: Sendable {
    /// Adds an image; replaces one with the same identifier.
    func add(_ image: Image, identifier: String)
    /// Removes an image. Returns whether there was one.
    @discardableResult func removeImage(identifier: String) -> Bool
    /// Removes all images. Returns whether there were any.
    @discardableResult func removeAllImages() -> Bool
    /// Returns the image with an identifier; nil if there is none.
    func image(identifier: String) -> Image?
}

/// A cache of images by request.
///
/// The default implementation makes an identifier from the request and the additional identifier, see
/// ``ImageCacheKey/identifier(for:additionalIdentifier:)``, and caches every image.
public protocol ImageRequestCache: ImageCache {
    /// Returns whether to cache an image.
    func shouldCache(_ image: Image, for request: HTTPRequest, additionalIdentifier: String?) -> Bool
    /// Adds the image of a request; replaces an earlier one.
    func add(_ image: Image, for request: HTTPRequest, additionalIdentifier: String?)
    /// Removes the image of a request. Returns whether there was one.
    @discardableResult func removeImage(for request: HTTPRequest, additionalIdentifier: String?) -> Bool
    /// Returns the image of a request; nil without one.
    func image(for request: HTTPRequest, additionalIdentifier: String?) -> Image?
}

extension ImageRequestCache {
    public func shouldCache(_ image: Image, for request: HTTPRequest, additionalIdentifier: String?) -> Bool {
        true
    }

    /// Adds the image of a request; replaces an earlier one.
    public func add(_ image: Image, for request: HTTPRequest, additionalIdentifier: String?) {
        add(image, identifier: ImageCacheKey.identifier(for: request, additionalIdentifier: additionalIdentifier))
    }

    /// Removes the image of a request. Returns whether there was one.
    @discardableResult
    public func removeImage(for request: HTTPRequest, additionalIdentifier: String?) -> Bool {
        removeImage(
            identifier: ImageCacheKey.identifier(for: request, additionalIdentifier: additionalIdentifier))
    }

    /// Returns the image of a request; nil without one.
    public func image(for request: HTTPRequest, additionalIdentifier: String?) -> Image? {
        image(identifier: ImageCacheKey.identifier(for: request, additionalIdentifier: additionalIdentifier))
    }
}

/// The cache key of a request for an image.
public enum ImageCacheKey {
    /// The header fields that identify a single request. Their values differ in each request and don't select the
    /// image.
    static let ignoredFields: Set<String> = ["traceparent", "tracestate", "x-request-id", "x-correlation-id"]

    /// The identifier of a request: method, URL without fragment, header fields, the Unix-domain socket, the
    /// credential, the body and the additional identifier, encoded so that different requests never collide. Contains
    /// secrets, if the request does.
    ///
    /// The case of field names and the order of different names don't matter. Fields that identify a single request are
    /// left out: `traceparent`, `tracestate`, `X-Request-ID` and `X-Correlation-ID`. A request without an Accept field
    /// has the identifier of one with `Accept: image/*`, which downloaders add.
    ///
    /// A body that isn't in memory, such as a file, may change between requests, and one of more than 16 KiB would make
    /// a long identifier. For a request with such a body, each call returns a new identifier, so downloaders neither
    /// merge nor cache it.
    ///
    /// Downloaders pass requests with absolute URLs, see ``ImageFetching/resolvedURL(of:)``.
    public static func identifier(for request: HTTPRequest, additionalIdentifier: String? = nil) -> String {
        let request = HTTPRequest(imageOf: request)
        let url = URLText(request.url).withoutFragment
        var name = "\(request.method) \(url)"
        // Sorting is stable: fields of the same name keep their order.
        let fields = request.headers.fields.map { (name: ASCII.lowercased($0.name), value: $0.value) }
        for field in fields.sorted(by: { $0.name < $1.name }) where !ignoredFields.contains(field.name) {
            // Written with their sizes, because the value of a request that was never sent may contain a line feed.
            name += "\n\(field.name.utf8.count) \(field.value.utf8.count) \(field.name): \(field.value)"
        }
        for suppressed in request.headers.suppressedDefaults.map({ ASCII.lowercased($0) }).sorted() {
            name += "\nNo \(suppressed.debugDescription)"
        }
        // Escaped, because a path may contain a line feed.
        if let socket = request.unixSocket { name += "\nUnix socket \(socket.debugDescription)" }
        if let credential = request.credential {
            name += "\nCredential \(credential.identity.debugDescription)"
        }
        if !isConstant(for: request) {
            name += "\nBody \(UUID().uuidString)"
        } else if let body = request.body.data {
            name += "\nBody \(body.base64EncodedString())"
        }
        if let additionalIdentifier { name += "\n\n\(additionalIdentifier)" }
        return name
    }

    /// Returns whether a request has the same identifier at each call.
    static func isConstant(for request: HTTPRequest) -> Bool {
        request.body.isNone || request.body.data.map { $0.count <= 16 << 10 } ?? false
    }
}
