public import FoundationEssentials
internal import SwiftAF

/// Makes images of files. For libraries of your own; ``SystemImageDecoder`` is the one that comes with the package.
public protocol ImageDecoding: Sendable {
    /// The image in a file; the first of an animation. Called on any thread, by many at once.
    ///
    /// - Throws: ``SwiftAF/SessionError``: ``SwiftAF/SessionError/Code/serialization`` for what is no image or is
    ///   damaged, ``SwiftAF/SessionError/Code/tooLarge`` for what passes a limit, before memory is taken for it.
    func decode(_ data: Data, options: ImageDecodingOptions) throws -> Image

    /// All images of an animation, or the only one. The default gives the one of ``decode(_:options:)``.
    func decodeFrames(_ data: Data, options: ImageDecodingOptions) throws -> [ImageFrame]

    /// Something that shows what can be seen of a file while it comes. The default has nothing to show.
    func makeProgressiveDecoder(options: ImageDecodingOptions) -> (any ProgressiveImageDecoding)?
}

/// Reads a file as it comes, for what can be seen of it meanwhile. The image itself is decoded anew once all of it is there, so
/// nothing here decides whether there is one. Used by one at a time.
public protocol ProgressiveImageDecoding: AnyObject {
    /// Takes the next bytes. After an error there is nothing more to show.
    func append(_ bytes: Data) throws
    /// What can be seen by now; nil if that is nothing.
    func image() throws -> Image?
}

extension ImageDecoding {
    public func makeProgressiveDecoder(options: ImageDecodingOptions) -> (any ProgressiveImageDecoding)? { nil }

    public func decodeFrames(_ data: Data, options: ImageDecodingOptions) throws -> [ImageFrame] {
        [ImageFrame(image: try decode(data, options: options), duration: .zero)]
    }
}

/// An image of an animation.
public struct ImageFrame: Sendable, Equatable {
    public var image: Image
    /// How long it is shown.
    public var duration: Duration

    public init(image: Image, duration: Duration) {
        self.image = image
        self.duration = duration
    }
}

/// What a decoder may take, and what it shall make.
public struct ImageDecodingOptions: Sendable, Hashable, Codable {
    /// Pixels for each point of the image.
    public var scale: Double = 1
    /// If one side has more pixels, the image is made smaller while it is decoded, in proportion. Nil to keep it.
    public var maximumPixelSize: Int?
    /// Pixels in the file, of all frames together where all are asked for; 50 million. They take four bytes each.
    public var maximumPixelCount = 50_000_000
    /// Pixels of one side in the file.
    public var maximumDimension = 30_000
    /// Images in one file, also where only the first is asked for.
    public var maximumFrameCount = 1000

    public init() {}

    /// The size at which an image of this many pixels is decoded, or why it is not.
    func decodedSize(ofWidth width: Int, height: Int, frames: Int = 1) throws(SessionError) -> (width: Int, height: Int)
    {
        guard width > 0, height > 0 else { throw SessionError(.serialization, message: "the image has no pixels") }
        guard width <= maximumDimension, height <= maximumDimension,
            width * height <= maximumPixelCount / max(1, frames)
        else {
            let count = frames > 1 ? ", \(frames) times" : ""
            throw SessionError(.tooLarge, message: "the image has too many pixels: \(width) × \(height)\(count)")
        }
        guard let limit = maximumPixelSize, max(width, height) > max(1, limit) else { return (width, height) }
        let factor = Double(max(1, limit)) / Double(max(width, height))
        return (
            max(1, Int((Double(width) * factor).rounded())), max(1, Int((Double(height) * factor).rounded()))
        )
    }
}

/// The decoder of the package: over gdk-pixbuf, if it was built with the trait `Images`; it says so if not.
///
/// It reads PNG, JPEG, GIF, TIFF, BMP, ICO, X bitmaps and, where gdk-pixbuf's loader for it is installed, WebP, told apart
/// by what is in the file.
public struct SystemImageDecoder: ImageDecoding, Hashable {
    public init() {}

    static let unavailable = "images need a build of the package with the trait Images, or a decoder of your own"

    /// Whether the package was built with the trait.
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

    /// Shows PNG, JPEG and BMP while they come, unless they are made smaller.
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
}
