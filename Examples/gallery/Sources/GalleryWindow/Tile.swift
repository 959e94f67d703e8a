import CGTK
import SwiftAFGTK
import SwiftAFImage

/// A picture and its title in the grid. The grid uses it for one picture after the other.
@MainActor
final class Tile {
    static let width = 160, height = 120
    let root, picture: OpaquePointer
    private let label: OpaquePointer
    private let library: Library
    /// Called when the server can't be reached.
    private let onFailure: @MainActor () -> Void
    private(set) var shown: Picture?
    private var hasFailed = false

    init(_ library: Library, onFailure: @escaping @MainActor () -> Void) {
        self.library = library
        self.onFailure = onFailure
        root = gtk_box_new(Orientation.vertical, 4)
        picture = gtk_picture_new()
        label = gtk_label_new(nil)
        gtk_widget_set_size_request(picture, Int32(Self.width), Int32(Self.height))
        gtk_label_set_ellipsize(label, Ellipsis.end)
        gtk_box_append(root, picture)
        gtk_box_append(root, label)
        GTKPicture.of(picture).imageLoads.downloader = library.downloader
    }

    func show(_ picture: Picture) {
        shown = picture
        gtk_label_set_text(label, picture.title)
        load()
    }

    func clear() {
        shown = nil
        GTKPicture.of(picture).cancelImageDownload()
    }

    /// Loads the picture again if that failed before.
    func retry() {
        if hasFailed { load() }
    }

    private func load() {
        guard let shown else { return }
        hasFailed = false
        let view = GTKPicture.of(picture)
        let (request, processors) = library.tile(for: shown, scale: view.scaleFactor)
        view.setImage(
            for: request, placeholder: Placeholders.waiting, processors: processors,
            failure: { [weak self] _, _, _ in self?.fail() })
    }

    private func fail() {
        hasFailed = true
        GTKPicture.of(picture).show(Placeholders.offline, in: .image)
        onFailure()
    }
}
