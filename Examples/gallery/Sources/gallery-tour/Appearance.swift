import CGTK
import GalleryWindow

/// What widgets show.
@MainActor
enum Appearance {
    /// Whether a `GtkPicture` shows a picture, with each of its pixels.
    static func isRight(_ picture: Picture, in widget: OpaquePointer) -> Bool {
        guard let texture = gtk_picture_get_paintable(widget) else { return false }
        let width = Int(gdk_texture_get_width(texture)), height = Int(gdk_texture_get_height(texture))
        guard let expected = Landscape(number: picture.number).image(width: width, height: height) else { return false }
        var shown = [UInt8](repeating: 0, count: width * height * 4)
        gdk_texture_download(texture, &shown, width * 4)
        return expected.withPixels { expected in
            shown.withUnsafeBytes { shown in
                (0..<width * height).allSatisfy { at in
                    let pixel = UInt32(littleEndian: shown.loadUnaligned(fromByteOffset: at * 4, as: UInt32.self))
                    let wanted = UInt32(littleEndian: expected.loadUnaligned(fromByteOffset: at * 4, as: UInt32.self))
                    // GTK's have blue first.
                    return pixel == wanted & 0xFF00_FF00 | wanted >> 16 & 0xFF | (wanted & 0xFF) << 16
                }
            }
        }
    }

    /// Writes what a widget shows as a PNG file.
    static func save(_ widget: OpaquePointer, to path: String) -> Bool {
        let paintable = gtk_widget_paintable_new(widget)
        defer { g_object_unref(UnsafeMutableRawPointer(paintable)) }
        let snapshot = gtk_snapshot_new()
        gdk_paintable_snapshot(
            paintable, snapshot, Double(gtk_widget_get_width(widget)), Double(gtk_widget_get_height(widget)))
        guard let node = gtk_snapshot_free_to_node(snapshot) else { return false }
        defer { gsk_render_node_unref(node) }
        let renderer = gtk_native_get_renderer(gtk_widget_get_native(widget))
        guard let texture = gsk_renderer_render_texture(renderer, node, nil) else { return false }
        defer { g_object_unref(UnsafeMutableRawPointer(texture)) }
        return gdk_texture_save_to_png(texture, path) != 0
    }
}
