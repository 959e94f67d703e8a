#if GTK
    internal import CAFGTK
    public import SwiftAFImage

    /// A `GtkPicture` that shows downloaded images.
    ///
    /// ```swift
    /// let view = GTKPicture.of(picture)
    /// view.setImage(with: "https://example.org/cat.jpg", placeholderImage: grey)
    /// ```
    ///
    /// In a list that recycles its widgets, call `setImage(with:placeholderImage:)` in "bind": the picture shows the
    /// image of its last request only, in whatever order the downloads end. Call `cancelImageDownload()` in "unbind".
    public final class GTKPicture: GTKView, ImageDisplaying {
        public let imageLoads = ImageLoads()
        private var animation: Animation?

        override class var type: cafgtk_type { cafgtk_picture_type() }

        public func show(_ image: Image?, in slot: ImageSlot) {
            animation = nil
            set(image)
        }

        /// Plays an animation for as long as the picture is on the screen. One frame is shown as it is; none clears the
        /// picture. Another image replaces the animation.
        public func play(_ frames: [ImageFrame]) {
            cancelImageDownloads()
            animation = nil
            guard let widget, frames.count > 1 else { return set(frames.first?.image) }
            animation = Animation(frames, in: widget) { [weak self] in self?.set($0) }
        }

        override package func attach(to widget: OpaquePointer) {
            super.attach(to: widget)
            WidgetObjects.onSignal("map", of: widget) { [weak self] in self?.animation?.start() }
            WidgetObjects.onSignal("unmap", of: widget) { [weak self] in self?.animation?.stop() }
        }

        override func cancel() {
            cancelImageDownloads()
            animation = nil
        }

        private func set(_ image: Image?) {
            guard let widget else { return }
            Paintable.use(image) { cafgtk_picture_set(widget, $0) }
        }
    }

    /// A `GtkImage` that shows downloaded images, at the size of an icon unless its pixel size is set.
    public final class GTKImage: GTKView, ImageDisplaying {
        public let imageLoads = ImageLoads()

        override class var type: cafgtk_type { cafgtk_image_type() }

        public func show(_ image: Image?, in slot: ImageSlot) {
            guard let widget else { return }
            Paintable.use(image) { cafgtk_image_set(widget, $0) }
        }

        override func cancel() {
            cancelImageDownloads()
        }
    }
#endif
