#if WebKit
    import AFTestServer
    import CGTKBinding
    import FoundationEssentials
    import SwiftAF
    import SwiftAFImage
    import SwiftAFWebKit

    @MainActor
    private struct Pages {
        let server: TestServer
        let webView: OpaquePointer
        let view: WebKitView
        let window: Window

        init() async throws {
            server = try TestServer()
            for name in ["one", "two"] {
                let page = "<!doctype html><title>\(name)</title><body style='background: #0f0'>\(name)</body>"
                server.route("/\(name)", .respond(headers: ["Content-Type": "text/html"], body: Data(page.utf8)))
            }
            server.route("/slow", [.stall(at: "slow"), .text("late")])
            server.route("/large", .respond(headers: ["Content-Type": "text/plain"], body: Data(count: 1 << 20)))
            server.route(
                "/latin",
                .respond(
                    headers: ["Content-Type": "text/html; charset=iso-8859-1"],
                    body: Data([UInt8]("<title>caf".utf8) + [0xE9] + [UInt8]("</title>".utf8))))
            webView = webkit_web_view_new()
            view = WebKitView.of(webView)
            window = try await Window(webView)
        }

        var title: String? { webkit_web_view_get_title(webView).map { String(cString: $0) } }
        func request(_ name: String) -> HTTPRequest { HTTPRequest(server.urlString("/\(name)")) }
    }

    /// AFWKWebViewTests of AFNetworking, and more.
    @MainActor let webTests = [
        TestCase("testNilProgressDoesNotCauseCrash: a page loads without a progress closure, at its own URL") {
            let pages = try await Pages()
            pages.view.load(pages.request("one"))
            try await Harness.until("the page is shown") { pages.title == "one" }
            Harness.expect(
                webkit_web_view_get_uri(pages.webView).map { String(cString: $0) }, is: pages.server.urlString("/one"))
            pages.window.close()
        },
        TestCase("testProgressIsSet: progress reaches the whole page") {
            let pages = try await Pages()
            var received: Int64 = 0
            pages.view.load(pages.request("large"), progress: { received = $0.received })
            try await Harness.until("all is there") { received == 1 << 20 }
            pages.window.close()
        },
        TestCase("testRequestWithCustomHeaders: header fields reach the server") {
            let pages = try await Pages()
            var request = pages.request("one")
            request.headers["Custom-Header-Field"] = "Custom-Value"
            pages.view.load(request)
            try await Harness.until("the page is shown") { pages.title == "one" }
            Harness.expect(pages.server.requests.first?["Custom-Header-Field"], is: "Custom-Value")
            pages.window.close()
        },
        TestCase("the text that success returns is shown, with the charset of the response") {
            let pages = try await Pages()
            pages.view.load(
                pages.request("latin"),
                success: { _, text in
                    text.replacing("</title>", with: " au lait</title>")
                })
            try await Harness.until("the page is shown") { pages.title == "café au lait" }
            pages.view.loadData(pages.request("latin"))
            try await Harness.until("the page is shown as it came") { pages.title == "café" }
            pages.window.close()
        },
        TestCase("another load replaces the one before, whose failure is called") {
            let pages = try await Pages()
            var codes: [SessionError.Code] = []
            pages.view.load(pages.request("slow"), failure: { codes.append($0.code) })
            pages.view.load(pages.request("two"), failure: { codes.append($0.code) })
            pages.server.open("slow")
            try await Harness.until("the page is shown") { pages.title == "two" }
            try await Harness.until("the first one has failed") { codes == [.cancelled] }
            pages.window.close()
        },
        TestCase("an empty page replaces the one before") {
            let pages = try await Pages()
            pages.server.route("/empty", .status(204))
            for load in 0..<2 {
                pages.view.load(pages.request("one"))
                try await Harness.until("the page is shown") { pages.title == "one" }
                if load == 0 {
                    pages.view.load(pages.request("empty"))
                } else {
                    pages.view.loadData(pages.request("empty"))
                }
                try await Harness.until("the empty page is shown") { (pages.title ?? "").isEmpty }
                Harness.expect(
                    webkit_web_view_get_uri(pages.webView).map { String(cString: $0) },
                    is: pages.server.urlString("/empty"))
            }
            pages.window.close()
        },
        TestCase("a destroyed web view is forgotten, even if it is still held") {
            let pages = try await Pages()
            g_object_ref_sink(UnsafeMutableRawPointer(pages.webView))
            // A held widget outlives its window.
            pages.window.close()
            Harness.expect(pages.view.webView, is: pages.webView)
            g_object_run_dispose(pages.webView)
            Harness.expect(pages.view.webView, is: nil)
            g_object_unref(UnsafeMutableRawPointer(pages.webView))
        },
        TestCase("a web view that is destroyed while it loads cancels, and leaves nothing behind") {
            var pages: Pages? = try await Pages()
            weak let view = pages?.view
            var code: SessionError.Code?
            if let pages {
                pages.view.load(pages.request("slow"), failure: { code = $0.code })
                pages.window.close()
            }
            pages = nil
            try await Harness.until("it has failed") { code == .cancelled }
            try await Harness.until("its object has gone") { view == nil }
        },
    ]
#endif
