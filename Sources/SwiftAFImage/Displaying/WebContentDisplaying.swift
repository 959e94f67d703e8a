public import FoundationEssentials
public import SwiftAF

/// The content that a web view shows.
public struct WebContent: Sendable, Hashable {
    /// The bytes of the page.
    public var data: Data
    /// The media type, such as `text/html`.
    public var mimeType: String
    /// The charset of a text; nil if the response names none.
    public var textEncoding: String?
    /// The base URL of relative links: the response's URL, after redirects.
    public var baseURL: String

    /// Creates the content of a page.
    public init(data: Data, mimeType: String, textEncoding: String? = nil, baseURL: String) {
        self.data = data
        self.mimeType = mimeType
        self.textEncoding = textEncoding
        self.baseURL = baseURL
    }
}

/// The state of a web view's loads. The view stores one and doesn't use it otherwise.
@MainActor
public final class WebContentLoads {
    /// The manager of all views that don't have their own.
    public static var sharedManager = HTTPSessionManager(responseSerializer: DataResponseSerializer())

    /// The manager of this view; nil uses ``sharedManager``. Default: nil.
    public var manager: HTTPSessionManager?

    /// The number of the current load, whose result is shown.
    fileprivate private(set) var turn: UInt64 = 0
    private var task: SessionTask?

    /// Creates the state of a view; nil uses the shared manager.
    public init(manager: HTTPSessionManager? = nil) {
        self.manager = manager
    }

    deinit {
        task?.cancel()
    }

    /// Replaces the current load; nil ends it.
    fileprivate func begin(_ task: SessionTask?) {
        self.task?.cancel()
        self.task = task
        turn += 1
    }

    /// Releases a load that has ended. Returns false if it isn't the current one.
    fileprivate func end(_ turn: UInt64) -> Bool {
        guard self.turn == turn else { return false }
        task = nil
        return true
    }
}

/// A view that shows web pages loaded by a session manager, with its headers, trust policy and progress.
@MainActor
public protocol WebContentDisplaying: AnyObject {
    /// The state of this view: a stored property, made with the view.
    var webContentLoads: WebContentLoads { get }
    /// Shows a page. Implemented by the view.
    func show(_ content: WebContent)
    /// Called when a load begins. The default does nothing.
    func navigationDidStart()
    /// Called when the content is shown. The default does nothing.
    func navigationDidFinish()
}

extension WebContentDisplaying {
    public func navigationDidStart() {}
    public func navigationDidFinish() {}

    /// Loads a text and shows it. The charset is the response's, by default UTF-8.
    ///
    /// - Parameters:
    ///   - request: The request for the page.
    ///   - progress: Called with snapshots, and once at the end; not after another load has replaced this one.
    ///   - success: Returns the text to show; nil shows the body.
    ///   - failure: Called with the error. Its code is ``/SwiftAF/SessionError/Code/cancelled`` if another load
    ///     replaced this one, or it was cancelled.
    /// - Returns: The task, which is running.
    @discardableResult
    public func loadText(
        _ request: HTTPRequest, progress: (@MainActor @Sendable (TransferProgress) -> Void)? = nil,
        success: (@MainActor @Sendable (HTTPResponse, String) -> String)? = nil,
        failure: (@MainActor @Sendable (SessionError) -> Void)? = nil
    ) -> SessionTask {
        load(request, progress, failure) { response, body in
            let answer = Response(head: response, body: body)
            let text = (try? answer.text(validation: .any)) ?? String(decoding: body, as: UTF8.self)
            return WebContent(
                data: Data((success?(response, text) ?? text).utf8),
                mimeType: response.mediaType?.essence ?? "text/html", textEncoding: "utf-8", baseURL: response.url)
        }
    }

    /// Loads content of any type and shows it.
    ///
    /// - Parameters:
    ///   - request: The request for the page.
    ///   - mimeType: The media type; nil uses the response's.
    ///   - textEncoding: The charset; nil uses the response's.
    ///   - progress: Called with snapshots, and once at the end; not after another load has replaced this one.
    ///   - success: Returns the content to show; nil shows the body.
    ///   - failure: Called with the error. Its code is ``/SwiftAF/SessionError/Code/cancelled`` if another load
    ///     replaced this one, or it was cancelled.
    @discardableResult
    public func loadData(
        _ request: HTTPRequest, mimeType: String? = nil, textEncoding: String? = nil,
        progress: (@MainActor @Sendable (TransferProgress) -> Void)? = nil,
        success: (@MainActor @Sendable (HTTPResponse, Data) -> Data)? = nil,
        failure: (@MainActor @Sendable (SessionError) -> Void)? = nil
    ) -> SessionTask {
        load(request, progress, failure) { response, body in
            WebContent(
                data: success?(response, body) ?? body,
                mimeType: mimeType ?? response.mediaType?.essence ?? "application/octet-stream",
                textEncoding: textEncoding ?? response.mediaType?.charset, baseURL: response.url)
        }
    }

    /// Cancels the current load. The content that is shown stays.
    public func cancelLoading() {
        webContentLoads.begin(nil)
    }

    private func load(
        _ request: HTTPRequest, _ progress: (@MainActor @Sendable (TransferProgress) -> Void)?,
        _ failure: (@MainActor @Sendable (SessionError) -> Void)?,
        _ content: @escaping @MainActor @Sendable (HTTPResponse, Data) -> WebContent
    ) -> SessionTask {
        let manager = webContentLoads.manager ?? WebContentLoads.sharedManager
        let turn = webContentLoads.turn + 1
        let end: @MainActor @Sendable (HTTPResponse?, Data, SessionError?) -> Void = {
            [weak self] response, body, error in
            // Another load has replaced this one: its content isn't shown.
            guard let self, webContentLoads.end(turn) else {
                failure?(SessionError(.cancelled, url: request.url))
                return
            }
            guard let response, error == nil else {
                failure?(error ?? SessionError(.unknown, url: request.url))
                return
            }
            show(content(response, body))
            navigationDidFinish()
        }
        let task = manager.dataTask(for: request, with: DataResponseSerializer()) { response, body, error in
            Task { @MainActor in end(response, body ?? Data(), error) }
        }
        if let progress {
            let hop = MainActorHop { [weak self, weak task] in
                // Reported also if the view is gone, because then no other load has replaced this one.
                guard let task, self.map({ $0.webContentLoads.turn == turn }) ?? true else { return }
                progress(task.progress)
            }
            task.watchProgress { hop.request(for: $0) }
        }
        webContentLoads.begin(task)
        task.resume()
        navigationDidStart()
        return task
    }
}
