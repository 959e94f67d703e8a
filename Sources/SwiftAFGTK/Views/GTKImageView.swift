#if GTK
    public import SwiftAFImage

    /// What SwiftAF keeps for a widget that shows downloaded images: a ``GTKPicture``, a ``GTKImage`` or a
    /// ``GTKButton``. Animated images play while the widget is on the screen and GTK's setting `gtk-enable-animations`
    /// is on.
    public class GTKImageView: GTKView, ImageDisplaying {
        public final let imageLoads = ImageLoads()
        private let animations = Animations()

        public func show(_ image: Image?, in slot: ImageSlot) {
            guard let widget else { return }
            animations.show(image, in: slot, of: widget) { [weak self] image in self?.draw(image, in: slot) }
        }

        /// Puts an image, or one frame of an animation, into the widget; nil clears it.
        func draw(_ image: Image?, in slot: ImageSlot) {}

        override func cancel() {
            imageLoads.end()
            animations.stop()
        }
    }
#endif
