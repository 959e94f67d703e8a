internal import FoundationEssentials
internal import SwiftAF

/// What a view that shows images waits for, slot by slot. The view keeps one, and asks nothing of it.
///
/// When it goes with its view, nobody waits any more, and downloads that were only for it end.
@MainActor
public final class ImageLoads {
    /// Downloads the images of all views that have no downloader of their own.
    public static var sharedDownloader = ImageDownloader.default

    /// Downloads the images of this view; nil for ``sharedDownloader``. Counts from the next image on.
    public var downloader: ImageDownloader?

    private var loads: [ImageSlot: Load] = [:]

    public init(downloader: ImageDownloader? = nil) {
        self.downloader = downloader
    }

    /// What one call of a view wants to hear.
    struct Listener {
        let success: ImageSuccess?
        let failure: ImageFailure?
    }

    private struct Load {
        let request: HTTPRequest
        let claim: Claim
        var listeners: [Listener]
    }

    /// Gives its place among those who wait up when it goes; too late, that does nothing.
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

    /// Whether an image is on its way.
    func isLoading(_ slot: ImageSlot) -> Bool { loads[slot] != nil }

    /// Nobody hears of what is under way, and nothing of it is shown.
    func cancel(_ slot: ImageSlot) {
        loads[slot] = nil
    }

    func cancelAll() {
        loads = [:]
    }

    /// Adds a listener to a download that is under way already.
    ///
    /// - Returns: False if the slot doesn't wait for this very image.
    func join(_ slot: ImageSlot, _ key: String, _ listener: Listener) -> Bool {
        guard loads[slot]?.claim.receipt.key == key else { return false }
        loads[slot]?.listeners.append(listener)
        return true
    }

    /// Begins a download instead of whatever the slot waits for.
    ///
    /// - Parameter show: Called with the image if one of the listeners leaves that to the view.
    func begin(
        _ slot: ImageSlot, _ request: HTTPRequest, _ processors: [any ImageProcessing],
        with downloader: ImageDownloader,
        _ listener: Listener, showsPartial: Bool, show: @escaping @MainActor @Sendable (Image) -> Void
    ) {
        let receipt = ImageDownloadReceipt(id: UUID(), key: ImageDownloader.key(of: request, processors))
        loads[slot] = Load(request: request, claim: Claim(downloader, receipt), listeners: [listener])
        let partial: @MainActor @Sendable (Image) -> Void = { [weak self] image in
            if self?.isForView(slot, receipt) == true { show(image) }
        }
        downloader.downloadForMainActor(request, receipt, processors, partial: showsPartial ? partial : nil) {
            [weak self] result in
            self?.end(slot, receipt, result, show)
        }
    }

    /// Whether the image is still the one that the slot waits for, and the view's to show.
    private func isForView(_ slot: ImageSlot, _ receipt: ImageDownloadReceipt) -> Bool {
        guard let load = loads[slot], load.claim.receipt == receipt else { return false }
        return load.listeners.contains { $0.success == nil }
    }

    private func end(
        _ slot: ImageSlot, _ receipt: ImageDownloadReceipt, _ result: Result<DownloadedImage, SessionError>,
        _ show: (Image) -> Void
    ) {
        // The slot may wait for something else by now, or for nothing.
        guard let load = loads[slot], load.claim.receipt == receipt else { return }
        loads[slot] = nil
        switch result {
        case .success(let downloaded):
            // Before the listeners, who may ask for another image.
            if load.listeners.contains(where: { $0.success == nil }) { show(downloaded.image) }
            for listener in load.listeners { listener.success?(load.request, downloaded.response, downloaded.image) }
        case .failure(let error):
            for listener in load.listeners { listener.failure?(load.request, error.response, error) }
        }
    }
}
