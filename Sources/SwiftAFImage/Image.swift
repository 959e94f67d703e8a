public import FoundationEssentials
internal import SwiftAF

/// A decoded picture: its pixels, ready to be drawn. A value whose pixels are shared by its copies.
///
/// Pixels are rows from top to bottom, four bytes each: red, green, blue and alpha, which the colours are not multiplied
/// with. The orientation that a camera noted is applied.
public struct Image: Sendable {
    /// Only read once the image is made.
    private nonisolated(unsafe) let pixels: Pixels

    /// Pixels from left to right.
    public var pixelWidth: Int { pixels.header.width }
    /// Pixels from top to bottom.
    public var pixelHeight: Int { pixels.header.height }
    /// Pixels for each point of ``size``.
    public let scale: Double
    /// Whether any pixel may let through what is behind it.
    public var hasAlpha: Bool { pixels.header.hasAlpha }
    /// From one row to the next.
    public var bytesPerRow: Int { pixelWidth * Self.bytesPerPixel }
    /// Of all rows: what the image takes in memory, and costs in a cache.
    public var byteCount: Int { bytesPerRow * pixelHeight }

    public static let bytesPerPixel = 4

    /// How large it is meant to be shown.
    public var size: (width: Double, height: Double) { (Double(pixelWidth) / scale, Double(pixelHeight) / scale) }

    /// Makes an image; its pixels are written by `fill`, into memory that is all zero.
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
    }

    private init(_ pixels: Pixels, scale: Double) {
        self.pixels = pixels
        self.scale = Self.sound(scale)
    }

    private static func sound(_ scale: Double) -> Double {
        scale.isFinite && scale > 0 ? scale : 1
    }

    /// Calls `body` with the bytes of all rows.
    public func withPixels<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let bytes = pixels.withUnsafeMutablePointerToElements { UnsafeRawPointer($0) }
        defer { withExtendedLifetime(pixels) {} }
        return try body(UnsafeRawBufferPointer(start: bytes, count: byteCount))
    }

    /// The same pixels at another scale.
    public func withScale(_ scale: Double) -> Image {
        Image(pixels, scale: scale)
    }

    /// Whether these are the very same pixels in memory: copies of one image.
    public func isIdentical(to other: Image) -> Bool {
        pixels === other.pixels
    }

    private struct Shape {
        let width, height: Int
        let hasAlpha: Bool
    }

    /// One allocation.
    private final class Pixels: ManagedBuffer<Shape, UInt8> {}
}

/// By size, scale and the pixels themselves.
extension Image: Equatable {
    public static func == (left: Image, right: Image) -> Bool {
        guard left.pixelWidth == right.pixelWidth, left.pixelHeight == right.pixelHeight, left.scale == right.scale,
            left.hasAlpha == right.hasAlpha
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
    /// The file formats that images can be written in.
    public enum FileFormat: Sendable, Hashable {
        case png
        /// The quality is from 0 (smallest) to 100. What lets through is written as if nothing did.
        case jpeg(quality: Int)
    }

    /// The image as a file.
    ///
    /// - Throws: ``SwiftAF/SessionError`` with code ``SwiftAF/SessionError/Code/unsupported`` if the package was built
    ///   without the trait `Images`.
    public func data(as format: FileFormat) throws -> Data {
        #if Images
            return try Pixbuf.encode(self, as: format)
        #else
            throw SessionError(.unsupported, message: SystemImageDecoder.unavailable)
        #endif
    }
}
