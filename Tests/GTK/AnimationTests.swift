#if GTK
    import AFTestServer
    import CGTKBinding
    import FoundationEssentials
    import SwiftAF
    import SwiftAFGTK
    import SwiftAFImage

    extension Pictures {
        /// A red and a green pixel. Without a number of repetitions they are shown once, with 0 without end.
        private static func gif(repetitions: UInt8?, centiseconds: UInt8) -> Data {
            var bytes = Array("GIF89a".utf8) + [1, 0, 1, 0, 0x80, 0, 0, 255, 0, 0, 0, 255, 0]
            if let repetitions {
                bytes += [0x21, 0xFF, 11] + Array("NETSCAPE2.0".utf8) + [3, 1, repetitions, 0, 0]
            }
            for pixel: UInt8 in [0x44, 0x4C] {
                bytes += [0x21, 0xF9, 4, 0, centiseconds, 0, 0, 0]
                bytes += [0x2C, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, pixel, 1, 0]
            }
            return Data(bytes + [0x3B])
        }

        /// The URL of an animation.
        fileprivate func animation(repetitions: UInt8? = 0, centiseconds: UInt8 = 5) -> String {
            let name = "animation-\(repetitions.map { "\($0)" } ?? "once")-\(centiseconds)"
            server.route(
                "/\(name)",
                .respond(
                    headers: ["Content-Type": "image/gif"],
                    body: Self.gif(repetitions: repetitions, centiseconds: centiseconds)))
            return url(name)
        }
    }

    /// How often a picture has shown another image.
    @MainActor
    private final class Changes {
        private(set) var count = 0

        init(of picture: OpaquePointer) {
            cgtk_connect_item(
                UnsafeMutableRawPointer(picture), "notify::paintable",
                { _, _, changes in
                    guard let changes else { return }
                    let object = Unmanaged<Changes>.fromOpaque(changes).takeUnretainedValue()
                    MainActor.assumeIsolated { object.count += 1 }
                }, Unmanaged.passUnretained(self).toOpaque())
        }

        /// Says whether there are none for a few durations of a frame; what plays has changed by then, as its timer is
        /// due before the one here.
        func haveEnded() async -> Bool {
            let before = count
            await Harness.pause(milliseconds: 300)
            return count == before
        }
    }

    /// Calls a closure each time when a property of a widget has changed, as a handler of a program does.
    @MainActor
    final class PropertyHandler {
        private let body: @MainActor () -> Void

        init(_ property: String, of widget: OpaquePointer, _ body: @escaping @MainActor () -> Void) {
            self.body = body
            // Held for ever, as the widget may change at its end.
            cgtk_connect_item(
                UnsafeMutableRawPointer(widget), "notify::\(property)",
                { _, _, handler in
                    guard let handler else { return }
                    let object = Unmanaged<PropertyHandler>.fromOpaque(handler).takeUnretainedValue()
                    MainActor.assumeIsolated { object.body() }
                }, Unmanaged.passRetained(self).toOpaque())
        }
    }

    /// Two frames that are shown in turn.
    @MainActor
    private func flicker() throws -> Image {
        let frames = [Colour.red, .green].map { ImageFrame(image: $0.image(), duration: .milliseconds(30)) }
        guard let image = Image(ImageAnimation(frames)) else { throw Failure(description: "no animation") }
        return image
    }

    @MainActor let animationTests = [
        TestCase("an image that a handler shows at the first frame of an animation stays") {
            let (widget, view) = try Pictures().picture()
            let window = try await Window(widget)
            var changes = 0
            _ = PropertyHandler("paintable", of: widget) { [weak view] in
                changes += 1
                if changes == 1 { view?.show(Colour.blue.image(), in: .image) }
            }
            view.show(try flicker(), in: .image)
            try await window.wait(for: .blue)
            await Harness.pause(milliseconds: 300)
            Harness.expect(changes, is: 2)
            window.close()
        },
        TestCase("a handler may destroy a picture at the first frame of an animation") {
            let (widget, _) = try Pictures().picture()
            let window = try await Window(widget)
            var changes = 0
            _ = PropertyHandler("paintable", of: widget) {
                changes += 1
                if changes == 1 { window.close() }
            }
            GTKPicture.of(widget).show(try flicker(), in: .image)
            await Harness.pause(milliseconds: 300)
            Harness.expect(changes, is: 1)
        },
        TestCase("a handler may destroy a button when it gets its images") {
            let button: OpaquePointer = gtk_button_new()
            let window = try await Window(button)
            var isClosed = false
            _ = PropertyHandler("child", of: button) {
                if !isClosed {
                    isClosed = true
                    window.close()
                }
            }
            GTKButton.of(button).show(try flicker(), in: .background)
            Harness.expect(isClosed)
            await Harness.pause(milliseconds: 300)
        },
        TestCase("an animation that setImage requests plays, from the server and from the cache") {
            let pictures = try Pictures()
            let (widget, view) = pictures.picture()
            let window = try await Window(widget)
            let url = pictures.animation()
            view.setImage(with: url)
            for colour in [Colour.red, .green, .red, .green] { try await window.wait(for: colour) }
            view.setImage(with: url, fittingWidth: 100, height: 100)
            for colour in [Colour.red, .green] { try await window.wait(for: colour) }
            Harness.expect(pictures.server.requests.count, is: 2)
            view.setImage(with: url)
            for colour in [Colour.red, .green] { try await window.wait(for: colour) }
            Harness.expect(pictures.server.requests.count, is: 2)
            window.close()
        },
        TestCase("an animation plays in an image and in a button") {
            let pictures = try Pictures()
            let image: OpaquePointer = gtk_image_new(), button: OpaquePointer = gtk_button_new()
            gtk_image_set_pixel_size(image, 100)
            for view in [GTKImage.of(image), GTKButton.of(button)] as [any ImageDisplaying] {
                view.imageLoads.downloader = pictures.downloader
            }
            var window = try await Window(image)
            GTKImage.of(image).setImage(with: pictures.animation())
            for colour in [Colour.red, .green, .red] { try await window.wait(for: colour) }
            window.close()
            window = try await Window(button)
            GTKButton.of(button).setBackgroundImage(with: pictures.animation(), for: .normal)
            for colour in [Colour.red, .green, .red] { try await window.wait(for: colour) }
            GTKButton.of(button).setBackgroundImage(with: pictures.url("blue"), for: .normal)
            try await window.wait(for: .blue)
            window.close()
        },
        TestCase("another image ends an animation") {
            let pictures = try Pictures()
            let (widget, view) = pictures.picture()
            let window = try await Window(widget)
            let changes = Changes(of: widget)
            view.setImage(with: pictures.animation())
            try await window.wait(for: .green)
            view.setImage(with: pictures.url("blue"))
            try await window.wait(for: .blue)
            let hasEnded = await changes.haveEnded()
            Harness.expect(hasEnded, "the animation goes on")
            view.setImage(with: pictures.animation())
            try await window.wait(for: .green)
            view.setImage(with: nil, placeholderImage: Colour.blue.image())
            try await window.wait(for: .blue)
            window.close()
        },
        TestCase("an animation is repeated as often as its file says, and its last frame stays") {
            let pictures = try Pictures()
            for repetitions: UInt8? in [nil, 1] {
                let (widget, view) = pictures.picture()
                let window = try await Window(widget)
                let changes = Changes(of: widget)
                view.setImage(with: pictures.animation(repetitions: repetitions, centiseconds: 2))
                try await Harness.until("all frames were shown") { changes.count >= (repetitions == nil ? 2 : 4) }
                let hasEnded = await changes.haveEnded()
                Harness.expect(hasEnded, "the animation goes on")
                Harness.expect(changes.count, is: repetitions == nil ? 2 : 4)
                try await window.wait(for: .green)
                window.close()
            }
        },
        TestCase("an animation rests while it is hidden, and goes on where it was") {
            let (widget, view) = try Pictures().picture()
            let window = try await Window(widget)
            let changes = Changes(of: widget)
            let frames = [Colour.red, .green].map { ImageFrame(image: $0.image(), duration: .milliseconds(30)) }
            view.play(frames)
            for colour in [Colour.red, .green, .red] { try await window.wait(for: colour) }
            gtk_widget_set_visible(widget, 0)
            let hasEnded = await changes.haveEnded()
            Harness.expect(hasEnded, "it went on while it was hidden")
            gtk_widget_set_visible(widget, 1)
            for colour in [Colour.green, .red] { try await window.wait(for: colour) }
            view.show(Colour.blue.image(), in: .image)
            try await window.wait(for: .blue)
            window.close()
        },
        TestCase("a widget that is destroyed while its animation plays leaves nothing behind") {
            let pictures = try Pictures()
            weak var view: GTKPicture?
            do {
                let (widget, made) = pictures.picture()
                view = made
                let window = try await Window(widget)
                made.setImage(with: pictures.animation())
                try await window.wait(for: .green)
                window.close()
            }
            try await Harness.until("its object has gone") { view == nil }
        },
        TestCase("without animations in GTK's settings, the first frame is shown") {
            let pictures = try Pictures()
            let (widget, view) = pictures.picture()
            let window = try await Window(widget)
            let changes = Changes(of: widget)
            cgtk_enable_animations(0)
            defer { cgtk_enable_animations(1) }
            view.setImage(with: pictures.animation())
            try await window.wait(for: .red)
            var hasEnded = await changes.haveEnded()
            Harness.expect(hasEnded, "it plays")
            try await window.wait(for: .red)
            cgtk_enable_animations(1)
            for colour in [Colour.green, .red] { try await window.wait(for: colour) }
            cgtk_enable_animations(0)
            // The timer that runs finds the setting.
            _ = await changes.haveEnded()
            hasEnded = await changes.haveEnded()
            Harness.expect(hasEnded, "it goes on")
            gtk_widget_set_visible(widget, 0)
            cgtk_enable_animations(1)
            gtk_widget_set_visible(widget, 1)
            for colour in [Colour.green, .red] { try await window.wait(for: colour) }
            window.close()
            // The settings hold nothing of a widget that is gone.
            cgtk_enable_animations(0)
        },
    ]
#endif
