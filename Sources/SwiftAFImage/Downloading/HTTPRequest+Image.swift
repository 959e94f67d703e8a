public import SwiftAF

extension HTTPRequest {
    /// The request that views and the ``ImageDownloader`` make for a URL, with an Accept field for images.
    public init(imageAt url: String) {
        self.init(imageOf: url)
    }

    /// The request for an image. It accepts images unless it says what it accepts, so that a URL and a request for it
    /// are the same image.
    init<Source: RequestConvertible>(imageOf source: Source) {
        self = Source.request(of: source)
        headers.fillGap(name: .accept, value: "image/*")
    }
}
