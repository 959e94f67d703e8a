public import FoundationEssentials
public import SwiftAF

/// Called with a downloaded image, or with a cached one and nil for the response.
public typealias ImageSuccess = @MainActor (HTTPRequest, HTTPResponse?, Image) -> Void
/// Called with the error, and the response if there was one.
public typealias ImageFailure = @MainActor (HTTPRequest, HTTPResponse?, SessionError) -> Void

/// A view of any toolkit that shows downloaded images: a picture, or a button with images for its states. The view
/// implements how an image is shown; this protocol's extension decides which image, and when.
///
/// ```swift
/// final class Picture: ImageDisplaying {
///     let imageLoads = ImageLoads()
///     func show(_ image: Image?, in slot: ImageSlot) { widget.set(image) }
/// }
/// picture.setImage(from: "https://example.org/cat.jpg", placeholder: grey)
/// ```
///
/// A cached image is shown before the call returns. If several images are requested for one slot, only the last
/// request's image is shown, in whatever order the downloads end.
@MainActor
public protocol ImageDisplaying: AnyObject {
    /// The state of this view: a stored property, made with the view.
    var imageLoads: ImageLoads { get }
    /// Shows an image, or clears it. A view with one image can ignore the slot.
    func show(_ image: Image?, in slot: ImageSlot)
}

extension ImageDisplaying {
    /// The downloader of this view: its own, or the shared one.
    public var imageDownloader: ImageDownloader { imageLoads.downloader ?? ImageLoads.sharedDownloader }

    /// Shows the image at a URL.
    ///
    /// - Parameters:
    ///   - url: The image's URL; nil shows the placeholder only.
    ///   - placeholder: Shown during the download, unless the image is cached, and kept on failure. Nil keeps the
    ///     current image, or clears the slot if `clearsImage` is true.
    ///   - processors: Applied to the image, in order, such as `.resize(width: 64, height: 64)` in a list.
    ///   - slot: The place of the image in the view.
    ///   - clearsImage: Whether the current image is removed before the download, if it isn't replaced by a cached
    ///     image or a placeholder. For rows of a list that are used again. Default: false.
    public func setImage(
        from url: String?, placeholder: Image? = nil, processors: [any ImageProcessing] = [],
        in slot: ImageSlot = .image, clearsImage: Bool = false
    ) {
        setImage(
            for: HTTPRequest(imageAt: url ?? ""), placeholder: placeholder, processors: processors, in: slot,
            clearsImage: clearsImage)
    }

    /// Shows the image at a URL; nil shows the placeholder only.
    @_disfavoredOverload
    public func setImage(
        from url: URL?, placeholder: Image? = nil, processors: [any ImageProcessing] = [],
        in slot: ImageSlot = .image, clearsImage: Bool = false
    ) {
        setImage(
            from: url?.absoluteString, placeholder: placeholder, processors: processors, in: slot,
            clearsImage: clearsImage)
    }

    /// Shows the image of a response. The request is sent, and passed to the closures, with `Accept: image/*`, unless
    /// it has an Accept field of its own.
    ///
    /// If the slot already waits for the same image, by the same downloader and cache policy, it isn't requested again;
    /// these closures are called as well, and another placeholder is shown, unless a preview is. A request with an
    /// empty URL shows the placeholder, even if that is nil, and fails before this function returns. One with another
    /// invalid URL fails later, as a download does.
    ///
    /// - Parameters:
    ///   - request: The request for the image.
    ///   - placeholder: Shown during the download, unless the image is cached, and kept on failure. Nil keeps the
    ///     current image, or clears the slot if `clearsImage` is true.
    ///   - processors: Applied to the image, in order.
    ///   - slot: The place of the image in the view.
    ///   - clearsImage: Whether the current image is removed before the download, if it isn't replaced by a cached
    ///     image or a placeholder. For rows of a list that are used again. Default: false.
    ///   - showsPartialImages: Whether to show previews during the download. Ignored if the image is already being
    ///     downloaded. If its body is cut short and retried, only the image itself follows.
    ///   - success: Called instead of showing the image; the closure shows it. Nil shows the image.
    ///   - failure: Called with the error; not for a cancelled or replaced request.
    public func setImage(
        for request: HTTPRequest, placeholder: Image? = nil, processors: [any ImageProcessing] = [],
        in slot: ImageSlot = .image, clearsImage: Bool = false, showsPartialImages: Bool = false,
        success: ImageSuccess? = nil, failure: ImageFailure? = nil
    ) {
        guard !imageLoads.hasEnded else { return }
        let request = HTTPRequest(imageOf: request)
        guard !request.url.isEmpty else {
            imageLoads.cancel(slot)
            show(placeholder, in: slot)
            failure?(request, nil, SessionError(.invalidInput, message: "there is no URL"))
            return
        }
        let downloader = imageDownloader
        let listener = ImageLoads.Listener(success: success, failure: failure)
        let cover: ImageLoads.Cover = placeholder != nil || clearsImage ? .placeholder(placeholder) : .former
        if imageLoads.join(slot, downloader.key(of: request, processors), downloader, listener) {
            if imageLoads.cover(slot, with: cover) { show(placeholder, in: slot) }
            return
        }
        imageLoads.cancel(slot)
        if let image = downloader.cachedImage(for: request, processors: processors) {
            guard let success else { return show(image, in: slot) }
            return success(request, nil, image)
        }
        if case .placeholder = cover { show(placeholder, in: slot) }
        imageLoads.begin(
            slot, request, processors, with: downloader, listener, cover: cover, showsPartial: showsPartialImages
        ) { [weak self] image in
            self?.show(image, in: slot)
        }
    }

    /// Cancels the request of a slot. No closure is called; the current image stays.
    public func cancelImageDownload(in slot: ImageSlot = .image) {
        imageLoads.cancel(slot)
    }

    /// Cancels the requests of all slots.
    public func cancelImageDownloads() {
        imageLoads.cancelAll()
    }
}
