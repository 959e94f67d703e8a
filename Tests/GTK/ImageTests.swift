#if GTK
    import AFTestServer
    import CGTKBinding
    import FoundationEssentials
    import SwiftAF
    import SwiftAFGTK
    import SwiftAFImage

    /// A server with pictures, and a downloader that knows none of them yet.
    @MainActor
    struct Pictures {
        let server: TestServer
        let downloader = ImageDownloader()

        init() throws {
            server = try TestServer()
            for (name, colour) in [("red", Colour.red), ("green", .green), ("blue", .blue)] {
                server.route("/\(name)", Self.answer(try colour.image().data(as: .png)))
            }
            server.route("/slow", [.stall(at: "slow"), Self.answer(try Colour.red.image().data(as: .png))])
            server.route("/missing", .status(404))
        }

        static func answer(_ file: Data) -> Script {
            .respond(headers: ["Content-Type": "image/png"], body: file)
        }

        func url(_ name: String) -> String { server.urlString("/\(name)") }

        func picture() -> (widget: OpaquePointer, view: GTKPicture) {
            let widget: OpaquePointer = gtk_picture_new()
            let view = GTKPicture.of(widget)
            view.imageLoads.downloader = downloader
            return (widget, view)
        }
    }

    /// AFUIImageViewTests and AFUIButtonTests of AFNetworking, and more.
    @MainActor let imageTests =
        [
            // MARK: AFUIImageViewTests
            TestCase("testThatImageCanBeDownloadedFromURL: a picture shows the image of a URL") {
                let pictures = try Pictures()
                let (widget, view) = pictures.picture()
                let window = try await Window(widget)
                view.setImage(with: pictures.url("red"))
                try await window.wait(for: .red)
                window.close()
            },
            TestCase(
                "testThatImageDownloadSucceedsWhenDuplicateRequestIsSentToImageView: asked twice, shown, loaded once"
            ) {
                let pictures = try Pictures()
                let (widget, view) = pictures.picture()
                let window = try await Window(widget)
                view.setImage(with: pictures.url("red"))
                view.setImage(with: pictures.url("red"))
                try await window.wait(for: .red)
                Harness.expect(pictures.server.requests.count, is: 1)
                window.close()
            },
            TestCase("testThatPlaceholderImageIsSetIfRequestFails: the placeholder stays after a 404") {
                let pictures = try Pictures()
                let (widget, view) = pictures.picture()
                let window = try await Window(widget)
                var failed = false
                view.setImage(
                    with: HTTPRequest(imageAt: pictures.url("missing")), placeholderImage: Colour.blue.image(),
                    failure: { _, _, _ in failed = true })
                try await Harness.until("it failed") { failed }
                try await window.wait(for: .blue)
                window.close()
            },
            TestCase("testResponseIsNilWhenLoadedFromCache: a cached image is there at once, without a response") {
                let pictures = try Pictures()
                let loaded = try await pictures.downloader.image(for: HTTPRequest(imageAt: pictures.url("red")))
                let (widget, view) = pictures.picture()
                var cached: (response: HTTPResponse?, image: Image)?
                view.setImage(
                    with: HTTPRequest(imageAt: pictures.url("red")), success: { cached = ($1, $2) })
                Harness.expect(cached != nil && cached?.response == nil)
                Harness.expect(cached?.image.isIdentical(to: loaded.image) == true)
                g_object_unref(g_object_ref_sink(UnsafeMutableRawPointer(widget)))
            },
            TestCase("testThatImageCanBeCancelledAndDownloadedImmediately: cancelled, then asked again, shown") {
                let pictures = try Pictures()
                let (widget, view) = pictures.picture()
                let window = try await Window(widget)
                view.setImage(with: pictures.url("red"))
                view.cancelImageDownloadTask()
                view.setImage(with: pictures.url("red"))
                try await window.wait(for: .red)
                window.close()
            },
            TestCase(
                "testThatImageDownloadFailsWhenUsingMalformedURLRequest: without a URL the placeholder, and an error"
            ) {
                let pictures = try Pictures()
                let (widget, view) = pictures.picture()
                let window = try await Window(widget)
                var code: SessionError.Code?
                view.setImage(
                    with: HTTPRequest(""), placeholderImage: Colour.green.image(),
                    failure: { _, response, error in code = response == nil ? error.code : nil })
                Harness.expect(code, is: .invalidInput)
                try await window.wait(for: .green)
                window.close()
            },
            TestCase("testThatNilURLDoesntCrash: a URL of nil clears nothing and loads nothing") {
                let pictures = try Pictures()
                let (widget, view) = pictures.picture()
                view.setImage(with: nil)
                view.setImage(with: nil, placeholderImage: Colour.red.image())
                Harness.expect(gtk_picture_get_paintable(widget) != nil)
                Harness.expect(pictures.server.requests.isEmpty)
                g_object_unref(g_object_ref_sink(UnsafeMutableRawPointer(widget)))
            },

            // MARK: AFUIButtonTests
            TestCase("testThatBackgroundImageChanges: a button shows a background") {
                let pictures = try Pictures()
                let button: OpaquePointer = gtk_button_new()
                let view = GTKButton.of(button)
                view.imageLoads.downloader = pictures.downloader
                let window = try await Window(button)
                view.setBackgroundImage(with: pictures.url("green"), for: .normal)
                try await window.wait(for: .green)
                window.close()
            },
            TestCase("testThatForegroundImageCanBeCancelledAndDownloadedImmediately: cancelled, asked again, shown") {
                let pictures = try Pictures()
                let button: OpaquePointer = gtk_button_new()
                let view = GTKButton.of(button)
                view.imageLoads.downloader = pictures.downloader
                let window = try await Window(button)
                view.setImage(with: pictures.url("red"), for: .normal)
                view.cancelImageDownloadTask(for: .normal)
                view.setImage(with: pictures.url("red"), for: .normal)
                // In front, at the left.
                try await window.wait(for: .red, x: 0.2)
                window.close()
            },
            TestCase("testThatBackgroundImageCanBeCancelledAndDownloadedImmediately: the same for the background") {
                let pictures = try Pictures()
                let button: OpaquePointer = gtk_button_new()
                let view = GTKButton.of(button)
                view.imageLoads.downloader = pictures.downloader
                let window = try await Window(button)
                view.setBackgroundImage(with: pictures.url("red"), for: .normal)
                view.cancelBackgroundImageDownloadTask(for: .normal)
                view.setBackgroundImage(with: pictures.url("red"), for: .normal)
                try await window.wait(for: .red)
                window.close()
            },

            TestCase("a button shows the images of requests and calls their closures") {
                let pictures = try Pictures()
                let button: OpaquePointer = gtk_button_new()
                let view = GTKButton.of(button)
                view.imageLoads.downloader = pictures.downloader
                let window = try await Window(button)
                var calls: [String] = []
                view.setBackgroundImage(with: URL(string: pictures.url("red")), for: .normal)
                try await window.wait(for: .red)
                view.setBackgroundImage(
                    with: HTTPRequest(pictures.url("green")), for: .normal,
                    success: { _, response, image in
                        calls.append("success \(response?.status ?? 0)")
                        view.show(image, in: .background)
                    })
                try await window.wait(for: .green)
                view.setImage(
                    with: HTTPRequest("http://127.0.0.1:1/"), for: .normal, placeholderImage: Colour.red.image(),
                    failure: { _, _, error in calls.append("\(error.code)") })
                try await window.wait(for: .red, x: 0.2)
                try await Harness.until("the request fails") { calls.count == 2 }
                view.setImage(with: URL(string: pictures.url("blue")), for: .normal)
                try await window.wait(for: .blue, x: 0.2)
                Harness.expect(calls, is: ["success 200", "connect"])
                window.close()
            },

            // MARK: More
            TestCase("a button shows the background of its state, else that of the normal one") {
                let pictures = try Pictures()
                let button: OpaquePointer = gtk_toggle_button_new()
                let view = GTKButton.of(button)
                view.imageLoads.downloader = pictures.downloader
                let window = try await Window(button)
                view.setBackgroundImage(with: pictures.url("red"), for: .normal)
                view.setBackgroundImage(with: pictures.url("green"), for: .selected)
                view.setBackgroundImage(with: pictures.url("blue"), for: .highlighted)
                try await window.wait(for: .red)
                gtk_toggle_button_set_active(button, 1)
                try await window.wait(for: .green)
                gtk_widget_set_state_flags(button, 1, 0)
                try await window.wait(for: .blue)
                gtk_widget_unset_state_flags(button, 1)
                gtk_toggle_button_set_active(button, 0)
                try await window.wait(for: .red)
                window.close()
            },
            TestCase("a GtkImage shows the image of a URL") {
                let pictures = try Pictures()
                let widget: OpaquePointer = gtk_image_new()
                let view = GTKImage.of(widget)
                view.imageLoads.downloader = pictures.downloader
                let window = try await Window(widget)
                view.setImage(with: pictures.url("blue"))
                try await window.wait(for: .blue)
                window.close()
            },
            TestCase("a widget has one object of each class, by any form of its pointer") {
                let widget: OpaquePointer = gtk_picture_new()
                g_object_ref_sink(UnsafeMutableRawPointer(widget))
                let view = GTKPicture.of(widget)
                Harness.expect(GTKPicture.of(UnsafeMutableRawPointer(widget)) === view)
                Harness.expect(GTKPicture.of(UnsafeMutablePointer<CInt>(widget)) === view)
                Harness.expect(view.widget, is: widget)
                g_object_unref(UnsafeMutableRawPointer(widget))
                Harness.expect(view.widget, is: nil)
                view.setImage(with: "http://127.0.0.1:1/")
                view.show(Colour.red.image(), in: .image)
                Harness.expect(view.scaleFactor, is: 1)
            },
            TestCase("the base class has the object that shows images in the widget") {
                let picture: OpaquePointer = gtk_picture_new(), image: OpaquePointer = gtk_image_new()
                let buttons: [OpaquePointer] = [gtk_button_new(), gtk_toggle_button_new()]
                for widget in [picture, image] + buttons { g_object_ref_sink(UnsafeMutableRawPointer(widget)) }
                Harness.expect(GTKImageView.of(picture) === GTKPicture.of(picture))
                Harness.expect(GTKImageView.of(UnsafeMutableRawPointer(image)) === GTKImage.of(image))
                for button in buttons { Harness.expect(GTKImageView.of(button) === GTKButton.of(button)) }
                Harness.expect(GTKView.of(picture) !== GTKPicture.of(picture))
                for widget in [picture, image] + buttons { g_object_unref(UnsafeMutableRawPointer(widget)) }
            },
            TestCase("a destroyed widget is forgotten, even if it is still held") {
                let (widget, view) = try Pictures().picture()
                g_object_ref_sink(UnsafeMutableRawPointer(widget))
                Harness.expect(view.widget, is: widget)
                g_object_run_dispose(widget)
                Harness.expect(view.widget, is: nil)
                Harness.expect(view.scaleFactor, is: 1)
                view.show(Colour.red.image(), in: .image)
                Harness.expect(gtk_picture_get_paintable(widget) == nil)
                g_object_unref(UnsafeMutableRawPointer(widget))
            },
            TestCase("a widget that is destroyed while it loads cancels its download, and leaves nothing behind") {
                let pictures = try Pictures()
                weak var view: GTKPicture?
                do {
                    let (widget, made) = pictures.picture()
                    view = made
                    g_object_ref_sink(UnsafeMutableRawPointer(widget))
                    made.setImage(with: pictures.url("slow"))
                    let stalled = await pictures.server.wait(for: .stalled(at: "slow"))
                    Harness.expect(stalled)
                    g_object_unref(UnsafeMutableRawPointer(widget))
                }
                Harness.expect(view == nil, "the object outlives its widget")
                // A connection whose download goes on would stay open.
                pictures.server.open("slow")
                let closed = await pictures.server.wait(for: .closes(1))
                Harness.expect(closed)
            },
            TestCase("a picture shows the image of its last request, whichever arrives last") {
                let pictures = try Pictures()
                let (widget, view) = pictures.picture()
                let window = try await Window(widget)
                view.setImage(with: pictures.url("slow"))
                _ = await pictures.server.wait(for: .stalled(at: "slow"))
                view.setImage(with: pictures.url("green"))
                try await window.wait(for: .green)
                pictures.server.open("slow")
                // It would have arrived before this one.
                view.setImage(with: pictures.url("blue"))
                try await window.wait(for: .blue)
                window.close()
            },
            TestCase("an image of two pixels a unit has half the size, and all its pixels") {
                let (widget, view) = try Pictures().picture()
                view.show(Colour.red.image(64, 32, scale: 2), in: .image)
                Harness.expect(gdk_paintable_get_intrinsic_width(gtk_picture_get_paintable(widget)), is: 32)
                view.show(Colour.red.image(64, 32), in: .image)
                Harness.expect(gdk_paintable_get_intrinsic_width(gtk_picture_get_paintable(widget)), is: 64)
                view.show(nil, in: .image)
                Harness.expect(gtk_picture_get_paintable(widget) == nil)
                g_object_unref(g_object_ref_sink(UnsafeMutableRawPointer(widget)))
            },
            TestCase("an image that is scaled down to all the pixels of its place can be prefetched") {
                let pictures = try Pictures()
                let (widget, view) = pictures.picture()
                let window = try await Window(widget)
                let request = HTTPRequest(imageAt: pictures.url("red"))
                let processors = view.processors(fittingWidth: 16, height: 16)
                _ = pictures.downloader.prefetch([request], processors: processors)
                try await Harness.until("it is there") {
                    pictures.downloader.counts == (0, 0) && pictures.server.requests.count == 1
                }
                view.setImage(with: pictures.url("red"), fittingWidth: 16, height: 16)
                Harness.expect(gdk_paintable_get_intrinsic_width(gtk_picture_get_paintable(widget)), is: 16)
                Harness.expect(pictures.server.requests.count, is: 1)
                window.close()
            },
            TestCase("a button that got another child shows its images beside that one again") {
                let button: OpaquePointer = gtk_button_new()
                let window = try await Window(button)
                let view = GTKButton.of(button)
                view.show(Colour.red.image(), in: .background)
                try await window.wait(for: .red, y: 0.1)
                gtk_button_set_label(button, "label")
                view.show(Colour.green.image(), in: .background(.highlighted))
                try await window.wait(for: .red, y: 0.1)
                gtk_button_set_child(button, nil)
                view.show(Colour.blue.image(), in: .background)
                try await window.wait(for: .blue, y: 0.1)
                window.close()
            },
            TestCase("an image that is scaled down in one direction only has all the pixels of its place") {
                let pictures = try Pictures()
                let (widget, view) = pictures.picture()
                let window = try await Window(widget)
                view.setImage(with: pictures.url("red"), fittingWidth: 16, height: .max)
                try await window.wait(for: .red)
                Harness.expect(gdk_paintable_get_intrinsic_width(gtk_picture_get_paintable(widget)), is: 16)
                window.close()
            },
            TestCase("a widget that was destroyed requests no image, and calls nothing") {
                let pictures = try Pictures()
                let button: OpaquePointer = gtk_button_new(), image: OpaquePointer = gtk_image_new()
                let (picture, _) = pictures.picture()
                let views: [any ImageDisplaying] = [GTKPicture.of(picture), GTKButton.of(button), GTKImage.of(image)]
                for widget in [picture, button, image] {
                    g_object_unref(g_object_ref_sink(UnsafeMutableRawPointer(widget)))
                }
                var calls = 0
                for view in views {
                    view.imageLoads.downloader = pictures.downloader
                    for url in ["", pictures.url("red")] {
                        view.setImage(
                            for: HTTPRequest(imageAt: url), success: { _, _, _ in calls += 1 },
                            failure: { _, _, _ in calls += 1 })
                    }
                    Harness.expect(pictures.downloader.counts == (0, 0))
                }
                // It would arrive behind them.
                _ = try await pictures.downloader.image(for: pictures.url("blue"))
                Harness.expect(pictures.server.requests.count, is: 1)
                Harness.expect(calls, is: 0)
            },
            TestCase("an image is scaled down to the size that it is shown at") {
                let pictures = try Pictures()
                let (widget, view) = pictures.picture()
                let window = try await Window(widget)
                view.setImage(with: pictures.url("red"), fittingWidth: 16, height: 16)
                try await window.wait(for: .red)
                Harness.expect(gdk_paintable_get_intrinsic_width(gtk_picture_get_paintable(widget)), is: 16)
                window.close()
            },
        ]
#endif
