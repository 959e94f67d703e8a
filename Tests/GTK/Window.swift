#if GTK
    import CGTKBinding
    import SwiftAFImage

    /// A colour of eight bits a channel.
    struct Colour: Equatable {
        var red, green, blue: UInt8

        static let red = Colour(red: 255, green: 0, blue: 0)
        static let green = Colour(red: 0, green: 255, blue: 0)
        static let blue = Colour(red: 0, green: 0, blue: 255)

        func image(_ width: Int = 64, _ height: Int = 64, scale: Double = 1) -> Image {
            let made = Image(pixelWidth: width, pixelHeight: height, scale: scale) { pixels in
                for at in stride(from: 0, to: pixels.count, by: 4) {
                    pixels[at] = red
                    pixels[at + 1] = green
                    pixels[at + 2] = blue
                    pixels[at + 3] = 255
                }
            }
            return made ?? image(1, 1)
        }
    }

    /// A window with one widget, on the screen until it is closed.
    @MainActor
    final class Window {
        private let window: UnsafeMutableRawPointer
        private let child: UnsafeMutableRawPointer

        /// Returns when the window is on the screen.
        init(_ child: OpaquePointer, width: Int32 = 200, height: Int32 = 200) async throws {
            window = UnsafeMutableRawPointer(gtk_window_new())
            self.child = UnsafeMutableRawPointer(child)
            gtk_window_set_default_size(OpaquePointer(window), width, height)
            gtk_window_set_child(OpaquePointer(window), child)
            gtk_window_present(OpaquePointer(window))
            try await Harness.until("the window is on the screen") {
                gtk_widget_get_mapped(child) != 0 && gtk_widget_get_width(child) > 0
            }
        }

        /// Destroys the window with its widget.
        func close() {
            gtk_window_destroy(OpaquePointer(window))
        }

        /// Waits until a point of the widget has a colour; from 0 to 1 of its sides.
        func wait(
            for colour: Colour, x: Double = 0.5, y: Double = 0.5, line: Int = #line, file: String = #fileID
        ) async throws {
            var seen: Colour?
            do {
                try await Harness.until("the colour", line: line, file: file) {
                    seen = pixel(x, y)
                    return seen == colour
                }
            } catch {
                throw Failure(description: "\(error): it is \(seen.map { "\($0)" } ?? "nothing"), not \(colour)")
            }
        }

        /// What the widget's renderer draws there; nil if it has drawn nothing.
        func pixel(_ x: Double, _ y: Double) -> Colour? {
            let child = OpaquePointer(child)
            let width = Double(gtk_widget_get_width(child)), height = Double(gtk_widget_get_height(child))
            let paintable = gtk_widget_paintable_new(child)
            defer { g_object_unref(UnsafeMutableRawPointer(paintable)) }
            guard let drawn = draw(paintable, width, height) else { return nil }
            return drawn.colour(
                min(drawn.columns - 1, Int(Double(drawn.columns) * x)), min(drawn.rows - 1, Int(Double(drawn.rows) * y))
            )
        }

        /// The first row of what the renderer draws of something square with a width in pixels.
        func row(of paintable: OpaquePointer, width: Int) -> [Colour?] {
            guard let drawn = draw(paintable, Double(width), Double(width)) else { return [] }
            return (0..<drawn.columns).map { drawn.colour($0, 0) }
        }

        private struct Drawing {
            let columns, rows: Int
            /// Blue, green, red, alpha.
            let bytes: [UInt8]

            func colour(_ column: Int, _ row: Int) -> Colour? {
                let at = (row * columns + column) * 4
                return bytes[at + 3] == 255 ? Colour(red: bytes[at + 2], green: bytes[at + 1], blue: bytes[at]) : nil
            }
        }

        private func draw(_ paintable: OpaquePointer?, _ width: Double, _ height: Double) -> Drawing? {
            let snapshot = gtk_snapshot_new()
            gdk_paintable_snapshot(paintable, snapshot, width, height)
            guard let node = gtk_snapshot_free_to_node(snapshot) else { return nil }
            defer { gsk_render_node_unref(node) }
            let renderer = gtk_native_get_renderer(gtk_widget_get_native(OpaquePointer(child)))
            guard let texture = gsk_renderer_render_texture(renderer, node, nil) else { return nil }
            defer { g_object_unref(UnsafeMutableRawPointer(texture)) }
            let columns = Int(gdk_texture_get_width(texture)), rows = Int(gdk_texture_get_height(texture))
            var bytes = [UInt8](repeating: 0, count: columns * rows * 4)
            gdk_texture_download(texture, &bytes, columns * 4)
            return Drawing(columns: columns, rows: rows, bytes: bytes)
        }
    }
#endif
