public import FoundationEssentials
public import SwiftAF

/// Called with an image that was downloaded, or found in the cache; the response is then nil.
public typealias ImageSuccess = @MainActor (HTTPRequest, HTTPResponse?, Image) -> Void
/// Called with the reason why there is no image, and the response, if there was one.
public typealias ImageFailure = @MainActor (HTTPRequest, HTTPResponse?, SessionError) -> Void

/// A view that shows images of the network: a picture, or a button with images for its states. Of any toolkit: the view
/// says how an image is shown, and what follows here decides which one, and when.
///
/// ```swift
/// final class Picture: ImageDisplaying {
///     let imageLoads = ImageLoads()
///     func show(_ image: Image?, in slot: ImageSlot) { widget.set(image) }
/// }
/// picture.setImage(from: "https://example.org/cat.jpg", placeholder: grey)
/// ```
///
/// An image that is in the downloader's cache is shown before the call returns. Of several images that were asked for in
/// one slot only the last is ever shown, whichever comes last.
@MainActor
public protocol ImageDisplaying: AnyObject {
    /// Made with the view, kept by it.
    var imageLoads: ImageLoads { get }
    /// Shows an image, or none. A view with one image need not look at the slot.
    func show(_ image: Image?, in slot: ImageSlot)
}

extension ImageDisplaying {
    /// The downloader of this view: its own, or the one that all share.
    public var imageDownloader: ImageDownloader { imageLoads.downloader ?? ImageLoads.sharedDownloader }

    /// Shows the image behind a URL.
    ///
    /// - Parameters:
    ///   - url: Nil for no image but the placeholder.
    ///   - placeholder: Shown meanwhile, unless the image is there at once; stays if there is none. Nil leaves what is
    ///     shown.
    public func setImage(from url: String?, placeholder: Image? = nil, in slot: ImageSlot = .image) {
        setImage(for: HTTPRequest(imageAt: url ?? ""), placeholder: placeholder, in: slot)
    }

    /// Shows the image behind a URL.
    public func setImage(from url: URL, placeholder: Image? = nil, in slot: ImageSlot = .image) {
        setImage(from: url.absoluteString, placeholder: placeholder, in: slot)
    }

    /// Shows the image that answers a request.
    ///
    /// If the slot waits for this very image already, it is not asked for again; these closures are called as well.
    /// A request without URL, as text that is no URL makes it, shows the placeholder, even if that is none, and fails
    /// before this returns.
    ///
    /// - Parameters:
    ///   - processors: Applied to the image one after the other.
    ///   - showsPartialImages: Whether to show what can be seen of the image while it comes. Counts if the image is not on
    ///     its way already.
    ///   - success: Called instead of showing the image, which is then for the closure to do; nil to have it shown.
    ///   - failure: Never called for what was cancelled or replaced.
    public func setImage(
        for request: HTTPRequest, placeholder: Image? = nil, processors: [any ImageProcessing] = [],
        in slot: ImageSlot = .image, showsPartialImages: Bool = false, success: ImageSuccess? = nil,
        failure: ImageFailure? = nil
    ) {
        guard !request.url.isEmpty else {
            imageLoads.cancel(slot)
            show(placeholder, in: slot)
            failure?(request, nil, SessionError(.invalidInput, message: "there is no URL"))
            return
        }
        let downloader = imageDownloader
        let listener = ImageLoads.Listener(success: success, failure: failure)
        let key = ImageDownloader.key(of: request, processors)
        guard !imageLoads.join(slot, key, listener) else { return }
        imageLoads.cancel(slot)
        if let image = downloader.cachedImage(for: request, processors: processors) {
            guard let success else { return show(image, in: slot) }
            return success(request, nil, image)
        }
        if let placeholder { show(placeholder, in: slot) }
        imageLoads.begin(
            slot, request, processors, with: downloader, listener, showsPartial: showsPartialImages
        ) { [weak self] image in
            self?.show(image, in: slot)
        }
    }

    /// The image that a slot waits for is not wanted any more. No closure is called; what is shown stays.
    public func cancelImageDownload(in slot: ImageSlot = .image) {
        imageLoads.cancel(slot)
    }

    /// No image is wanted any more that any slot waits for.
    public func cancelImageDownloads() {
        imageLoads.cancelAll()
    }
}

extension HTTPRequest {
    /// The request that views make of a URL: it says that an image is wanted. What is prefetched with it is what they find.
    public init(imageAt url: String) {
        self.init(url, headers: ["Accept": "image/*"])
    }
}
