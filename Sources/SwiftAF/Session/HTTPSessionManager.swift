public import Dispatch
public import FoundationEssentials

/// Makes requests, relative to a base URL, over one session: one pool of connections, one trust policy, one thread
/// of the core.
///
/// ```swift
/// let manager = HTTPSessionManager(baseURL: "https://api.example.org/v1/")
/// let user: User = try await manager.get("users/7")
/// ```
///
/// All of it may be used from any thread. A manager can be let go at any time: its transfers complete, then its
/// thread and connections go. Nothing in it retains it.
///
/// Every failure is a ``SessionError``. A cancelled Swift task cancels its transfer and throws
/// ``SessionError/Code/cancelled``, not `CancellationError`.
public final class HTTPSessionManager: Sendable {
    /// What relative URLs are resolved against, with a slash at the end of its path, if it has one. Nil if there
    /// is no base, or if it is no URL: then requests relative to it fail with ``SessionError/Code/invalidInput``.
    public var baseURL: URL? { base.flatMap { URL(string: $0.text) } }

    /// What the session was made with.
    public let configuration: SessionConfiguration

    let base: BaseURL?
    let registry = TaskRegistry()
    private let credentials = MemoryCredentialStorage()
    private let state: Locked<State>

    private struct State {
        var snapshot: Snapshot
        /// Sessions under earlier policies, while something is in flight in them.
        var drained: [Drained] = []
        var isInvalidated = false
    }

    private struct Drained {
        weak var session: CoreSession?
    }

    /// What a request is made with: read once for each, and never changed.
    final class Snapshot: Sendable {
        /// An error if it could not be made, or once the manager is invalidated.
        let session: Result<CoreSession, SessionError>
        let security: SecurityPolicy
        let settings: Settings

        init(_ session: Result<CoreSession, SessionError>, _ security: SecurityPolicy, _ settings: Settings) {
            self.session = session
            self.security = security
            self.settings = settings
        }
    }

    /// What can be changed at any time and is read when a task is made.
    struct Settings: Sendable {
        var requestSerializer: any RequestSerializer
        var responseSerializer: any ResponseSerializer
        var completionQueue: DispatchQueue?
        var completionGroup: DispatchGroup?
        var handlers = TransferHandlers()
        var downloadDestination: DownloadDestination?
    }

    /// Makes a session. What is wrong with the base URL or the configuration is the error of every request.
    ///
    /// - Parameters:
    ///   - baseURL: What relative URLs are resolved against (RFC 3986). A base without a slash at the end of its path
    ///     gets one: `users` under `http://host/v1` is `http://host/v1/users`, `/users` is `http://host/users`.
    ///   - requestSerializer: Nil for an ``HTTPRequestSerializer``.
    ///   - responseSerializer: What makes the values that requests ask for; see ``responseSerializer``.
    public init(
        baseURL: String? = nil,
        configuration: SessionConfiguration = .default,
        requestSerializer: (any RequestSerializer)? = nil,
        responseSerializer: any ResponseSerializer = JSONResponseSerializer()
    ) {
        self.configuration = configuration
        base = baseURL.map(BaseURL.init)
        let session = Result { () throws(SessionError) in try CoreSession(configuration) }
        let settings = Settings(
            requestSerializer: requestSerializer ?? configuration.requestSerializer,
            responseSerializer: responseSerializer)
        state = Locked(State(snapshot: Snapshot(session, configuration.security, settings)))
    }

    /// Makes a session with a base that is a `URL`.
    public convenience init(
        baseURL: URL,
        configuration: SessionConfiguration = .default,
        requestSerializer: (any RequestSerializer)? = nil,
        responseSerializer: any ResponseSerializer = JSONResponseSerializer()
    ) {
        self.init(
            baseURL: baseURL.absoluteString, configuration: configuration, requestSerializer: requestSerializer,
            responseSerializer: responseSerializer)
    }

    // MARK: Settings

    /// Puts parameters and default headers into requests. Read when a task is made.
    public var requestSerializer: any RequestSerializer {
        get { settings.requestSerializer }
        set { set { $0.requestSerializer = newValue } }
    }

