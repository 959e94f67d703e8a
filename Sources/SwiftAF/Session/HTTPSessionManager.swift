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
    private let state: Guarded<State>

    private struct State {
        /// An error if it could not be made, or once the manager is invalidated.
        var session: Result<CoreSession, SessionError>
        /// Sessions under policies that went before, while something is under way in them.
        var drained: [Drained] = []
        var security: SecurityPolicy
        var isInvalidated = false
        var settings: Settings
    }

    private struct Drained {
        weak var session: CoreSession?
    }

    /// What can be changed at any time and is read when a task is made.
    struct Settings {
        var requestSerializer: any RequestSerializer
        var responseSerializer: any ResponseSerializer
        var completionQueue: DispatchQueue?
        var completionGroup: DispatchGroup?
        var handlers = Handlers()
        var downloadDestination: DownloadDestination?
    }

    /// Who has a say in every transfer.
    struct Handlers {
        var redirect: RedirectHandler?
        var response: ResponseHandler?
        var interceptor: (any RequestInterceptor)?
        var challenge: AuthenticationChallengeHandler?
        /// Nil for the manager's own.
        var credentialStorage: (any CredentialStorage)?
        var monitors: MonitorGroup?
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
        let session = Result { () throws(SessionError) in
            try CoreSession(configuration.coreOptions, defaults: configuration.coreDefaults)
        }
        let settings = Settings(
            requestSerializer: requestSerializer ?? configuration.requestSerializer,
            responseSerializer: responseSerializer)
        state = Guarded(State(session: session, security: configuration.security, settings: settings))
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
        get { setting { $0.requestSerializer } }
        set { set { $0.requestSerializer = newValue } }
    }

    /// Makes the value of a response if it makes the type that is asked for; otherwise the standard serializer of
    /// that type does: ``DataResponseSerializer``, ``StringResponseSerializer``, ``JSONResponseSerializer`` or
    /// ``DecodableResponseSerializer``. Read when a task is made.
    public var responseSerializer: any ResponseSerializer {
        get { setting { $0.responseSerializer } }
        set { set { $0.responseSerializer = newValue } }
    }

    /// Where closures are called; nil for the main queue. On a concurrent queue, reports of progress can overtake
    /// each other and the completion. Read when a task is made.
    public var completionQueue: DispatchQueue? {
        get { setting { $0.completionQueue } }
        set { set { $0.completionQueue = newValue } }
    }

    /// Entered when a task is made and left when its completion has run, so that waiting for it waits for every
    /// task made before. Read when a task is made.
    public var completionGroup: DispatchGroup? {
        get { setting { $0.completionGroup } }
        set { set { $0.completionGroup = newValue } }
    }

    /// Decides about each redirect that would be followed; nil follows. Read when a task is made.
    public var redirectHandler: RedirectHandler? {
        get { handlers.redirect }
        set { set { $0.handlers.redirect = newValue } }
    }

    /// Decides about the response of each request that has no ``HTTPRequest/responseHandler`` of its own; nil allows
    /// it. Downloads, which have a destination, and server-sent events don't ask. Read when a task is made.
    public var responseHandler: ResponseHandler? {
        get { handlers.response }
        set { set { $0.handlers.response = newValue } }
    }

    /// Adapts each request before it is sent, and decides whether it is sent again: a ``RetryPolicy``, a
    /// ``BearerAuthenticator``, one of your own, or a ``CompositeInterceptor`` of several. At first nil: every request is
    /// sent once. ``HTTPRequest/interceptor`` comes before it. Read when a task is made.
    public var interceptor: (any RequestInterceptor)? {
        get { handlers.interceptor }
        set { set { $0.handlers.interceptor = newValue } }
    }

    /// Answers the challenges of servers and proxies, with what a request or ``SessionConfiguration/credential`` gives as
    /// the proposal. Nil leaves it at that: without a credential a 401 or 407 is the response. Read when a task is made.
    public var authenticationChallengeHandler: AuthenticationChallengeHandler? {
        get { handlers.challenge }
        set { set { $0.handlers.challenge = newValue } }
    }

    /// Proposes credentials where a request gives none, and keeps those that are ``Credential/Persistence/forSession``. At
    /// first an empty ``MemoryCredentialStorage``. Read when a task is made.
    public var credentialStorage: any CredentialStorage {
        get { handlers.credentialStorage ?? credentials }
        set { set { $0.handlers.credentialStorage = newValue } }
    }

    /// Who hears of what happens to requests, in this order: an ``EventLogger``, a ``HARRecorder``, monitors of your own.
    /// Those that are there when a request is made hear of it to its end.
    public var eventMonitors: [any EventMonitor] {
        get { handlers.monitors?.monitors ?? [] }
        set { set { $0.handlers.monitors = MonitorGroup(newValue, after: $0.handlers.monitors) } }
    }

    /// Names the file of each download that names none itself. Read when a task is made.
    public var downloadDestination: DownloadDestination? {
        get { setting { $0.downloadDestination } }
        set { set { $0.downloadDestination = newValue } }
    }

    /// Which servers are trusted. Another policy comes with another session: what is under way completes in the old
    /// one, and nothing of that, neither a connection nor a TLS session, serves what is made afterwards. A policy that
    /// can't be read is the error of every request.
    public var securityPolicy: SecurityPolicy {
        get { state.withLock { $0.security } }
        set {
            var options = configuration.coreOptions
            options.security = newValue
            let session = Result { () throws(SessionError) in
                try CoreSession(options, defaults: configuration.coreDefaults)
            }
            let former = state.withLock { state -> Result<CoreSession, SessionError>? in
                guard !state.isInvalidated else { return nil }
                let former = state.session
                state.drained.removeAll { $0.session == nil }
                if case .success(let session) = former { state.drained.append(Drained(session: session)) }
                state.session = session
                state.security = newValue
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
            defer {
                state.session = .failure(closed)
                state.drained = []
                state.isInvalidated = true
            }
            return (state.session, state.drained.compactMap(\.session))
        }
        if cancellingTasks {
            for task in registry.tasks { task.cancel() }
            (try? former.get())?.cancelAll()
            for session in drained { session.cancelAll() }
        }
        guard case .success = former else { return }
        TaskObservation.observers.tell { $0.managerDidInvalidate(self) }
        handlers.monitors?.tellInvalidated()
    }

    /// The core's counters since the session was made; nil after ``invalidate(cancellingTasks:)``.
    package var statistics: SessionStatistics? {
        (try? state.withLock { $0.session }.get())?.statistics
    }

    // MARK: What requests need

    var handlers: Handlers { setting { $0.handlers } }

    private func setting<Value: Sendable>(_ get: (Settings) -> Value) -> Value {
        state.withLock { get($0.settings) }
    }

    private func set(_ change: (inout Settings) -> Void) {
        state.withLock { change(&$0.settings) }
    }

    /// The order for a request that is complete but for the session's defaults.
    func order(
        _ request: HTTPRequest, sink: CoreOrder.Sink = .memory, interests: CoreTask.Interests = []
    ) throws(SessionError) -> CoreOrder {
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
        let (session, handlers) = state.withLock { ($0.session, $0.settings.handlers) }
        switch session {
        case .success(let session):
            return CoreOrder(
                request: request, session: session, sink: sink, interests: interests,
                responder: challengeResponder(handlers))
        case .failure(var error):
            error.url = request.url
            throw error
        }
    }

    /// A request as the request serializer makes it. Headers of the call replace those of the serializer.
    func serialize(
        _ method: HTTPMethod, _ url: String, _ parameters: Parameters?, _ headers: HTTPHeaders
    ) throws(SessionError) -> HTTPRequest {
        let bare = HTTPRequest(method, resolve(url))
        do {
            var request = try requestSerializer.serialize(bare, parameters: parameters)
            if !headers.isEmpty || !headers.removedDefaults.isEmpty { request.headers.merge(headers) }
            return request
        } catch {
            throw SessionError(serializingRequest: error, url: bare.url)
        }
    }

    /// Nil if nobody has anything to say.
    private func challengeResponder(_ handlers: Handlers) -> ChallengeResponder? {
        guard handlers.challenge != nil || handlers.credentialStorage != nil || !credentials.isEmpty else {
            return nil
        }
        return ChallengeResponder(handler: handlers.challenge, storage: handlers.credentialStorage ?? credentials)
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
