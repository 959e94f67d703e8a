public import FoundationEssentials
internal import SwiftAF

/// Decodes image files. Conform your own decoder; ``SystemImageDecoder`` is part of the package.
public protocol ImageDecoding: Sendable {
    /// Decodes the image, or the first frame of an animation. Called on any thread, concurrently.
    ///
    /// - Throws: ``/SwiftAF/SessionError``: ``/SwiftAF/SessionError/Code/serialization`` if the file isn't an image or
    ///   is damaged, ``/SwiftAF/SessionError/Code/tooLarge`` if it exceeds a limit, before memory is allocated,
    ///   ``/SwiftAF/SessionError/Code/cancelled`` if the Swift task was cancelled.
    func decode(_ data: Data, options: ImageDecodingOptions) throws -> Image

    /// Decodes all frames of an animation, or the only image. The default returns the image of ``decode(_:options:)``.
    func decodeFrames(_ data: Data, options: ImageDecodingOptions) throws -> [ImageFrame]

    /// Decodes all frames of an animation, with the number of times that they are shown; nil for any other file. The
    /// default returns nil. Images that views request play if this returns an animation.
    func decodeAnimation(_ data: Data, options: ImageDecodingOptions) throws -> ImageAnimation?

    /// Creates a decoder for previews during a download. The default returns nil.
    func makeProgressiveDecoder(options: ImageDecodingOptions) -> (any ProgressiveImageDecoding)?
}

/// Decodes previews of a file while it arrives. The final image is decoded from the whole file, so this decoder doesn't
/// decide whether the file is valid. Used by one caller at a time.
public protocol ProgressiveImageDecoding: AnyObject {
    /// Appends bytes. After an error there are no more previews.
    func append(_ bytes: Data) throws
    /// The current preview; nil before the first one.
    func image() throws -> Image?
}

extension ImageDecoding {
    /// Decodes the image, or the first frame of an animation, within the default limits.
    public func decode(_ data: Data) throws -> Image {
        try decode(data, options: ImageDecodingOptions())
    }

    public func makeProgressiveDecoder(options: ImageDecodingOptions) -> (any ProgressiveImageDecoding)? { nil }

    public func decodeFrames(_ data: Data, options: ImageDecodingOptions) throws -> [ImageFrame] {
        [ImageFrame(image: try decode(data, options: options), duration: .zero)]
    }

    public func decodeAnimation(_ data: Data, options: ImageDecodingOptions) throws -> ImageAnimation? { nil }
}

/// Limits and options of decoding.
public struct ImageDecodingOptions: Sendable, Hashable, Codable {
    /// Pixels for each point of the image. Default: 1.
    public var scale: Double = 1
    /// Scales the image down while decoding, so that neither side has more pixels. Nil keeps the size. Default: nil.
    public var maximumPixelSize: Int?
    /// The maximum number of pixels, of all frames together if all are decoded. Default: 50 million, four bytes each.
    /// Each frame of a GIF, and all frames of a WebP, must be within it, also if only the first is decoded.
    public var maximumPixelCount = 50_000_000
    /// The maximum number of pixels of one side. Default: 30,000.
    public var maximumDimension = 30_000
    /// The maximum number of frames, also if only the first is decoded. Default: 1,000.
    public var maximumFrameCount = 1000

    /// Creates the default options.
    public init() {}

    var tooManyFrames: SessionError {
        SessionError(.tooLarge, message: "the image has more than \(maximumFrameCount) frames (maximumFrameCount)")
    }

    /// Returns the size to decode at; throws if a limit is exceeded.
    func decodedSize(ofWidth width: Int, height: Int, frames: Int = 1) throws(SessionError) -> (width: Int, height: Int)
    {
        guard width > 0, height > 0 else { throw SessionError(.serialization, message: "the image has no pixels") }
        guard max(width, height) <= maximumDimension else {
            throw SessionError(
                .tooLarge,
                message: """
                    the image has \(width) × \(height) pixels: a side may have at most \(maximumDimension) \
                    (maximumDimension)
                    """)
        }
        // Compared by division, because the product of the sides in a file may overflow.
        guard height <= maximumPixelCount / max(1, frames) / width else {
            let count = frames > 1 ? "\(frames) frames of " : ""
            throw SessionError(
                .tooLarge,
                message: """
                    the image has \(count)\(width) × \(height) pixels: at most \(maximumPixelCount) are accepted \
                    (maximumPixelCount)
                    """)
        }
        guard let limit = maximumPixelSize, max(width, height) > max(1, limit) else { return (width, height) }
        let factor = Double(max(1, limit)) / Double(max(width, height))
        return (
            max(1, Int((Double(width) * factor).rounded())), max(1, Int((Double(height) * factor).rounded()))
        )
    }
}

/// The package's decoder, over gdk-pixbuf. Requires the trait `Images`; without it, decoding throws `unsupported`.
///
/// It decodes PNG, JPEG, GIF, TIFF, BMP, ICO and, if gdk-pixbuf's loader is installed, WebP. The type is detected from
/// the contents. X bitmaps need a decoder of your own: gdk-pixbuf takes the memory for them before their size can be
/// checked. A JPEG with more than 100 scans, a TIFF with more than 8 samples per pixel, with tiles or strips of more
/// than four bytes for each pixel of ``ImageDecodingOptions/maximumPixelCount``, or with values in its directory that
/// are together larger than the file, and a GIF whose data is in tiny blocks are
/// ``/SwiftAF/SessionError/Code/tooLarge``. Of a PNG, only the chunks that are needed for the image are read, and apart
/// from the pixels none of more than 256 KiB.
///
/// A file that is cut off is an error. Missing rows aren't detected in a TIFF, and in a PNG whose chunks are complete
/// if it is interlaced or scaled down while it is decoded.
public struct SystemImageDecoder: ImageDecoding, Hashable {
    /// Creates a decoder.
    public init() {}

    static let unavailable = "images need a build of the package with the trait Images, or a decoder of your own"

    /// Whether the package was built with the trait `Images`.
    public static var isAvailable: Bool {
        #if Images
            true
        #else
            false
        #endif
    }

    public func decode(_ data: Data, options: ImageDecodingOptions) throws -> Image {
        #if Images
            return try Pixbuf.decode(data, options: options)
        #else
            throw SessionError(.unsupported, message: Self.unavailable)
        #endif
    }

    /// Supports PNG, JPEG and BMP, unless they are scaled down.
    public func makeProgressiveDecoder(options: ImageDecodingOptions) -> (any ProgressiveImageDecoding)? {
        #if Images
            return PixbufProgress(options)
        #else
            return nil
        #endif
    }

    public func decodeFrames(_ data: Data, options: ImageDecodingOptions) throws -> [ImageFrame] {
        #if Images
            return try Pixbuf.decodeFrames(data, options: options)
        #else
            throw SessionError(.unsupported, message: Self.unavailable)
        #endif
    }

    /// Decodes the frames of a GIF.
    public func decodeAnimation(_ data: Data, options: ImageDecodingOptions) throws -> ImageAnimation? {
        #if Images
            return try Pixbuf.decodeAnimation(data, options: options)
        #else
            throw SessionError(.unsupported, message: Self.unavailable)
        #endif
    }
}
