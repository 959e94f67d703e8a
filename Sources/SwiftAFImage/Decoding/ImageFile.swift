public import FoundationEssentials
public import SwiftAF

/// An image file that isn't decoded yet, to decode later, on another thread, or to get all frames of an
/// animation.
public struct ImageFile: Sendable {
    /// The bytes of the file.
    public var data: Data
    /// The decoder of the file.
    public var decoder: any ImageDecoding
    /// Limits and options of decoding.
    public var options: ImageDecodingOptions

    /// Creates a file from its bytes. Nothing is decoded or checked.
    public init(
        _ data: Data, decoder: any ImageDecoding = SystemImageDecoder(),
        options: ImageDecodingOptions = ImageDecodingOptions()
    ) {
        self.data = data
        self.decoder = decoder
        self.options = options
    }

    /// Decodes the image, or the first frame of an animation. Nothing is cached.
    public func image() throws -> Image {
        try decoder.decode(data, options: options)
    }

    /// Decodes all frames of an animation, or the only image. Nothing is cached.
    public func frames() throws -> [ImageFrame] {
        try decoder.decodeFrames(data, options: options)
    }
}

/// Returns the body as an image file without decoding it: AFNetworking's image serializer without
/// `automaticallyInflatesResponseImage`. Errors of decoding are thrown when it is decoded. A refused status is an
/// error, as with ``ImageResponseSerializer``.
public struct ImageFileResponseSerializer: StatusFirstSerializer {
    /// The file.
    public typealias Output = ImageFile

    public var validation: ResponseValidation
    /// The decoder of the files.
    public var decoder: any ImageDecoding
    /// Limits and options of decoding.
    public var options: ImageDecodingOptions

    /// Creates a serializer. By default it accepts the same responses as ``ImageResponseSerializer``.
    public init(
        validation: ResponseValidation = ResponseValidation(
            acceptableContentTypes: ImageResponseSerializer.contentTypes),
        decoder: any ImageDecoding = SystemImageDecoder(),
        options: ImageDecodingOptions = ImageDecodingOptions()
    ) {
        self.validation = validation
        self.decoder = decoder
        self.options = options
    }

    public func parse(_ body: Data, of response: HTTPResponse) throws -> ImageFile {
        guard !body.isEmpty else { throw SessionError.noImage }
        return ImageFile(body, decoder: decoder, options: options)
    }
}
