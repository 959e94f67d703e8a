#if GTK
    import AFTestServer
    import CGTKBinding
    import FoundationEssentials
    import SwiftAF
    import SwiftAFGTK
    import SwiftAFImage

    /// Red at the top, green at the bottom, and noise between them, so that its file is large.
    @MainActor
    private func noisyImage() -> Image {
        let width = 128, height = 256
        var random = SystemRandomNumberGenerator()
        let made = Image(pixelWidth: width, pixelHeight: height, hasAlpha: false) { pixels in
            for at in 0..<width * height {
                let row = at / width
                let noise = UInt32.random(in: 0...0xFF_FFFF, using: &random)
                let colour: UInt32 = row < 64 ? 0x0000FF : row < 192 ? noise : 0x00FF00
                pixels.storeBytes(of: (colour | 0xFF00_0000).littleEndian, toByteOffset: at * 4, as: UInt32.self)
            }
        }
        return made ?? Colour.blue.image()
    }

    /// Pairs of columns, alternately red and green: half the width is enough for all of them, a quarter mixes them.
    @MainActor
    private func stripedImage() -> Image {
        let made = Image(pixelWidth: 64, pixelHeight: 64, hasAlpha: false) { pixels in
            for at in 0..<64 * 64 {
                let colour: UInt32 = at % 64 / 2 % 2 == 0 ? 0xFF00_00FF : 0xFF00_FF00
                pixels.storeBytes(of: colour.littleEndian, toByteOffset: at * 4, as: UInt32.self)
            }
        }
        return made ?? Colour.blue.image()
    }

    @MainActor let previewTests = [
        TestCase("a preview shows the top of an image before the rest has arrived") {
            let pictures = try Pictures()
            let file = try noisyImage().data(as: .png)
            let half = file.count / 2
            pictures.server.route(
                "/large",
                [
                    .send("HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: \(file.count)\r\n\r\n"),
                    .send(file.prefix(half)), .stall(at: "rest"), .send(Data(file.suffix(from: half))),
                ])
            let (widget, view) = pictures.picture()
            let window = try await Window(widget)
            view.setImage(for: HTTPRequest(imageAt: pictures.url("large")), showsPartialImages: true)
            try await window.wait(for: .red, y: 0.1)
            Harness.expect(window.pixel(0.5, 0.9) != .green, "the bottom is there before it was sent")
            pictures.server.open("rest")
            try await window.wait(for: .green, y: 0.9)
            try await window.wait(for: .red, y: 0.1)
            window.close()
        },
        // Run again with GDK_SCALE=2 and --scale 2.
        TestCase("an image that fits a size has all the pixels that the screen has there") {
            let pictures = try Pictures()
            pictures.server.route("/striped", Pictures.answer(try stripedImage().data(as: .png)))
            let (widget, view) = pictures.picture()
            let window = try await Window(widget)
            let scale = Int(option("--scale") ?? "1") ?? 1
            Harness.expect(view.scaleFactor, is: scale)
            view.setImage(with: pictures.url("striped"), fittingWidth: 16, height: 16)
            try await Harness.until("the image is there") { gtk_picture_get_paintable(widget) != nil }
            guard let paintable = gtk_picture_get_paintable(widget) else { return }
            Harness.expect(gdk_paintable_get_intrinsic_width(paintable), is: 16)
            let row = window.row(of: paintable, width: 16 * scale)
            let mixed = Colour(red: 128, green: 128, blue: 0)
            let expected = (0..<16 * scale).map { scale == 1 ? mixed : $0 % 2 == 0 ? .red : .green }
            Harness.expect(row, is: expected)
            window.close()
        },
    ]
#endif