    /// Makes the value of a response if it makes the type that is asked for; otherwise the standard serializer of
    /// that type does: ``DataResponseSerializer``, ``StringResponseSerializer``, ``JSONResponseSerializer`` or
    /// ``DecodableResponseSerializer``. Read when a task is made.
    public var responseSerializer: any ResponseSerializer {
        get { settings.responseSerializer }
        set { set { $0.responseSerializer = newValue } }
    }

    /// Where closures are called; nil for the main queue. On a concurrent queue, reports of progress can overtake
    /// each other and the completion. Read when a task is made.
    public var completionQueue: DispatchQueue? {
        get { settings.completionQueue }
        set { set { $0.completionQueue = newValue } }
    }

    /// Entered when a task is made and left when its completion has run, so that waiting for it waits for every
    /// task made before. Read when a task is made.
    public var completionGroup: DispatchGroup? {
        get { settings.completionGroup }
        set { set { $0.completionGroup = newValue } }
    }

    /// Decides about each redirect that would be followed; nil follows. Read when a task is made.
    public var redirectHandler: RedirectHandler? {
        get { settings.handlers.redirect }
        set { set { $0.handlers.redirect = newValue } }
    }

    /// Decides about the response of each request that has no ``HTTPRequest/responseHandler`` of its own; nil allows
    /// it. Downloads, which have a destination, and server-sent events don't ask. Read when a task is made.
    public var responseHandler: ResponseHandler? {
        get { settings.handlers.response }
        set { set { $0.handlers.response = newValue } }
    }

    /// Adapts each request before it is sent, and decides whether it is sent again: a ``RetryPolicy``, a
    /// ``BearerAuthenticator``, one of your own, or a ``CompositeInterceptor`` of several. At first nil: every request is
    /// sent once. ``HTTPRequest/interceptor`` comes before it. Read when a task is made.
    public var interceptor: (any RequestInterceptor)? {
        get { settings.handlers.interceptor }
        set { set { $0.handlers.interceptor = newValue } }
    }

    /// Answers the challenges of servers and proxies, with what a request or ``SessionConfiguration/credential`` gives as
    /// the proposal. Nil leaves it at that: without a credential a 401 or 407 is the response. Read when a task is made.
    public var authenticationChallengeHandler: AuthenticationChallengeHandler? {
        get { settings.handlers.challenge }
        set { set { $0.handlers.challenge = newValue } }
    }

    /// Proposes credentials where a request gives none, and keeps those that are ``Credential/Persistence/forSession``. At
    /// first an empty ``MemoryCredentialStorage``. Read when a task is made.
    public var credentialStorage: any CredentialStorage {
        get { settings.handlers.credentialStorage ?? credentials }
        set { set { $0.handlers.credentialStorage = newValue } }
    }

    /// Who hears of what happens to requests, in this order: an ``EventLogger``, a ``HARRecorder``, monitors of your own.
    /// Those that are there when a request is made hear of it to its end.
    public var eventMonitors: [any EventMonitor] {
        get { settings.handlers.monitors?.monitors ?? [] }
        set { set { $0.handlers.monitors = MonitorGroup(newValue, after: $0.handlers.monitors) } }
    }

    /// Names the file of each download that names none itself. Read when a task is made.
    public var downloadDestination: DownloadDestination? {
        get { settings.downloadDestination }
        set { set { $0.downloadDestination = newValue } }
    }

    /// Which servers are trusted. Another policy comes with another session: what is under way completes in the old
    /// one, and nothing of that, neither a connection nor a TLS session, serves what is made afterwards. A policy that
    /// can't be read is the error of every request.
    public var securityPolicy: SecurityPolicy {
        get { snapshot.security }
        set {
            var configuration = configuration
            configuration.security = newValue
            let session = Result { [configuration] () throws(SessionError) in try CoreSession(configuration) }
            let former = state.withLock { state -> Snapshot? in
                guard !state.isInvalidated else { return nil }
                let former = state.snapshot
                state.drained.removeAll { $0.session == nil }
                if case .success(let session) = former.session { state.drained.append(Drained(session: session)) }
                state.snapshot = Snapshot(session, newValue, former.settings)
                return former
            }
            // Let go outside of the lock.
            _ = former
        }
    }

    // MARK: Tasks

    /// Tasks that were made by this manager and have not completed, in the order they were made. A snapshot, which
    /// may be taken anywhere, also in callbacks. Calls that are awaited have no task.
    public var tasks: [SessionTask] { registry.tasks }

