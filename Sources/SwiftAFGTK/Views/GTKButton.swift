#if GTK
    internal import CAFGTK
    public import SwiftAFImage

    /// A `GtkButton`, also a `GtkToggleButton`, that shows downloaded images: one in front and one behind, for each of
    /// its states.
    ///
    /// ```swift
    /// let view = GTKButton.of(button)
    /// view.setImage(with: "https://example.org/play.png", for: .normal)
    /// view.setImage(with: "https://example.org/pressed.png", for: .highlighted)
    /// view.setBackgroundImage(with: "https://example.org/wood.jpg", for: .normal)
    /// ```
    ///
    /// GTK's state flags decide: insensitive is `disabled`, active is `highlighted`, checked or selected is `selected`.
    /// A state without an image shows that of `normal`. The button's child, such as its label, stays to the right of
    /// the image. Another child, such as the label of a later `gtk_button_set_label()`, takes the place of the images
    /// until the next one is shown.
    public final class GTKButton: GTKImageView {
        private var images: [ImageSlot: Paintable] = [:]
        /// Made with the first image.
        private var layers: Layers?

        /// The pictures in the button, and the child that they are in. They are held, as the program may give the
        /// button another child.
        @MainActor
        private final class Layers {
            let image, background, overlay: OpaquePointer

            init(image: OpaquePointer, background: OpaquePointer, overlay: OpaquePointer) {
                self.image = image
                self.background = background
                self.overlay = overlay
                for widget in [image, background, overlay] { cafgtk_ref_sink(UnsafeMutableRawPointer(widget)) }
            }

            isolated deinit {
                for widget in [image, background, overlay] { cafgtk_unref(UnsafeMutableRawPointer(widget)) }
            }
        }

        override class var type: cafgtk_type { cafgtk_button_type() }

        override public func show(_ image: Image?, in slot: ImageSlot) {
            guard let widget else { return }
            WidgetObjects.hold(widget) {
                if layers == nil || cafgtk_button_child(widget) != layers?.overlay {
                    let made = makeLayers(in: widget)
                    // A handler of the program may have destroyed the button when it got another child.
                    guard self.widget != nil else { return }
                    layers = made
                }
                super.show(image, in: slot)
            }
        }

        override func draw(_ image: Image?, in slot: ImageSlot) {
            images[slot] = image.flatMap { Paintable($0) }
            update()
        }

        override package func attach(to widget: OpaquePointer) {
            super.attach(to: widget)
            WidgetObjects.onNumberSignal("state-flags-changed", of: widget) { [weak self] _ in self?.update() }
        }

        override func cancel() {
            super.cancel()
            layers = nil
            images = [:]
        }

        private func makeLayers(in button: OpaquePointer) -> Layers? {
            guard let image = cafgtk_picture_new(), let background = cafgtk_picture_new(),
                let overlay = cafgtk_overlay_new(),
                let row = cafgtk_box_new(cafgtk_orientation(cafgtk_horizontal), 6)
            else { return nil }
            let layers = Layers(image: image, background: background, overlay: overlay)
            cafgtk_picture_set_keeps_ratio(background, 0)
            cafgtk_box_append(row, image)
            if let child = cafgtk_button_child(button) {
                cafgtk_ref(UnsafeMutableRawPointer(child))
                cafgtk_button_set_child(button, nil)
                cafgtk_box_append(row, child)
                cafgtk_unref(UnsafeMutableRawPointer(child))
            }
            cafgtk_overlay_set_child(overlay, background)
            cafgtk_overlay_add(overlay, row)
            // As large as the image needs, too.
            cafgtk_overlay_measure(overlay, row, 1)
            cafgtk_button_set_child(button, overlay)
            return layers
        }

        private func update() {
            guard let widget, let layers else { return }
            let state = Self.state(of: cafgtk_widget_state(widget))
            for (layer, picture) in [(ImageSlot.Layer.image, layers.image), (.background, layers.background)] {
                let paintable = images[ImageSlot(layer, state)] ?? images[ImageSlot(layer)]
                Paintable.use(paintable) { cafgtk_picture_set(picture, $0) }
                cafgtk_widget_set_visible(picture, paintable == nil && layer == .image ? 0 : 1)
            }
        }

        private static func state(of flags: cafgtk_state_flags) -> ImageSlot.ControlState {
            if flags & UInt32(cafgtk_state_insensitive) != 0 { return .disabled }
            if flags & UInt32(cafgtk_state_active) != 0 { return .highlighted }
            if flags & UInt32(cafgtk_state_checked | cafgtk_state_selected) != 0 { return .selected }
            return .normal
        }
    }
#endif
