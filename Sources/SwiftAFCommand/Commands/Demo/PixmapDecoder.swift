import FoundationEssentials
import SwiftAF
import SwiftAFImage

/// Decodes portable pixmaps (`P6`): a minimal example of a custom decoder.
struct PixmapDecoder: ImageDecoding {
    static let contentType = "image/x-portable-pixmap"

    func decode(_ data: Data, options: ImageDecodingOptions) throws -> Image {
        var rest = data[...]
        guard Self.word(&rest) == "P6", let width = Self.number(&rest), let height = Self.number(&rest),
            Self.number(&rest) == 255, width > 0, height > 0
        else { throw SessionError(.serialization, message: "not a portable pixmap") }
        guard width <= options.maximumDimension, height <= options.maximumDimension,
            width * height <= options.maximumPixelCount
        else { throw SessionError(.tooLarge, message: "the image has too many pixels: \(width) × \(height)") }
        let image = try Image(pixelWidth: width, pixelHeight: height, scale: options.scale, hasAlpha: false) { pixels in
            guard rest.count >= width * height * 3 else {
                throw SessionError(.serialization, message: "the image is cut off")
            }
            for (index, byte) in rest.prefix(width * height * 3).enumerated() {
                pixels[index / 3 * 4 + index % 3] = byte
            }
            for alpha in stride(from: 3, to: pixels.count, by: 4) { pixels[alpha] = 255 }
        }
        guard let image else { throw SessionError(.tooLarge, message: "the image has too many pixels") }
        return image
    }

    /// Reads up to the next white space, and consumes that as well.
    private static func word(_ rest: inout Data.SubSequence) -> String {
        let word = rest.prefix(10).prefix { !" \n\r\t".utf8.contains($0) }
        rest = rest.dropFirst(word.count + 1)
        return String(decoding: word, as: UTF8.self)
    }

    private static func number(_ rest: inout Data.SubSequence) -> Int? {
        Int(word(&rest))
    }
}
