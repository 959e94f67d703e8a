public import FoundationEssentials
public import SwiftAF

/// Decodes the body as an image, animated if the file is. Throws if it can't be decoded.
///
/// For a response with a refused status, the error is always ``/SwiftAF/SessionError/Code/status``, whatever the body
/// is. If that is an image, it is the error's ``/SwiftAF/SessionError/parsedBody``.
public struct ImageResponseSerializer: StatusFirstSerializer {
    /// The decoded image.
    public typealias Output = Image

    /// The responses that are acceptable.
    public var validation: ResponseValidation
    /// The decoder.
    public var decoder: any ImageDecoding
    /// The options of decoding, with the limits that protect against hostile files.
    public var options: ImageDecodingOptions
    /// The maximum number of pixels of all frames of an animation together, four bytes each. If an animation has more,
    /// only its first frame is decoded; with 0, that applies to all animations. Default: 10 million.
    public var maximumAnimationPixelCount: Int

    /// The number of pixels per point of the images.
    public var imageScale: Double {
        get { options.scale }
        set { options.scale = newValue }
    }

    /// AFNetworking's image types, WebP, and `image/jpg`, which some servers send for JPEG. ``SystemImageDecoder``
    /// doesn't decode `image/x-xbitmap`.
    public static let contentTypes: Set<String> = [
        "image/tiff", "image/jpeg", "image/gif", "image/png", "image/ico", "image/x-icon", "image/bmp", "image/x-bmp",
        "image/x-xbitmap", "image/x-win-bitmap", "image/vnd.microsoft.icon", "image/webp", "image/jpg",
    ]

    /// Creates a serializer. By default it accepts ``contentTypes`` with status 200 to 299.
    public init(
        validation: ResponseValidation = ResponseValidation(acceptableContentTypes: contentTypes),
        decoder: any ImageDecoding = SystemImageDecoder(),
        options: ImageDecodingOptions = ImageDecodingOptions(),
        maximumAnimationPixelCount: Int = 10_000_000
    ) {
        self.validation = validation
        self.decoder = decoder
        self.options = options
        self.maximumAnimationPixelCount = maximumAnimationPixelCount
    }

    public func parse(_ body: Data, of response: HTTPResponse) throws -> Image {
        guard !body.isEmpty else { throw SessionError.noImage }
        return try animatedImage(body) ?? decoder.decode(body, options: options)
    }

    /// Returns the animated image; nil for a still image, and for an animation that is too large.
    private func animatedImage(_ body: Data) throws -> Image? {
        guard maximumAnimationPixelCount > 0 else { return nil }
        var options = options
        options.maximumPixelCount = min(options.maximumPixelCount, maximumAnimationPixelCount)
        do {
            return try decoder.decodeAnimation(body, options: options).flatMap { Image($0) }
        } catch let error as SessionError where error.code == .tooLarge {
            return nil
        }
    }
}

/// A serializer that reports a refused status, whatever the body is.
protocol StatusFirstSerializer: ValidatingResponseSerializer {}

extension StatusFirstSerializer {
    public func serialize(_ response: HTTPResponse, body: Data) throws -> Output {
        try result(for: response, body: body).get()
    }

    public func result(for response: HTTPResponse, body: Data) -> SerializedResult<Output> {
        resultWithStatusFirst(for: response, body: body)
    }
}

extension SerializedResult {
    /// Returns the value, or throws the error, which then has the value as its ``/SwiftAF/SessionError/parsedBody``.
    func get() throws -> Output {
        if var error = error as? SessionError {
            error.parsedBody = value
            throw error
        }
        if let error { throw error }
        guard let value else { throw SessionError.noImage }
        return value
    }
}

extension SessionError {
    /// The error of a response without a body, or without a value.
    static var noImage: SessionError { SessionError(.serialization, message: "the response has no image") }
}
