internal import FoundationEssentials
internal import SwiftAF

/// The image requests of a view, one for each slot. The view stores one and doesn't use it otherwise.
///
/// When it is released with its view, its requests are cancelled; downloads without other requesters end.
@MainActor
public final class ImageLoads {
    /// The downloader of all views that don't have their own.
    public static var sharedDownloader = ImageDownloader.default

    /// The downloader of this view, from the next image on; nil uses ``sharedDownloader``. Default: nil.
    public var downloader: ImageDownloader?

    // Removed values are released after the change is done, because their closures hold objects of the program, whose
    // `deinit` may use this object.
    private var loads: [ImageSlot: Load] = [:]

    /// Creates the state of a view; nil uses the shared downloader.
    public init(downloader: ImageDownloader? = nil) {
        self.downloader = downloader
    }

    /// The closures of one call.
    struct Listener {
        let success: ImageSuccess?
        let failure: ImageFailure?
    }

    /// What a slot shows until its image has been downloaded.
    enum Cover {
        /// The image that it has shown before.
        case former
        /// A placeholder; nil if the slot was cleared.
        case placeholder(Image?)
        case preview
    }

    private struct Load {
        let request: HTTPRequest
        let claim: Claim
        var listeners: [Listener]
        var cover: Cover
    }

    /// Cancels the request when this object is released. Has no effect after the end of the request.
    private final class Claim: Sendable {
        let downloader: ImageDownloader
        let receipt: ImageDownloadReceipt

        init(_ downloader: ImageDownloader, _ receipt: ImageDownloadReceipt) {
            self.downloader = downloader
            self.receipt = receipt
        }

        deinit {
            downloader.cancel(receipt)
        }
    }

    /// Whether the view was destroyed, so that nothing more is requested for it.
    private(set) var hasEnded = false

    /// Called when the view is destroyed: cancels its requests, and prevents later ones.
    package func end() {
        hasEnded = true
        cancelAll()
    }

    /// Returns whether a download is under way for a slot.
    func isLoading(_ slot: ImageSlot) -> Bool { loads[slot] != nil }

    /// Drops the request: no closure is called, and nothing is shown.
    func cancel(_ slot: ImageSlot) {
        let former = loads.removeValue(forKey: slot)
        withExtendedLifetime(former) {}
    }

    func cancelAll() {
        let former = loads
        loads = [:]
        withExtendedLifetime(former) {}
    }

    /// Adds closures to a download that is under way.
    ///
    /// - Returns: False if the slot doesn't wait for the same image.
    func join(_ slot: ImageSlot, _ key: String, _ downloader: ImageDownloader, _ listener: Listener) -> Bool {
        guard let claim = loads[slot]?.claim, claim.receipt.key == key, claim.downloader === downloader else {
            return false
        }
        loads[slot]?.listeners.append(listener)
        return true
    }

    /// Notes the cover of another call for the same image.
    ///
    /// - Returns: False if the slot already shows it, or shows a preview, which stays.
    func cover(_ slot: ImageSlot, with cover: Cover) -> Bool {
        guard case .placeholder(let image) = cover, let former = loads[slot]?.cover else { return false }
        switch former {
        case .preview: return false
        case .placeholder(let shown):
            if image == nil && shown == nil { return false }
            if let image, let shown, image.isIdentical(to: shown) { return false }
        case .former: break
        }
        loads[slot]?.cover = cover
        return true
    }

    /// Starts a download and replaces the slot's request.
    ///
    /// - Parameter show: Called with the image if one of the calls has no `success` closure.
    func begin(
        _ slot: ImageSlot, _ request: HTTPRequest, _ processors: [any ImageProcessing],
        with downloader: ImageDownloader,
        _ listener: Listener, cover: Cover, showsPartial: Bool, show: @escaping @MainActor @Sendable (Image) -> Void
    ) {
        let receipt = ImageDownloadReceipt(id: UUID(), key: downloader.key(of: request, processors))
        let load = Load(request: request, claim: Claim(downloader, receipt), listeners: [listener], cover: cover)
        let former = loads.updateValue(load, forKey: slot)
        withExtendedLifetime(former) {}
        let partial: @MainActor @Sendable (Image) -> Void = { [weak self] image in
            guard let self, isForView(slot, receipt) else { return }
            loads[slot]?.cover = .preview
            show(image)
        }
        downloader.downloadForMainActor(request, receipt, processors, partial: showsPartial ? partial : nil) {
            [weak self] result in
            self?.end(slot, receipt, result, show)
        }
    }

    /// Returns whether the slot still waits for this image and the view shows it.
    private func isForView(_ slot: ImageSlot, _ receipt: ImageDownloadReceipt) -> Bool {
        guard let load = loads[slot], load.claim.receipt == receipt else { return false }
        return load.listeners.contains { $0.success == nil }
    }

    private func end(
        _ slot: ImageSlot, _ receipt: ImageDownloadReceipt, _ result: Result<DownloadedImage, SessionError>,
        _ show: (Image) -> Void
    ) {
        // The slot may have another request or none by now.
        guard let load = loads[slot], load.claim.receipt == receipt else { return }
        loads[slot] = nil
        switch result {
        case .success(let downloaded):
            // Shown before the closures are called, which may request another image.
            if load.listeners.contains(where: { $0.success == nil }) { show(downloaded.image) }
            for listener in load.listeners { listener.success?(load.request, downloaded.response, downloaded.image) }
        case .failure(let error):
            for listener in load.listeners { listener.failure?(load.request, error.response, error) }
        }
    }
}
