#if WebKit
    internal import CAFWebKit
    internal import FoundationEssentials
    public import SwiftAF
    public import SwiftAFGTK
    public import SwiftAFImage

    /// A `WebKitWebView` whose pages a session manager loads: with its headers, credentials, trust policy, cache and
    /// progress.
    ///
    /// ```swift
    /// WebKitView.of(webView).load(HTTPRequest("https://example.org/")) { progress in
    ///     print(progress.received)
    /// }
    /// ```
    ///
    /// WebKit loads what the page refers to, such as its pictures and styles, and what a click leads to, by itself.
    ///
    /// The web view holds this object, and this object doesn't hold the web view. When the web view is destroyed, its
    /// load is cancelled, and what you call after that has no effect on it.
    @MainActor
    public final class WebKitView: WebContentDisplaying, WidgetBound {
        public let webContentLoads = WebContentLoads()
        /// The web view; nil after it was destroyed.
        public private(set) var webView: OpaquePointer?

        private init(_ webView: OpaquePointer) {
            self.webView = webView
        }

        /// Returns the object of a web view; the same one at each call.
        ///
        /// - Parameter webView: A live `WebKitWebView`; another widget stops the program.
        public static func of(_ webView: OpaquePointer) -> WebKitView {
            WidgetObjects.object(of: webView, type: cafwebkit_view_type()) { WebKitView(webView) }
        }

        /// Returns the object of a web view; the same one at each call.
        public static func of<Instance>(_ webView: UnsafeMutablePointer<Instance>) -> WebKitView {
            of(OpaquePointer(webView))
        }

        /// Returns the object of a web view; the same one at each call.
        public static func of(_ webView: UnsafeMutableRawPointer) -> WebKitView {
            of(OpaquePointer(webView))
        }

        /// Loads a text and shows it: AFNetworking's name for `loadText(_:progress:success:failure:)` of SwiftAFImage.
        ///
        /// - Parameters:
        ///   - request: The request for the page.
        ///   - progress: Called with snapshots, and once at the end; not after another load has replaced this one.
        ///   - success: Returns the text to show; nil shows the body.
        ///   - failure: Called with the error. Its code is ``/SwiftAF/SessionError/Code/cancelled`` if another load
        ///     replaced this one, or it was cancelled.
        /// - Returns: The task, which is running.
        @discardableResult
        public func load(
            _ request: HTTPRequest, progress: (@MainActor @Sendable (TransferProgress) -> Void)? = nil,
            success: (@MainActor @Sendable (HTTPResponse, String) -> String)? = nil,
            failure: (@MainActor @Sendable (SessionError) -> Void)? = nil
        ) -> SessionTask {
            loadText(request, progress: progress, success: success, failure: failure)
        }

        public func show(_ content: WebContent) {
            guard let webView else { return }
            // WebKit refuses to load no bytes, and would go on showing the page before.
            let isEmpty = content.data.isEmpty
            let page = isEmpty ? Data("\n".utf8) : content.data
            let bytes = page.withUnsafeBytes { cafwebkit_bytes_copy($0.baseAddress, $0.count) }
            cafwebkit_load_bytes(
                webView, bytes, isEmpty ? "text/html" : content.mimeType, content.textEncoding, content.baseURL)
            cafwebkit_bytes_unref(bytes)
        }

        package func attach(to widget: OpaquePointer) {
            WidgetObjects.onDestroy(of: widget) { [weak self] in
                self?.cancelLoading()
                self?.webView = nil
            }
        }

        package func forgetWidget() {
            webView = nil
            cancelLoading()
        }
    }
#endif
