public import SwiftAF

/// Keeps images by names. Bring your own, or take ``AutoPurgingImageCache``.
public protocol ImageCache: Sendable {
    /// Keeps an image, instead of one of the same name.
    func add(_ image: Image, identifier: String)
    /// Whether there was one.
    @discardableResult func removeImage(identifier: String) -> Bool
    /// Whether there was any.
    @discardableResult func removeAllImages() -> Bool
    func image(identifier: String) -> Image?
}

/// Keeps images by the requests that they answer.
///
/// The default gives each request and additional identifier a name of its own, see
/// ``ImageCacheKey/identifier(for:additionalIdentifier:)``, and keeps every image.
public protocol ImageRequestCache: ImageCache {
    /// Whether an image shall be added.
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

/// What makes two requests for images the same.
public enum ImageCacheKey {
    /// The fields that change which image a server gives, whoever else asks for the same URL.
    static let fields = ["Accept", "Accept-Language", "Authorization", "Cookie", "Range"]

    /// A name for a request: its method, its URL without fragment, the fields that change the answer, and the
    /// identifier. No two of them run together.
    public static func identifier(for request: HTTPRequest, additionalIdentifier: String? = nil) -> String {
        let url = request.url.prefix { $0 != "#" }
        var name = "\(request.method) \(url)"
        for field in fields {
            for value in request.headers.values(for: field) { name += "\n\(field): \(value)" }
        }
        if let additionalIdentifier { name += "\n\n\(additionalIdentifier)" }
        return name
    }
}
