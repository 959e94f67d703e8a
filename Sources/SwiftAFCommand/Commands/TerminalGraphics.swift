import FoundationEssentials
import SwiftAFImage

/// Renders images as bytes for a terminal, without side effects.
enum TerminalGraphics: Sendable, Equatable {
    /// The kitty graphics protocol, which transmits pixels.
    case kitty
    /// Two pixels per character cell, in 24-bit colours.
    case halfBlocks

    /// Detects the capabilities of the terminal from the environment. Terminal multiplexers support less than the
    /// terminal.
    init(environment: [String: String], isTerminal: Bool) {
        let type = environment["TERM"] ?? ""
        let isNested = environment["TMUX"] != nil || type.hasPrefix("screen") || type.hasPrefix("tmux")
        let isKitty =
            environment["KITTY_WINDOW_ID"] != nil || ["xterm-kitty", "xterm-ghostty"].contains(type)
            || ["ghostty", "WezTerm"].contains(environment["TERM_PROGRAM"])
        self = isTerminal && isKitty && !isNested ? .kitty : .halfBlocks
    }

    /// Returns the maximum size in pixels: as wide as the terminal, and not so tall that the top scrolls far away. The
    /// width of a cell in pixels is unknown. Eight is assumed, because few cells are narrower.
    func room(columns: Int) -> (width: Int, height: Int) {
        let columns = max(1, min(columns, 1000))
        return switch self {
        case .kitty: (columns * 8, columns * 16)
        case .halfBlocks: (columns, columns * 2)
        }
    }

    func text(of image: Image) -> Data {
        switch self {
        case .kitty: Self.kittyText(of: image)
        case .halfBlocks: Self.blocks(of: image)
        }
    }

    // MARK: kitty

    /// The maximum length of the Base64 in one escape sequence, set by the protocol.
    private static let chunk = 4096

    private static func kittyText(of image: Image) -> Data {
        let pixels = image.withPixels { Data($0) }.base64EncodedData()
        var text = Data()
        var at = 0
        while at < pixels.count {
            let end = min(pixels.count, at + chunk)
            // Transmit and show RGBA (a=T, f=32), and suppress the terminal's response (q=2), which isn't read.
            let first = at == 0 ? "a=T,f=32,q=2,s=\(image.pixelWidth),v=\(image.pixelHeight)," : ""
            text += "\u{1B}_G\(first)m=\(end < pixels.count ? 1 : 0);".utf8
            text += pixels[at..<end]
            text += "\u{1B}\\".utf8
            at = end
        }
        return text + "\n".utf8
    }

    // MARK: Half blocks

    private struct Colour: Equatable {
        let red, green, blue: UInt8

        /// Nil if the pixel is mostly transparent.
        init?(_ pixels: UnsafeRawBufferPointer, at offset: Int) {
            guard offset + 3 < pixels.count, pixels[offset + 3] >= 128 else { return nil }
            (red, green, blue) = (pixels[offset], pixels[offset + 1], pixels[offset + 2])
        }

        var code: String { "2;\(red);\(green);\(blue)" }
    }

    private static func blocks(of image: Image) -> Data {
        image.withPixels { pixels in
            var text = ""
            for row in stride(from: 0, to: image.pixelHeight, by: 2) {
                var line = BlockLine()
                for column in 0..<image.pixelWidth {
                    let at = row * image.bytesPerRow + column * Image.bytesPerPixel
                    line.add(Colour(pixels, at: at), Colour(pixels, at: at + image.bytesPerRow))
                }
                text += line.ended
            }
            return Data(text.utf8)
        }
    }

    /// One line of cells. Colours are written only where they change.
    private struct BlockLine {
        private var text = ""
        private var front: Colour?
        private var back: Colour?

        mutating func add(_ top: Colour?, _ bottom: Colour?) {
            switch (top, bottom) {
            case (nil, nil): put(" ", front, nil)
            case (nil, let bottom?): put("\u{2584}", bottom, nil)
            case (let top?, let bottom): put("\u{2580}", top, bottom)
            }
        }

        private mutating func put(_ sign: Character, _ front: Colour?, _ back: Colour?) {
            if let front, front != self.front { text += "\u{1B}[38;\(front.code)m" }
            if back != self.back { text += back.map { "\u{1B}[48;\($0.code)m" } ?? "\u{1B}[49m" }
            (self.front, self.back) = (front, back)
            text.append(sign)
        }

        var ended: String { text + (front == nil && back == nil ? "\n" : "\u{1B}[0m\n") }
    }
}
