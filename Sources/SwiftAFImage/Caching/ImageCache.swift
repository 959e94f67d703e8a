public import SwiftAF

/// A cache of images by identifier. Use ``AutoPurgingImageCache`` or your own.
public protocol ImageCache: Sendable {
    /// Adds an image; replaces one with the same identifier.
    func add(_ image: Image, identifier: String)
    /// Whether there was one.
    @discardableResult func removeImage(identifier: String) -> Bool
    /// Whether there was any.
    @discardableResult func removeAllImages() -> Bool
    func image(identifier: String) -> Image?
}

/// A cache of images by request.
///
/// The default implementation makes an identifier from the request and the additional identifier, see
/// ``ImageCacheKey/identifier(for:additionalIdentifier:)``, and caches every image.
public protocol ImageRequestCache: ImageCache {
    /// Whether to cache an image.
    func shouldCache(_ image: Image, for request: HTTPRequest, additionalIdentifier: String?) -> Bool
    func add(_ image: Image, for request: HTTPRequest, additionalIdentifier: String?)
    @discardableResult func removeImage(for request: HTTPRequest, additionalIdentifier: String?) -> Bool
    func image(for request: HTTPRequest, additionalIdentifier: String?) -> Image?
}

extension ImageRequestCache {
    public func shouldCache(_ image: Image, for request: HTTPRequest, additionalIdentifier: String?) -> Bool {
        true
    }

    public func add(_ image: Image, for request: HTTPRequest, additionalIdentifier: String?) {
        add(image, identifier: ImageCacheKey.identifier(for: request, additionalIdentifier: additionalIdentifier))
    }

    @discardableResult
    public func removeImage(for request: HTTPRequest, additionalIdentifier: String?) -> Bool {
        removeImage(
            identifier: ImageCacheKey.identifier(for: request, additionalIdentifier: additionalIdentifier))
    }

    public func image(for request: HTTPRequest, additionalIdentifier: String?) -> Image? {
        image(identifier: ImageCacheKey.identifier(for: request, additionalIdentifier: additionalIdentifier))
    }
}

/// The cache key of a request for an image.
public enum ImageCacheKey {
    /// The request fields that may change which image the server returns.
    static let fields = ["Accept", "Accept-Language", "Authorization", "Cookie", "Range"]

    /// The identifier of a request: method, URL without fragment, the fields that change the response, and the
    /// additional identifier, encoded so that different requests never collide.
    public static func identifier(for request: HTTPRequest, additionalIdentifier: String? = nil) -> String {
        let url = URLText(request.url).withoutFragment
        var name = "\(request.method) \(url)"
        for field in fields {
            for value in request.headers.values(for: field) { name += "\n\(field): \(value)" }
        }
        if let additionalIdentifier { name += "\n\n\(additionalIdentifier)" }
        return name
    }
}
