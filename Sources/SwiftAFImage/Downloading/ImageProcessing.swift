internal import SwiftAF

/// Processes an image after it was decoded.
public protocol ImageProcessing: Sendable {
    /// A name that contains all parameters, as a part of the cache key.
    var identifier: String { get }
    /// Returns the processed image. Called on any thread, concurrently; for an animated image, with each of its frames.
    func process(_ image: Image) throws -> Image
}

/// Scales an image down in proportion until it fits a size. Each new pixel is the mean of the pixels it covers. An
/// image that fits is unchanged.
public struct ResizeProcessor: ImageProcessing, Hashable {
    /// The size to fit, in pixels.
    public let width, height: Int

    /// Creates a processor for a size in pixels.
    public init(width: Int, height: Int) {
        self.width = max(1, width)
        self.height = max(1, height)
    }

    public var identifier: String { "resize(\(width),\(height))" }

    public func process(_ image: Image) throws -> Image {
        let factor = min(
            Double(width) / Double(image.pixelWidth), Double(height) / Double(image.pixelHeight))
        guard factor < 1 else { return image }
        let newWidth = max(1, Int((Double(image.pixelWidth) * factor).rounded()))
        let newHeight = max(1, Int((Double(image.pixelHeight) * factor).rounded()))
        let resized = image.withPixels { source in
            Image(pixelWidth: newWidth, pixelHeight: newHeight, scale: image.scale, hasAlpha: image.hasAlpha) {
                target in
                guard let source = source.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
                for row in 0..<newHeight {
                    let rows = Self.covered(row, of: newHeight, from: image.pixelHeight)
                    let start = source + rows.lowerBound * image.bytesPerRow
                    for column in 0..<newWidth {
                        let columns = Self.covered(column, of: newWidth, from: image.pixelWidth)
                        let mean = Self.mean(
                            start + columns.lowerBound * 4, rows.count, columns.count, bytesPerRow: image.bytesPerRow)
                        target.storeBytes(of: mean, toByteOffset: (row * newWidth + column) * 4, as: UInt32.self)
                    }
                }
            }
        }
        return resized ?? image
    }

    private static func covered(_ index: Int, of count: Int, from all: Int) -> Range<Int> {
        let start = index * all / count
        return start..<max(start + 1, (index + 1) * all / count)
    }

    /// Returns the mean of the pixels of an area. Colours are weighted by alpha, because transparent pixels have no
    /// colour.
    ///
    /// The loops are written so that debug builds are fast, too, which call a function for each range, subscript of a
    /// buffer and checked sum. No sum overflows: an image has at most 2^28 pixels, and a pixel adds less than 2^16.
    private static func mean(
        _ start: UnsafePointer<UInt8>, _ height: Int, _ width: Int, bytesPerRow: Int
    ) -> UInt32 {
        var red = 0, green = 0, blue = 0, alpha = 0
        var line = start
        var lines = height
        while lines > 0 {
            var pixel = line
            var left = width
            while left > 0 {
                let weight = Int(pixel[3])
                red = red &+ Int(pixel[0]) &* weight
                green = green &+ Int(pixel[1]) &* weight
                blue = blue &+ Int(pixel[2]) &* weight
                alpha = alpha &+ weight
                pixel = pixel + 4
                left = left &- 1
            }
            line = line + bytesPerRow
            lines = lines &- 1
        }
        guard alpha > 0 else { return 0 }
        // No array is used, because this runs for each pixel.
        let colour =
            rounded(red, by: alpha) | rounded(green, by: alpha) << 8 | rounded(blue, by: alpha) << 16
        return (colour | rounded(alpha, by: height * width) << 24).littleEndian
    }

    private static func rounded(_ sum: Int, by divisor: Int) -> UInt32 {
        UInt32((sum + divisor / 2) / divisor)
    }
}

extension ImageProcessing where Self == ResizeProcessor {
    /// Scales an image down in proportion until it fits a size in pixels: a ``ResizeProcessor``.
    public static func resize(width: Int, height: Int) -> ResizeProcessor {
        ResizeProcessor(width: width, height: height)
    }
}

/// Sets the number of pixels per point of an image. Its pixels are unchanged.
///
/// For a screen with two pixels per point, use it after a ``ResizeProcessor`` to twice the size in points.
public struct ScaleProcessor: ImageProcessing, Hashable {
    /// Pixels per point.
    public let scale: Double

    /// Creates a processor for a number of pixels per point.
    public init(scale: Double) {
        self.scale = scale
    }

    public var identifier: String { "scale(\(scale))" }

    public func process(_ image: Image) throws -> Image {
        image.withScale(scale)
    }
}

extension ImageProcessing where Self == ScaleProcessor {
    /// Sets the number of pixels per point: a ``ScaleProcessor``.
    public static func scale(_ scale: Double) -> ScaleProcessor { ScaleProcessor(scale: scale) }
}

/// Rounds the corners of an image.
public struct RoundCornersProcessor: ImageProcessing, Hashable {
    /// The radius in pixels; limited to half of the shorter side.
    public let radius: Int

    /// Creates a processor for a radius in pixels.
    public init(radius: Int) {
        self.radius = max(0, radius)
    }

    public var identifier: String { "roundCorners(\(radius))" }

    public func process(_ image: Image) throws -> Image {
        let radius = Double(min(radius, min(image.pixelWidth, image.pixelHeight) / 2))
        guard radius > 0 else { return image }
        let rounded = image.withPixels { source in
            Image(pixelWidth: image.pixelWidth, pixelHeight: image.pixelHeight, scale: image.scale) { target in
                target.copyMemory(from: source)
                for row in 0..<image.pixelHeight {
                    let vertical = Self.beyond(row, of: image.pixelHeight, radius)
                    guard vertical > 0 else { continue }
                    for column in 0..<image.pixelWidth {
                        let horizontal = Self.beyond(column, of: image.pixelWidth, radius)
                        guard horizontal > 0 else { continue }
                        let distance = (vertical * vertical + horizontal * horizontal).squareRoot()
                        let coverage = min(max(radius - distance + 0.5, 0), 1)
                        let at = row * image.bytesPerRow + column * 4 + 3
                        target[at] = UInt8((Double(target[at]) * coverage).rounded())
                    }
                }
            }
        }
        return rounded ?? image
    }

    /// Returns by how much a pixel's centre is beyond the start of the corner.
    private static func beyond(_ index: Int, of count: Int, _ radius: Double) -> Double {
        let middle = Double(index) + 0.5
        return max(radius - middle, middle - (Double(count) - radius), 0)
    }
}

extension ImageProcessing where Self == RoundCornersProcessor {
    /// Rounds the corners by a radius in pixels: a ``RoundCornersProcessor``.
    public static func roundCorners(radius: Int) -> RoundCornersProcessor { RoundCornersProcessor(radius: radius) }
}
