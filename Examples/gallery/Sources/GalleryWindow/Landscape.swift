import Glibc
import SwiftAFImage

/// A picture that is drawn from its number: a sky, a sun and three rows of hills.
public struct Landscape: Sendable {
    public let number: Int
    private let tint: Tint
    private let shape: Shape

    private struct Tint {
        let name: String
        /// Red, green and blue.
        let sky, horizon, hill: (Double, Double, Double)
    }

    private struct Shape {
        let name: String
        let height, waves: Double
    }

    private static let tints = [
        Tint(name: "Amber", sky: (250, 190, 90), horizon: (255, 232, 190), hill: (120, 62, 30)),
        Tint(name: "Azure", sky: (70, 150, 230), horizon: (205, 232, 250), hill: (24, 62, 110)),
        Tint(name: "Violet", sky: (120, 90, 200), horizon: (240, 200, 230), hill: (52, 30, 90)),
        Tint(name: "Rose", sky: (235, 120, 140), horizon: (255, 222, 205), hill: (110, 36, 66)),
        Tint(name: "Emerald", sky: (90, 190, 170), horizon: (225, 245, 215), hill: (16, 84, 62)),
        Tint(name: "Silver", sky: (150, 165, 180), horizon: (235, 238, 240), hill: (60, 68, 78)),
        Tint(name: "Crimson", sky: (200, 60, 60), horizon: (255, 190, 140), hill: (70, 14, 30)),
    ]
    private static let shapes = [
        Shape(name: "hills", height: 0.10, waves: 7), Shape(name: "dunes", height: 0.06, waves: 4),
        Shape(name: "coast", height: 0.03, waves: 2), Shape(name: "peaks", height: 0.16, waves: 11),
        Shape(name: "valley", height: 0.13, waves: 5),
    ]

    public init(number: Int) {
        self.number = number
        tint = Self.tints[Self.index(number, salt: 1, below: Self.tints.count)]
        shape = Self.shapes[Self.index(number, salt: 2, below: Self.shapes.count)]
    }

    /// Such as "Amber coast 17".
    public var title: String { "\(tint.name) \(shape.name) \(number)" }

    /// Draws the picture at any size; nil if that isn't the size of an image.
    public func image(width: Int, height: Int) -> Image? {
        Image(pixelWidth: width, pixelHeight: height, hasAlpha: false) { bytes in
            let canvas = Canvas(width: width, height: height, pixels: bytes.bindMemory(to: UInt32.self))
            drawSky(on: canvas)
            drawHills(on: canvas)
        }
    }

    private struct Canvas {
        let width, height: Int
        let pixels: UnsafeMutableBufferPointer<UInt32>
    }

    private func drawSky(on canvas: Canvas) {
        for y in 0..<canvas.height {
            // Few bands, as on a poster.
            let part = Double(y * 12 / canvas.height) / 11
            canvas.pixels[y * canvas.width..<(y + 1) * canvas.width].update(
                repeating: Self.mixed(tint.sky, tint.horizon, part))
        }
        let radius = Double(canvas.width) * (0.05 + 0.05 * value(salt: 3))
        let x = Double(canvas.width) * (0.15 + 0.7 * value(salt: 4))
        let y = Double(canvas.height) * (0.15 + 0.35 * value(salt: 5))
        let light = Self.mixed((255, 255, 255), tint.horizon, 0.25)
        for row in max(0, Int(y - radius))..<min(canvas.height, Int(y + radius) + 1) {
            let distance = Double(row) - y
            let half = (max(0, radius * radius - distance * distance)).squareRoot()
            for column in max(0, Int(x - half))..<min(canvas.width, Int(x + half) + 1) {
                canvas.pixels[row * canvas.width + column] = light
            }
        }
    }

    private func drawHills(on canvas: Canvas) {
        for row in 1...3 {
            let colour = Self.mixed(tint.horizon, tint.hill, Double(row) / 3)
            let base = 0.42 + 0.15 * Double(row)
            let (first, second) = (6.3 * value(salt: row * 10), 6.3 * value(salt: row * 10 + 1))
            for column in 0..<canvas.width {
                let x = Double(column) / Double(canvas.width)
                let wave = sin(x * shape.waves + first) + 0.4 * sin(x * shape.waves * 2.7 + second)
                let top = Int(Double(canvas.height) * (base + shape.height * wave / Double(row).squareRoot()))
                for y in stride(from: max(0, top), to: canvas.height, by: 1) {
                    canvas.pixels[y * canvas.width + column] = colour
                }
            }
        }
    }

    /// From 0 to 1, the same for the same number.
    private func value(salt: Int) -> Double {
        Double(Self.mixed(number, salt) >> 11) / Double(1 << 53)
    }

    private static func index(_ number: Int, salt: Int, below count: Int) -> Int {
        Int(mixed(number, salt) % UInt64(count))
    }

    /// SplitMix64.
    private static func mixed(_ number: Int, _ salt: Int) -> UInt64 {
        var bits = UInt64(truncatingIfNeeded: number &* 64 &+ salt) &* 0x9E37_79B9_7F4A_7C15
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        return bits ^ (bits >> 31)
    }

    private static func mixed(
        _ from: (Double, Double, Double), _ to: (Double, Double, Double), _ part: Double
    ) -> UInt32 {
        func channel(_ from: Double, _ to: Double) -> UInt32 { UInt32(from + (to - from) * part) }
        return
            (channel(from.0, to.0) | channel(from.1, to.1) << 8 | channel(from.2, to.2) << 16 | 255 << 24).littleEndian
    }
}
