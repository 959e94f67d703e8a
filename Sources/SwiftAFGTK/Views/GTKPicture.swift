#if GTK
    internal import CAFGTK
    public import SwiftAFImage

    /// A `GtkPicture` that shows downloaded images. Animated ones play while the picture is on the screen and GTK's
    /// setting `gtk-enable-animations` is on.
    ///
    /// ```swift
    /// let view = GTKPicture.of(picture)
    /// view.setImage(with: "https://example.org/cat.jpg", placeholderImage: grey)
    /// ```
    ///
    /// In a list that recycles its widgets, call `setImage(with:placeholderImage:)` in "bind", and `setImage(with:
    /// nil)` in "unbind", which cancels the download and clears the picture. A picture that isn't cleared, nor gets a
    /// placeholder, shows the image of the former row until the next one is there. Of several requests it shows the
    /// image of the last one only, in whatever order the downloads end.
    public final class GTKPicture: GTKImageView {
        override class var type: cafgtk_type { cafgtk_picture_type() }

        override func draw(_ image: Image?, in slot: ImageSlot) {
            guard let widget else { return }
            Paintable.use(image) { cafgtk_picture_set(widget, $0) }
        }

        /// Plays frames without end. One frame is shown as it is; none clears the picture. Another image replaces the
        /// animation.
        public func play(_ frames: [ImageFrame]) {
            cancelImageDownloads()
            show(Image(ImageAnimation(frames)), in: .image)
        }
    }

    /// A `GtkImage` that shows downloaded images, at the size of an icon unless its pixel size is set.
    public final class GTKImage: GTKImageView {
        override class var type: cafgtk_type { cafgtk_image_type() }

        override func draw(_ image: Image?, in slot: ImageSlot) {
            guard let widget else { return }
            Paintable.use(image) { cafgtk_image_set(widget, $0) }
        }
    }
#endif
