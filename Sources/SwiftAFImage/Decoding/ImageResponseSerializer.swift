public import FoundationEssentials
public import SwiftAF

/// The body as an image. What can't be decoded is an error.
public struct ImageResponseSerializer: ValidatingResponseSerializer {
    public typealias Output = Image

    /// Which responses are acceptable.
    public var validation: ResponseValidation
    /// What decodes them.
    public var decoder: any ImageDecoding
    /// How they are decoded, with the limits that protect from files that lie.
    public var options: ImageDecodingOptions

    /// Pixels for each point of the images.
    public var imageScale: Double {
        get { options.scale }
        set { options.scale = newValue }
    }

    /// The types that AFNetworking takes for images, WebP, and the name that some servers have for JPEG.
    public static let contentTypes: Set<String> = [
        "image/tiff", "image/jpeg", "image/gif", "image/png", "image/ico", "image/x-icon", "image/bmp", "image/x-bmp",
        "image/x-xbitmap", "image/x-win-bitmap", "image/vnd.microsoft.icon", "image/webp", "image/jpg",
    ]

    /// Makes a serializer; at first the types in ``contentTypes`` with status 200 to 299 are acceptable.
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
