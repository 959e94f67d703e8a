public import FoundationEssentials
public import SwiftAF

/// Decodes the body as an image. Throws if it can't be decoded.
public struct ImageResponseSerializer: ValidatingResponseSerializer {
    /// The decoded image.
    public typealias Output = Image

    /// Which responses are acceptable.
    public var validation: ResponseValidation
    /// The decoder.
    public var decoder: any ImageDecoding
    /// The options of decoding, with the limits that protect against hostile files.
    public var options: ImageDecodingOptions

    /// The number of pixels per point of the images.
    public var imageScale: Double {
        get { options.scale }
        set { options.scale = newValue }
    }

    /// AFNetworking's image types, WebP, and `image/jpg`, which some servers send for JPEG.
    public static let contentTypes: Set<String> = [
        "image/tiff", "image/jpeg", "image/gif", "image/png", "image/ico", "image/x-icon", "image/bmp", "image/x-bmp",
        "image/x-xbitmap", "image/x-win-bitmap", "image/vnd.microsoft.icon", "image/webp", "image/jpg",
    ]

    /// Makes a serializer. By default it accepts ``contentTypes`` with status 200 to 299.
    public init(
        validation: ResponseValidation = ResponseValidation(acceptableContentTypes: contentTypes),
        decoder: any ImageDecoding = SystemImageDecoder(),
        options: ImageDecodingOptions = ImageDecodingOptions()
    ) {
        self.validation = validation
        self.decoder = decoder
        self.options = options
    }

    public func parse(_ body: Data, of response: HTTPResponse) throws -> Image {
        guard !body.isEmpty else { throw SessionError(.serialization, message: "there is no image in the response") }
        return try decoder.decode(body, options: options)
    }
}
