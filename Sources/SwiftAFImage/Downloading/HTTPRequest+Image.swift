public import SwiftAF

extension HTTPRequest {
    /// Creates the request that views and the ``ImageDownloader`` send for a URL, with an Accept field for images.
    public init(imageAt url: String) {
        self.init(imageOf: url)
    }

    /// Creates the request for an image. It gets `Accept: image/*` unless it has an Accept field, so that a URL and a
    /// request for that URL have the same identifier.
    init<Source: RequestConvertible>(imageOf source: Source) {
        self = Source.request(of: source)
        headers.fillGap(name: .accept, value: "image/*")
    }
}
