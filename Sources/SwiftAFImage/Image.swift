public import FoundationEssentials
internal import SwiftAF

/// A decoded image. Copies share the pixels.
///
/// The pixels are 8-bit RGBA, not premultiplied, in rows from top to bottom. The orientation in EXIF data is already
/// applied. An animated image has further frames in ``animation``; everything else is about the first one.
public struct Image: Sendable {
    /// The pixels, which are never changed after initialisation.
    private nonisolated(unsafe) let pixels: Pixels
    /// All frames, if the image is animated. The first has the pixels of this image.
    public let animation: ImageAnimation?

    /// The width in pixels.
    public var pixelWidth: Int { pixels.header.width }
    /// The height in pixels.
    public var pixelHeight: Int { pixels.header.height }
    /// The number of pixels per point of ``size``.
    public let scale: Double
    /// Whether a pixel may be transparent.
    public var hasAlpha: Bool { pixels.header.hasAlpha }
    /// The number of bytes from one row to the next.
    public var bytesPerRow: Int { pixelWidth * Self.bytesPerPixel }
    /// The size of the pixels in bytes.
    public var byteCount: Int { bytesPerRow * pixelHeight }
    /// The size of the pixels of all frames in bytes: the image's cost in a cache.
    public var cost: Int { animation?.byteCount ?? byteCount }

    /// Four: red, green, blue and alpha.
    public static let bytesPerPixel = 4

    /// The size in points.
    public var size: (width: Double, height: Double) { (Double(pixelWidth) / scale, Double(pixelHeight) / scale) }

    /// Creates an image. `fill` writes the pixels into zeroed memory.
    ///
    /// - Returns: Nil if a side is not between 1 and 65,535 pixels, or there would be more than 2^28 of them.
    public init?(
        pixelWidth: Int, pixelHeight: Int, scale: Double = 1, hasAlpha: Bool = true,
        fill: (UnsafeMutableRawBufferPointer) throws -> Void
    ) rethrows {
        guard (1...65_535).contains(pixelWidth), (1...65_535).contains(pixelHeight),
            pixelWidth * pixelHeight <= 1 << 28
        else { return nil }
        let shape = Shape(width: pixelWidth, height: pixelHeight, hasAlpha: hasAlpha)
        let count = pixelWidth * pixelHeight * Self.bytesPerPixel
        let made = Pixels.create(minimumCapacity: count) { _ in shape }
        try made.withUnsafeMutablePointerToElements { bytes in
            bytes.initialize(repeating: 0, count: count)
            try fill(UnsafeMutableRawBufferPointer(start: bytes, count: count))
        }
        pixels = unsafeDowncast(made, to: Pixels.self)
        self.scale = Self.sound(scale)
        animation = nil
    }

    /// Creates an animated image. Views that don't play animations show its first frame.
    ///
    /// - Returns: Nil if there are no frames. One frame makes a still image.
    public init?(_ animation: ImageAnimation) {
        guard let first = animation.frames.first?.image else { return nil }
        self.init(first.pixels, scale: first.scale, animation: animation.frames.count > 1 ? animation : nil)
    }

    private init(_ pixels: Pixels, scale: Double, animation: ImageAnimation?) {
        self.pixels = pixels
        self.scale = Self.sound(scale)
        self.animation = animation
    }

    private static func sound(_ scale: Double) -> Double {
        scale.isFinite && scale > 0 ? scale : 1
    }

    /// Calls `body` with the bytes of all rows. Their address stays the same as long as a copy of the image exists.
    public func withPixels<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let bytes = pixels.withUnsafeMutablePointerToElements { UnsafeRawPointer($0) }
        defer { withExtendedLifetime(pixels) {} }
        return try body(UnsafeRawBufferPointer(start: bytes, count: byteCount))
    }

    /// Returns an image with the same pixels at another scale.
    public func withScale(_ scale: Double) -> Image {
        Image(pixels, scale: scale, animation: animation?.map { $0.withScale(scale) })
    }

    /// Returns an image with each frame changed.
    func mapFrames<Failure: Error>(_ change: (Image) throws(Failure) -> Image) throws(Failure) -> Image {
        guard let animation else { return try change(self) }
        return Image(try animation.map(change)) ?? self
    }

    /// Whether two values share the same pixels in memory.
    public func isIdentical(to other: Image) -> Bool {
        pixels === other.pixels
    }

    private struct Shape {
        let width, height: Int
        let hasAlpha: Bool
    }

    /// The header and the pixels, in one allocation.
    private final class Pixels: ManagedBuffer<Shape, UInt8> {}
}

/// Compares size, scale, pixels and animation.
extension Image: Equatable {
    public static func == (left: Image, right: Image) -> Bool {
        guard left.pixelWidth == right.pixelWidth, left.pixelHeight == right.pixelHeight, left.scale == right.scale,
            left.hasAlpha == right.hasAlpha, left.animation == right.animation
        else { return false }
        return left.isIdentical(to: right)
            || left.withPixels { mine in right.withPixels { mine.elementsEqual($0) } }
    }
}

extension Image: CustomStringConvertible {
    /// `Image(640 × 480 pixels, scale 2.0)`.
    public var description: String { "Image(\(pixelWidth) × \(pixelHeight) pixels, scale \(scale))" }
}

extension Image {
    /// The file formats for writing.
    public enum FileFormat: Sendable, Hashable {
        /// PNG, without loss.
        case png
        /// JPEG, with a quality from 0 (smallest file) to 100. Transparency is dropped.
        case jpeg(quality: Int)
    }

    /// Encodes the image as a file; of an animation, the first frame.
    ///
    /// - Throws: ``/SwiftAF/SessionError`` with code ``/SwiftAF/SessionError/Code/unsupported`` if the package was
    ///   built without the trait `Images`.
    public func data(as format: FileFormat) throws -> Data {
        #if Images
            return try Pixbuf.encode(self, as: format)
        #else
            throw SessionError(.unsupported, message: SystemImageDecoder.unavailable)
        #endif
    }
}
