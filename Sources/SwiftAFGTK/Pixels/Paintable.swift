#if GTK
    internal import CAFGTK
    internal import SwiftAFImage

    /// An image as GTK draws it: a texture over the image's own pixels, which aren't copied.
    @MainActor
    final class Paintable {
        private let pointer: OpaquePointer

        init?(_ image: Image) {
            guard let texture = Self.texture(image) else { return nil }
            guard image.scale != 1 else {
                pointer = texture
                return
            }
            // A texture's size is that of its pixels; drawn into a smaller rectangle it keeps them all.
            defer { cafgtk_unref(UnsafeMutableRawPointer(texture)) }
            let (width, height) = (Float(image.size.width), Float(image.size.height))
            let snapshot = cafgtk_snapshot_new()
            var bounds = cafgtk_rect(x: 0, y: 0, width: width, height: height)
            cafgtk_snapshot_append(snapshot, texture, &bounds)
            var size = cafgtk_size(width: width, height: height)
            guard let made = cafgtk_snapshot_finish(snapshot, &size) else { return nil }
            pointer = made
        }

        /// Calls `body` with the `GdkPaintable` of an image, or with nil without one.
        static func use(_ paintable: Paintable?, _ body: (OpaquePointer?) -> Void) {
            withExtendedLifetime(paintable) { body(paintable?.pointer) }
        }

        /// The same for an image.
        static func use(_ image: Image?, _ body: (OpaquePointer?) -> Void) {
            use(image.flatMap { Paintable($0) }, body)
        }

        isolated deinit {
            cafgtk_unref(UnsafeMutableRawPointer(pointer))
        }

        private static func texture(_ image: Image) -> OpaquePointer? {
            // A renderer may keep the texture's bytes, on any thread. They hold the image.
            let owner = Unmanaged.passRetained(PixelOwner(image))
            let bytes = image.withPixels { pixels in
                cafgtk_bytes_new(
                    pixels.baseAddress, pixels.count,
                    { owner in
                        if let owner { Unmanaged<PixelOwner>.fromOpaque(owner).release() }
                    }, owner.toOpaque())
            }
            defer { cafgtk_bytes_unref(bytes) }
            return cafgtk_texture_new(
                Int32(image.pixelWidth), Int32(image.pixelHeight), cafgtk_memory_format(cafgtk_rgba), bytes,
                image.bytesPerRow)
        }
    }

    private final class PixelOwner: Sendable {
        private let image: Image

        init(_ image: Image) {
            self.image = image
        }
    }
#endif
