#if WebKit
    import CGTK
    import SwiftAF
    import SwiftAFWebKit

    /// A page of the server, in WebKit.
    @MainActor
    final class AboutPage {
        let root: OpaquePointer

        init(_ library: Library) {
            root = gtk_box_new(Orientation.vertical, 0)
            self.library = library
        }

        private let library: Library
        private var webView: OpaquePointer?

        /// The page's title, when it is there.
        var title: String? { webView.flatMap { webkit_web_view_get_title($0) }.map { String(cString: $0) } }

        /// Makes the web view at the first call: its processes are large.
        func show(onFailure: @escaping @MainActor @Sendable () -> Void) {
            if webView == nil, let made = webkit_web_view_new() {
                gtk_widget_set_vexpand(made, 1)
                gtk_box_append(root, made)
                webView = made
            }
            guard let webView else { return }
            let view = WebKitView.of(webView)
            view.webContentLoads.manager = library.manager
            view.load(
                HTTPRequest("about"),
                failure: { error in
                    // Another load, or none, has taken its place.
                    if error.code != .cancelled { onFailure() }
                })
        }
    }
#endif
