import SwiftAF
import SwiftAFImage

/// What has happened to a view, and a way to wait for so many things.
@MainActor
final class Happenings<Happening> {
    private(set) var all: [Happening] = []
    private var waiting: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

    func add(_ happening: Happening) {
        all.append(happening)
        let ready = waiting.filter { $0.count <= all.count }
        waiting.removeAll { $0.count <= all.count }
        for (_, continuation) in ready { continuation.resume() }
    }

    /// Everything, once there is so much.
    @discardableResult
    func wait(for count: Int = 1) async -> [Happening] {
        if all.count < count {
            await withCheckedContinuation { waiting.append((count, $0)) }
        }
        return all
    }
}

/// A picture or a button.
@MainActor
final class RecordingImageView: ImageDisplaying {
    struct Shown: Equatable {
        let slot: ImageSlot
        let image: Image?
    }

    let imageLoads: ImageLoads
    let shown = Happenings<Shown>()

    init(_ downloader: ImageDownloader? = nil) {
        imageLoads = ImageLoads(downloader: downloader)
    }

    func show(_ image: Image?, in slot: ImageSlot) {
        shown.add(Shown(slot: slot, image: image))
    }

    /// Widths of the images, 0 for none.
    var widths: [Int] { shown.all.map { $0.image?.pixelWidth ?? 0 } }
}

@MainActor
final class RecordingBar: ProgressDisplaying {
    let taskBindings = TaskBindings()
    let fractions = Happenings<Double>()
    private(set) var isAnimated = false

    func setProgress(_ fraction: Double, animated: Bool) {
        isAnimated = animated
        fractions.add(fraction)
    }
}

/// A spinner and a refresh control in one.
@MainActor
final class RecordingSpinner: ActivityIndicating, Refreshing {
    let taskBindings = TaskBindings()
    let turns = Happenings<Bool>()

    func startAnimating() { turns.add(true) }
    func stopAnimating() { turns.add(false) }
    func beginRefreshing() { turns.add(true) }
    func endRefreshing() { turns.add(false) }
}

/// A bar and a spinner in one.
@MainActor
final class RecordingPanel: ProgressDisplaying, ActivityIndicating {
    let taskBindings = TaskBindings()
    let fractions = Happenings<Double>()
    let turns = Happenings<Bool>()

    func setProgress(_ fraction: Double, animated: Bool) { fractions.add(fraction) }
    func startAnimating() { turns.add(true) }
    func stopAnimating() { turns.add(false) }
}

@MainActor
final class RecordingWebView: WebContentDisplaying {
    enum Event: Equatable {
        case started, finished
        case content(WebContent)
    }

    let webContentLoads: WebContentLoads
    let events = Happenings<Event>()

    init(_ manager: HTTPSessionManager) {
        webContentLoads = WebContentLoads(manager: manager)
    }

    func show(_ content: WebContent) { events.add(.content(content)) }
    func navigationDidStart() { events.add(.started) }
    func navigationDidFinish() { events.add(.finished) }

    var contents: [WebContent] {
        events.all.compactMap { event in
            if case .content(let content) = event { content } else { nil }
        }
    }
}
