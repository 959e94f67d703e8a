import SwiftAFImage

/// What is shown in place of a picture.
@MainActor
enum Placeholders {
    /// While a picture is being loaded.
    static let waiting = draw { _, _ in 228 }

    /// When the server can't be reached: three arcs and a dot, struck through.
    static let offline = draw { x, y in
        let (right, up) = (x - 80, 82 - y)
        let distance = (right * right + up * up).squareRoot()
        let isInArc = up > abs(right) && [14.0, 27, 40].contains { abs(distance - $0) < 3 }
        let isInLine = abs(right - up + 18) < 4 && abs(right + up - 18) < 60
        let isNearLine = abs(right - up + 18) < 9 && abs(right + up - 18) < 60
        if isInLine { return 130 }
        return (isInArc || distance < 5) && !isNearLine ? 150 : 228
    }

    /// Calls `grey` for each pixel of a tile.
    private static func draw(_ grey: (Double, Double) -> UInt8) -> Image? {
        Image(pixelWidth: 160, pixelHeight: 120, hasAlpha: false) { pixels in
            for at in 0..<160 * 120 {
                let value = grey(Double(at % 160), Double(at / 160))
                for channel in 0..<3 { pixels[at * 4 + channel] = value }
                pixels[at * 4 + 3] = 255
            }
        }
    }
}
