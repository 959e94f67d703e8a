#if GTK
    internal import CAFGTK
    public import SwiftAFImage

    /// What SwiftAF keeps for a widget that shows downloaded images: a ``GTKPicture``, a ``GTKImage`` or a
    /// ``GTKButton``. Animated images play while the widget is on the screen and GTK's setting `gtk-enable-animations`
    /// is on.
    ///
    /// `GTKImageView.of(widget)` returns the object of that one of these classes which is for the widget. Another
    /// widget stops the program.
    public class GTKImageView: GTKView, ImageDisplaying {
        public final let imageLoads = ImageLoads()
        private let animations = Animations()

        public func show(_ image: Image?, in slot: ImageSlot) {
            guard let widget else { return }
            animations.show(image, in: slot, of: widget) { [weak self] image in self?.draw(image, in: slot) }
        }

        override class func kind(of widget: OpaquePointer) -> GTKView.Type {
            guard self == GTKImageView.self else { return self }
            let kinds = [GTKPicture.self, GTKImage.self, GTKButton.self] as [GTKImageView.Type]
            return kinds.first { cafgtk_is_a(widget, $0.type) != 0 } ?? self
        }

        /// The type that the error message names if the widget isn't a picture, an image or a button.
        override class var type: cafgtk_type { cafgtk_picture_type() }

        /// Puts an image, or one frame of an animation, into the widget; nil clears it.
        func draw(_ image: Image?, in slot: ImageSlot) {}

        override func cancel() {
            imageLoads.end()
            animations.stop()
        }
    }
#endif
