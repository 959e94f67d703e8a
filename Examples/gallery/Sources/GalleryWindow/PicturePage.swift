import CGTK
import SwiftAF
import SwiftAFGTK
import SwiftAFImage

/// One picture, large: its tile's image until it has been downloaded, and a bar that shows how much is there.
@MainActor
final class PicturePage {
    let root, picture: OpaquePointer
    private let title, bar: OpaquePointer
    private let library: Library
    private var task: SessionTask?
    /// Another one for each picture that is shown.
    private var turn = 0

    init(_ library: Library) {
        self.library = library
        root = gtk_box_new(Orientation.vertical, 0)
        title = gtk_label_new(nil)
        picture = gtk_picture_new()
        GTKPicture.of(picture).imageLoads.downloader = library.downloader
        bar = gtk_progress_bar_new()
        gtk_widget_set_vexpand(picture, 1)
        for margin in [gtk_widget_set_margin_top, gtk_widget_set_margin_bottom] { margin(title, 8) }
        for widget in [bar, picture, title] { gtk_box_append(root, widget) }
    }

    /// Whether the large picture is there.
    private(set) var isComplete = false

    func show(_ shown: Picture) {
        cancel()
        gtk_label_set_text(title, shown.title)
        let view = GTKPicture.of(picture)
        let (small, processors) = library.tile(for: shown, scale: view.scaleFactor)
        view.setImage(for: small, placeholder: Placeholders.waiting, processors: processors)
        let task = library.manager.dataTask(
            for: library.request(for: shown, width: 1280), with: ImageResponseSerializer()
        ) { [weak self, turn] _, image, _ in
            MainActor.assumeIsolated {
                // Another picture may be shown by now, or none.
                if self?.turn == turn { self?.finish(image) }
            }
        }
        self.task = task
        gtk_widget_set_visible(bar, 1)
        GTKProgressBar.of(bar).setProgress(0, animated: false)
        GTKProgressBar.of(bar).setProgressWithDownloadProgress(of: task, animated: true)
        task.resume()
    }

    /// Ends the download, if there is one.
    func cancel() {
        task?.cancel()
        task = nil
        turn += 1
        isComplete = false
    }

    private func finish(_ image: Image?) {
        gtk_widget_set_visible(bar, 0)
        let view = GTKPicture.of(picture)
        // The small one must not arrive after it.
        view.cancelImageDownload()
        view.show(image ?? Placeholders.offline, in: .image)
        isComplete = image != nil
    }
}
