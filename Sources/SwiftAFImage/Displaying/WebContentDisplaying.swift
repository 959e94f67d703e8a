public import FoundationEssentials
public import SwiftAF

/// What a view of web pages shows.
public struct WebContent: Sendable, Hashable {
    public var data: Data
    /// For example `text/html`.
    public var mimeType: String
    /// The charset of a text; nil if none was named.
    public var textEncoding: String?
    /// What relative links in it are relative to: the URL that answered, after redirects.
    public var baseURL: String

    public init(data: Data, mimeType: String, textEncoding: String? = nil, baseURL: String) {
        self.data = data
        self.mimeType = mimeType
        self.textEncoding = textEncoding
        self.baseURL = baseURL
    }
}

/// What a view of web pages loads. The view keeps one, and asks nothing of it.
@MainActor
public final class WebContentLoads {
    /// Makes the requests of all views that have no manager of their own.
    public static var sharedManager = HTTPSessionManager(responseSerializer: DataResponseSerializer())

    /// Makes the requests of this view; nil for ``sharedManager``.
    public var manager: HTTPSessionManager?

    /// The load that is shown when it has ended.
    fileprivate private(set) var turn: UInt64 = 0
    private var task: SessionTask?

    public init(manager: HTTPSessionManager? = nil) {
        self.manager = manager
    }

    deinit {
        task?.cancel()
    }

    /// Another load, or none, takes the place of the one before.
    fileprivate func begin(_ task: SessionTask?) {
        self.task?.cancel()
        self.task = task
        turn += 1
    }
}

/// A view that shows web pages, loaded by a session manager: with its headers, its trust policy, its progress.
@MainActor
public protocol WebContentDisplaying: AnyObject {
    /// Made with the view, kept by it.
    var webContentLoads: WebContentLoads { get }
    func show(_ content: WebContent)
    /// A load has begun. Does nothing unless the view has its own.
    func navigationDidStart()
    /// What was loaded is shown. Does nothing unless the view has its own.
    func navigationDidFinish()
}

extension WebContentDisplaying {
    public func navigationDidStart() {}
    public func navigationDidFinish() {}

    /// Loads a text and shows it, in the charset that the response names, else UTF-8.
    ///
    /// - Parameters:
    ///   - progress: Called with snapshots, and once at the end.
    ///   - success: Gives the text that is shown; nil to show what came.
    ///   - failure: Called with the reason why nothing is shown: also when another load takes the place of this one.
    /// - Returns: The task, which is running.
    @discardableResult
    public func loadText(
        _ request: HTTPRequest, progress: (@MainActor @Sendable (TransferProgress) -> Void)? = nil,
        success: (@MainActor @Sendable (HTTPResponse, String) -> String)? = nil,
        failure: (@MainActor @Sendable (SessionError) -> Void)? = nil
    ) -> SessionTask {
        load(request, progress, failure) { response, body in
            let answer = DataResponse(response: response, body: body)
            let text = (try? answer.text()) ?? String(decoding: body, as: UTF8.self)
            return WebContent(
                data: Data((success?(response, text) ?? text).utf8),
                mimeType: response.mediaType?.essence ?? "text/html", textEncoding: "utf-8", baseURL: response.url)
        }
    }

    /// Loads content of any type and shows it.
    ///
    /// - Parameters:
    ///   - mimeType: Nil for the response's.
    ///   - textEncoding: Nil for the response's.
    ///   - success: Gives the content that is shown; nil to show what came.
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

    /// Stops loading; what is shown stays.
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
            // What came while another load took its place is not shown any more.
            guard let self, webContentLoads.turn == turn else {
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
            let hop = MainActorHop { [weak task] in task.map { progress($0.progress) } }
            task.watchProgress { hop.request(for: $0) }
        }
        webContentLoads.begin(task)
        task.resume()
        navigationDidStart()
        return task
    }
}