    /// The tasks that transfer data to and from memory.
    public var dataTasks: [DataTask] { registry.tasks { $0.kind == .data } }

    /// The tasks that send a file or a stream.
    public var uploadTasks: [UploadTask] { registry.tasks { $0.kind == .upload } }

    /// The tasks that write into a file.
    public var downloadTasks: [DownloadTask] { registry.tasks { $0.kind == .download } }

    /// Ends the manager: requests made afterwards fail with ``SessionError/Code/closed``.
    ///
    /// - Parameter cancellingTasks: True to cancel everything under way, and tasks that were not started; false to
    ///   let it complete.
    public func invalidate(cancellingTasks: Bool) {
        let closed = SessionError(.closed)
        let (former, drained) = state.withLock { state in
            let former = state.snapshot
            defer {
                state.snapshot = Snapshot(.failure(closed), former.security, former.settings)
                state.drained = []
                state.isInvalidated = true
            }
            return (former, state.drained.compactMap(\.session))
        }
        if cancellingTasks {
            for task in registry.tasks { task.cancel() }
            (try? former.session.get())?.cancelAll()
            for session in drained { session.cancelAll() }
        }
        guard case .success = former.session else { return }
        ProcessEvents.report(.managerInvalidated(self))
        former.settings.handlers.monitors?.tellInvalidated()
    }

    /// The core's counters since the session was made; nil after ``invalidate(cancellingTasks:)``.
    package var statistics: SessionStatistics? {
        (try? snapshot.session.get())?.statistics
    }

    // MARK: What requests need

    var snapshot: Snapshot { state.withLock { $0.snapshot } }

    private var settings: Settings { snapshot.settings }

    private func set(_ change: (inout Settings) -> Void) {
        let former = state.withLock { state in
            let former = state.snapshot
            var settings = former.settings
            change(&settings)
            state.snapshot = Snapshot(former.session, former.security, settings)
            return former
        }
        // Let go outside of the lock.
        _ = former
    }

    /// The request with all that is needed to send it.
    ///
    /// - Parameter naming: Of a download that has no path; no other handler is asked about the response of a download.
    func prepare(
        _ request: HTTPRequest, _ snapshot: Snapshot, sink: CoreRequest.Sink = .memory,
        naming: ResponseHandler? = nil, progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) throws(SessionError) -> CoreRequest {
        var request = request
        request.url = resolve(request.url)
        if !configuration.headers.isEmpty { request.headers.fillGaps(from: configuration.headers) }
        if request.credential == nil, let credential = configuration.credential, isOfBase(request.url) {
            request.credential = credential
        }
        if let credential = configuration.proxyCredential, request.proxyCredential == nil {
            request.proxyCredential = credential
        }
        try request.validate()
        var handlers = snapshot.settings.handlers.of(request, progress: progress)
        if case .file = sink { handlers.response = naming }
        if handlers.credentialStorage == nil, handlers.challenge != nil || !credentials.isUnused {
            handlers.credentialStorage = credentials
        }
        switch snapshot.session {
        case .success(let session):
            return CoreRequest(request, session: session, sink: sink, handlers: handlers)
        case .failure(var error):
            error.url = request.url
            throw error
        }
    }

    /// A request as the request serializer makes it. Headers of the call replace those of the serializer.
    func serialize(
        _ method: HTTPMethod, _ url: String, _ parameters: Parameters?, _ headers: HTTPHeaders, _ snapshot: Snapshot
    ) throws(SessionError) -> HTTPRequest {
        let bare = HTTPRequest(method, resolve(url))
        do {
            var request = try snapshot.settings.requestSerializer.serialize(bare, parameters: parameters)
            if !headers.isEmpty || !headers.removedDefaults.isEmpty { request.headers.merge(headers) }
            return request
        } catch {
            throw SessionError(serializingRequest: error, url: bare.url)
        }
    }

    /// Whether a URL is of the base's origin; without a base every one is.
    private func isOfBase(_ url: String) -> Bool {
        guard let base else { return true }
        return Origin(base.text) == Origin(url)
    }

    func resolve(_ url: String) -> String {
        base?.resolve(url) ?? url
    }
}
