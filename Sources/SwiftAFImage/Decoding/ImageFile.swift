public import FoundationEssentials
public import SwiftAF

/// An image that came and was not decoded: what a program keeps that wants the pixels later, on another thread, or all
/// frames of an animation.
public struct ImageFile: Sendable {
    public var data: Data
    public var decoder: any ImageDecoding
    public var options: ImageDecodingOptions

    public init(
        _ data: Data, decoder: any ImageDecoding = SystemImageDecoder(),
        options: ImageDecodingOptions = ImageDecodingOptions()
    ) {
        self.data = data
        self.decoder = decoder
        self.options = options
    }

    /// The image, or the first of an animation. Decodes each time.
    public func image() throws -> Image {
        try decoder.decode(data, options: options)
    }

    /// All images of an animation, or the only one. Decodes each time.
    public func frames() throws -> [ImageFrame] {
        try decoder.decodeFrames(data, options: options)
    }
}

/// The body as an image file, for whoever decodes it: AFNetworking's image serializer without
/// `automaticallyInflatesResponseImage`. Whether it can be decoded shows only then.
public struct ImageFileResponseSerializer: ValidatingResponseSerializer {
    public typealias Output = ImageFile

    public var validation: ResponseValidation
    public var decoder: any ImageDecoding
    public var options: ImageDecodingOptions

    /// Makes a serializer; at first what ``ImageResponseSerializer`` accepts is acceptable.
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
        guard !body.isEmpty else { throw SessionError(.serialization, message: "there is no image in the response") }
        return ImageFile(body, decoder: decoder, options: options)
    }
}
