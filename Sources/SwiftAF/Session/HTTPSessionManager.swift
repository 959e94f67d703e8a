public import Dispatch
public import FoundationEssentials

/// Sends requests, relative to a base URL, over one session: one connection pool, one trust policy, one network
/// thread.
///
/// ```swift
/// let manager = HTTPSessionManager(baseURL: "https://api.example.org/v1/")
/// let user: User = try await manager.get("users/7")
/// ```
///
/// A manager may be used from any thread and released at any time: its transfers complete, then its thread ends and its
/// connections are closed. Tasks and closures don't retain it.
///
/// Every call throws ``SessionError``. Cancelling a Swift task cancels its transfer, which throws
/// ``SessionError/Code/cancelled``, not `CancellationError`; `isCancellation` of an error is true for both.
public final class HTTPSessionManager: Sendable {
    /// The base of relative URLs, with a slash at the end of its path. Nil without a base URL, or if it is invalid:
    /// then requests with relative URLs fail with ``SessionError/Code/invalidInput``.
    public var baseURL: URL? { base.flatMap { URL(string: $0.text) } }

    /// The configuration of the session.
    public let configuration: SessionConfiguration

    let base: BaseURL?
    let registry = TaskRegistry()
    private let credentials = MemoryCredentialStorage()
    private let state: Locked<State>

    private struct State {
        var snapshot: Snapshot
        /// Earlier sessions that may still have requests in flight: they were replaced with another security policy, or
        /// by the invalidation.
        var retired: [Retired] = []
        var isInvalidated = false

        /// Notes a session that gets no more requests, so that those in flight can be cancelled.
        mutating func retire(_ source: CoreSessionSource) {
            retired.removeAll { $0.session == nil }
            if let session = source.retire() { retired.append(Retired(session: session)) }
        }
    }

    private struct Retired {
        weak var session: CoreSession?
    }

    /// The session and the settings that a request uses. Immutable; read once for each request, so that all its parts
    /// agree.
    final class Snapshot: Sendable {
        /// Its `get()` throws if the session couldn't be made, or the manager was invalidated.
        let session: CoreSessionSource
        let securityPolicy: SecurityPolicy
        let settings: Settings

        init(_ session: CoreSessionSource, _ securityPolicy: SecurityPolicy, _ settings: Settings) {
            self.session = session
            self.securityPolicy = securityPolicy
            self.settings = settings
        }
    }

    /// Settings that can be changed at any time; read when a task is made.
    struct Settings: Sendable {
        var headers: HTTPHeaders {
            didSet {
                hasSecretHeaders = headers.contains(where: \.isSecret)
                headersVersion &+= 1
            }
        }
        /// Incremented with each change of the headers, for ``HTTPSessionManager/updateHeaders(_:)``.
        private(set) var headersVersion: UInt64 = 0
        /// Whether some headers are secret, and therefore sent to the base URL's origin only.
        private(set) var hasSecretHeaders = false
        var timeouts: HTTPRequest.Timeouts
        var cachePolicy: HTTPRequest.CachePolicy?
        /// The default serializer, shared by all managers so that no request creates one. Created when a manager first
        /// needs it; the program `swiftaf` never does.
        private static let standardRequestSerializer: any RequestSerializer = HTTPRequestSerializer()
        /// The program's serializer; nil for the standard one.
        private var givenRequestSerializer: (any RequestSerializer)?
        var requestSerializer: any RequestSerializer {
            get { givenRequestSerializer ?? Self.standardRequestSerializer }
            set { givenRequestSerializer = newValue }
        }
        var responses: ResponseSettings
        var completionExecutor = CompletionExecutor.main
        var completionGroup: DispatchGroup?
        var handlers = TransferHandlers()
        /// The queue on which all monitors are called, so that events keep their order when monitors change. Nil until
        /// monitors are set.
        var monitorQueue: MonitorQueue?
        var downloadDestination: DownloadDestination?

        init(
            _ configuration: SessionConfiguration, _ requestSerializer: (any RequestSerializer)?,
            _ responseSerializer: (any ResponseSerializer)?
        ) {
            headers = configuration.allHeaders
            hasSecretHeaders = headers.contains(where: \.isSecret)
            timeouts = configuration.timeouts
            givenRequestSerializer = requestSerializer
            responses = ResponseSettings(serializer: responseSerializer)
        }
    }

    /// Creates a manager with a new session. If the base URL or the configuration is invalid, every request fails with
    /// that error; ``checkConfiguration()`` throws it. If there are too few file descriptors or too little memory for a
    /// session, each request tries again to make it, and fails with the error if it can't.
    ///
    /// - Parameters:
    ///   - baseURL: The base of relative URLs (RFC 3986 5.2). A missing slash at the end of its path is added: `users`
    ///     relative to `http://host/v1` is `http://host/v1/users`, `/users` is `http://host/users`.
    ///   - configuration: The configuration of the session.
    ///   - requestSerializer: Builds requests; nil uses an ``HTTPRequestSerializer``.
    ///   - responseSerializer: See ``responseSerializer``.
    public init(
        baseURL: String? = nil,
        configuration: SessionConfiguration = .default,
        requestSerializer: (any RequestSerializer)? = nil,
        responseSerializer: (any ResponseSerializer)? = nil
    ) {
        self.configuration = configuration
        base = baseURL.map(BaseURL.init)
        // Made before the session, whose creation waits if another thread is initialising OpenSSL.
        let settings = Settings(configuration, requestSerializer, responseSerializer)
        let session = CoreSessionSource(configuration)
        state = Locked(State(snapshot: Snapshot(session, configuration.securityPolicy, settings)))
    }

    /// Creates a manager with a `URL` as its base.
    public convenience init(
        baseURL: URL,
        configuration: SessionConfiguration = .default,
        requestSerializer: (any RequestSerializer)? = nil,
        responseSerializer: (any ResponseSerializer)? = nil
    ) {
        self.init(
            baseURL: baseURL.absoluteString, configuration: configuration, requestSerializer: requestSerializer,
            responseSerializer: responseSerializer)
    }

    /// Not available: `URL(string:)` returns an optional URL, and without a base URL, relative URLs fail.
    @available(*, unavailable, message: "unwrap the URL, or pass the base URL as a String")
    @_disfavoredOverload
    public convenience init(
        baseURL: URL?,
        configuration: SessionConfiguration = .default,
        requestSerializer: (any RequestSerializer)? = nil,
        responseSerializer: (any ResponseSerializer)? = nil
    ) {
        self.init(
            baseURL: baseURL?.absoluteString, configuration: configuration, requestSerializer: requestSerializer,
            responseSerializer: responseSerializer)
    }

    /// Throws the error that every request would fail with, so that a program can stop at its start.
    ///
    /// - Throws: ``SessionError/Code/invalidInput`` for an invalid base URL or an invalid setting of the configuration;
    ///   ``SessionError/Code/file`` for a certificate file that can't be read; ``SessionError/Code/outOfMemory``
    ///   without memory or file descriptors for a session, which a later call or request tries to make again;
    ///   ``SessionError/Code/closed`` after ``invalidate(cancellingTasks:)``.
    public func checkConfiguration() throws(SessionError) {
        _ = try snapshot.session.get()
        guard let base else { return }
        if let fault = base.fault { throw SessionError(.invalidInput, message: fault, url: base.text) }
        try HTTPRequest(base.text).validate()
    }

    // MARK: Settings

    /// Fields added to every request that lacks them: typed and raw requests, downloads, streams and events. Initially
    /// those of ``SessionConfiguration/headers`` and ``DefaultHeaders/all``. Read when a task is made.
    ///
    /// ```swift
    /// manager.headers.authorization = .bearer(token)
    /// ```
    ///
    /// If the manager has a base URL, secret fields such as Authorization are sent to its origin only.
    public var headers: HTTPHeaders {
        get { settings.headers }
        set { set { $0.headers = newValue } }
    }

    /// Changes ``headers`` in one step, so that changes by several threads don't overwrite each other, as they may when
    /// each sets the property.
    ///
    /// - Parameter change: Called at once, and again each time another thread has changed the headers meanwhile. It may
    ///   change other settings of the manager, but must not set its headers: it would be called again without end.
    public func updateHeaders(_ change: (inout HTTPHeaders) -> Void) {
        while true {
            let former = settings
            var headers = former.headers
            change(&headers)
            var isUpdated = false
            // `replaceSnapshot` releases the former snapshot without the lock.
            replaceSnapshot { state in
                var settings = state.snapshot.settings
                isUpdated = settings.headersVersion == former.headersVersion
                guard isUpdated else { return state.snapshot }
                settings.headers = headers
                return Snapshot(state.snapshot.session, state.snapshot.securityPolicy, settings)
            }
            if isUpdated { return }
        }
    }

    /// The time limits of requests without their own. Initially ``SessionConfiguration/timeouts``, which also apply
    /// where a limit is nil; zero is no limit. Read when a task is made.
    public var timeouts: HTTPRequest.Timeouts {
        get { settings.timeouts }
        set { set { $0.timeouts = newValue } }
    }

    /// How requests without a policy of their own use ``SessionConfiguration/cache``. Nil, the default:
    /// ``HTTPRequest/CachePolicy/useProtocolCachePolicy``. Read when a task is made.
    public var cachePolicy: HTTPRequest.CachePolicy? {
        get { settings.cachePolicy }
        set { set { $0.cachePolicy = newValue } }
    }

    /// Writes the JSON bodies of requests: `json` arguments, `HTTPBody.json(_:encoder:)`, and parameters with a
    /// ``JSONRequestSerializer``. Its options decide how dates, data, names of members and infinities are written.
    /// Default: ``JSONCoder``. Read when a task is made.
    public var encoder: any DataEncoder {
        get { settings.handlers.encoder }
        set { set { $0.handlers.encoder = newValue } }
    }

    /// Decodes values of types other than ``JSONValue``, `Data` and `String`. Default: ``JSONCoder``. Read when a task
    /// is made.
    public var decoder: any DataDecoder {
        get { settings.responses.decoder }
        set { set { $0.responses = $0.responses.with(decoder: newValue) } }
    }

    /// The responses that are acceptable where a call checks them: typed requests, requests without a value, closures,
    /// downloads, and `validated()` of raw and streamed responses. Default: any content type with status 200 to 299.
    /// JSON must have one of ``JSONResponseSerializer/contentTypes`` or a type such as `application/problem+json`,
    /// unless this lists other types. Read when a task is made.
    ///
    /// ```swift
    /// manager.validation.acceptableContentTypes = ["*/*"]
    /// ```
    public var validation: ResponseValidation {
        get { settings.responses.validation }
        set { set { $0.responses = $0.responses.with(validation: newValue) } }
    }

    /// Adds parameters to requests. Default: ``HTTPRequestSerializer``. Read when a task is made.
    public var requestSerializer: any RequestSerializer {
        get { settings.requestSerializer }
        set { set { $0.requestSerializer = newValue } }
    }

    /// Validates responses and makes their values, for calls whose value has its output type; ``validation`` and
    /// ``decoder`` aren't used for them. Default: nil. Read when a task is made.
    public var responseSerializer: (any ResponseSerializer)? {
        get { settings.responses.serializer }
        set { set { $0.responses = $0.responses.with(serializer: newValue) } }
    }

    /// Where closures are called. Default: ``CompletionExecutor/main``. Read when a task is made.
    public var completionExecutor: CompletionExecutor {
        get { settings.completionExecutor }
        set { set { $0.completionExecutor = newValue } }
    }

    /// Runs Swift tasks on the manager's network thread, so that no other thread has to be woken between a response and
    /// the code that awaits it. That saves up to a quarter of the processor time of a small request or message.
    ///
    /// ```swift
    /// let users = try await withTaskExecutorPreference(manager.taskExecutor) {
    ///     try await manager.get("users", as: [User].self)
    /// }
    /// ```
    ///
    /// Child tasks, default actors and interceptors run there, too (SE-0417). Sequences of request bodies don't. While
    /// code runs there, no transfer of the manager proceeds, so it must be short, and must not block: a thread that
    /// waits for a transfer would wait for itself. Tasks keep the network thread running. A manager that was
    /// invalidated, or whose session couldn't be made, returns the global concurrent executor; a change of
    /// ``securityPolicy`` begins another network thread.
    public var taskExecutor: any TaskExecutor {
        (try? snapshot.session.get())?.executor ?? globalConcurrentExecutor
    }

    /// The queue of closures, if ``completionExecutor`` is one; setting nil means the main queue. On a concurrent
    /// queue, progress closures may run out of order and after the completion.
    public var completionQueue: DispatchQueue? {
        get { completionExecutor.queue }
        set { completionExecutor = newValue.map { .queue($0) } ?? .main }
    }

    /// A group that is entered when a task is made and left when its completion has run, to wait for all earlier tasks.
    /// It also waits for the `failure` closure of a request that couldn't be built. Read when a task is made.
    public var completionGroup: DispatchGroup? {
        get { settings.completionGroup }
        set { set { $0.completionGroup = newValue } }
    }

    /// Decides on each redirect that would be followed; nil follows all. Read when a task is made.
    public var redirectHandler: RedirectHandler? {
        get { settings.handlers.redirect }
        set { set { $0.handlers.redirect = newValue } }
    }

    /// Decides what to do with the body when the head of a response arrives; nil accepts it.
    /// ``HTTPRequest/responseHandler`` takes precedence. Not called for downloads with a destination and for
    /// server-sent events. Read when a task is made.
    public var responseHandler: ResponseHandler? {
        get { settings.handlers.response }
        set { set { $0.handlers.response = newValue } }
    }

    /// The interceptors of every request, such as a ``BearerAuthenticator`` and a ``RetryPolicy``. They change a
    /// request before it is sent, wrap its sending, and decide on retries. They are called in the order of the array,
    /// after ``HTTPRequest/interceptors``: the first is the outermost, and the first decision to retry counts. Default:
    /// none, every request is sent once. Read when a task is made.
    public var interceptors: [any RequestInterceptor] {
        get { settings.handlers.interceptors }
        set { set { $0.handlers.interceptors = newValue } }
    }

    /// Answers the authentication challenges of servers and proxies; the proposed credential is the request's or
    /// ``SessionConfiguration/credential``. Nil uses the proposal; without one, the 401 or 407 is the response. It may
    /// send requests of this manager, because a request that waits for the handler leaves its connection to others. A
    /// download or a stream keeps its connection: ``SessionConfiguration/maximumConnectionsPerHost`` of them would
    /// block the handler's requests, so use another manager to fetch credentials for them. Read when a task is made.
    public var authenticationChallengeHandler: AuthenticationChallengeHandler? {
        get { settings.handlers.challenge }
        set { set { $0.handlers.challenge = newValue } }
    }

    /// Proposes credentials for requests without one, and stores those with ``Credential/Persistence/forSession``.
    /// Default: an empty ``MemoryCredentialStorage``. Read when a task is made.
    public var credentialStorage: any CredentialStorage {
        get { settings.handlers.credentialStorage ?? credentials }
        set { set { $0.handlers.credentialStorage = newValue } }
    }

    /// The monitors that are notified of each request's events, in the order of the array, such as an ``EventLogger``
    /// and a ``HARRecorder``. The monitors set when a request is made receive all of its events.
    public var eventMonitors: [any EventMonitor] {
        get { settings.handlers.monitors?.monitors ?? [] }
        set {
            set { if $0.monitorQueue == nil { $0.monitorQueue = MonitorQueue() } }
            // Made without the lock, because it reads properties of the monitors, which may read settings of the
            // manager.
            let group = settings.monitorQueue.flatMap { MonitorGroup(newValue, on: $0) }
            set { $0.handlers.monitors = group }
        }
    }

    /// Waits until the ``eventMonitors`` were called for all events so far, such as those of an awaited call that has
    /// returned, or of a task whose completion was called.
    public func flushMonitors() async {
        await settings.monitorQueue?.flush()
    }

    /// Called for each 1xx response that arrives before a final one, such as a 103 (Early Hints, RFC 8297). Read when a
    /// task is made.
    public var informationalHandler: InformationalHandler? {
        get { settings.handlers.informational }
        set { set { $0.handlers.informational = newValue } }
    }

    /// Decides whether, and with which header fields, a response is stored in ``SessionConfiguration/cache``; nil
    /// stores all that HTTP allows to store. Read when a task is made.
    public var cachingHandler: CachingHandler? {
        get { settings.handlers.caching }
        set { set { $0.handlers.caching = newValue } }
    }

    /// Chooses the path of downloads without a destination of their own. Read when a task is made.
    public var downloadDestination: DownloadDestination? {
        get { settings.downloadDestination }
        set { set { $0.downloadDestination = newValue } }
    }

    /// Which servers are trusted. Setting it makes a new session: requests in flight complete in the old one, and its
    /// connections and TLS sessions aren't used for later requests. Nor are responses over https in the
    /// ``SessionConfiguration/cache`` that another policy accepted. If the policy is invalid, every request fails with
    /// that error.
    public var securityPolicy: SecurityPolicy {
        get { snapshot.securityPolicy }
        set {
            var configuration = configuration
            configuration.securityPolicy = newValue
            let session = CoreSessionSource(configuration)
            replaceSnapshot { state in
                guard !state.isInvalidated else { return state.snapshot }
                state.retire(state.snapshot.session)
                return Snapshot(session, newValue, state.snapshot.settings)
            }
        }
    }

    // MARK: Connections

    /// Connects to the server of a URL ahead of the first request: resolves its name, connects, and completes the TLS
    /// handshake, through a proxy if there is one. No request is sent; the connection waits in the pool.
    ///
    /// Interceptors and monitors aren't called. A connection that is already idle is enough. Over TLS 1.3, a server
    /// that sends session tickets can make the connection useless, and the next request uses a new one: with HTTP/1.1
    /// always, with HTTP/2 if the request comes before the server's settings.
    ///
    /// - Parameters:
    ///   - url: An absolute URL, or one relative to ``baseURL``.
    ///   - connections: How many connections to make at most, up to 64. With HTTP/2 and libcurl 8.1 or later,
    ///     one is enough.
    /// - Throws: The error of the first connection that failed, such as ``SessionError/Code/dns``,
    ///   ``SessionError/Code/connect`` or ``SessionError/Code/untrusted``.
    public func prewarm(_ url: some URLConvertible, connections: Int = 1) async throws(SessionError) {
        let request = try prepare(HTTPRequest(url.urlText), snapshot, sink: .connection).with(
            handlers: TransferHandlers())
        let failure = await withTaskGroup(of: SessionError?.self) { group in
            for _ in 0..<min(64, max(1, connections)) {
                group.addTask { await CoreTask(request).outcome().failure }
            }
            return await group.reduce(nil) { $0 ?? $1 }
        }
        if let failure { throw failure }
    }

    // MARK: Tasks

    /// The tasks of this manager that haven't completed, in creation order. A snapshot; may be read anywhere, also in
    /// callbacks. Awaited calls have no task.
    public var tasks: [SessionTask] { registry.tasks }

    /// The tasks whose bodies are in memory.
    public var dataTasks: [DataTask] { registry.tasks { $0.kind == .data } }

    /// The tasks that send a file or a stream.
    public var uploadTasks: [UploadTask] { registry.tasks { $0.kind == .upload } }

    /// The tasks that write to a file.
    public var downloadTasks: [DownloadTask] { registry.tasks { $0.kind == .download } }

    /// Cancels everything under way, and tasks that were not started, with ``SessionError/Code/cancelled``. The manager
    /// stays usable, and so do its connections.
    public func cancelAll() {
        let (snapshot, retired) = state.withLock { ($0.snapshot, $0.retired.compactMap(\.session)) }
        cancel(snapshot, retired, isFinal: false)
    }

    private func cancel(_ snapshot: Snapshot, _ retired: [CoreSession], isFinal: Bool) {
        for task in registry.tasks { task.cancel() }
        snapshot.session.made?.cancelAll(isFinal: isFinal)
        for session in retired { session.cancelAll(isFinal: isFinal) }
    }

    /// Invalidates the manager: later requests fail with ``SessionError/Code/closed``, and so do events and messages
    /// that wait to reconnect.
    ///
    /// - Parameter cancellingTasks: True to cancel everything under way, and tasks that were not started; false to
    ///   let it complete.
    public func invalidate(cancellingTasks: Bool) {
        let closed = CoreSessionSource(failure: SessionError(.closed))
        var retired: [CoreSession] = []
        let former = replaceSnapshot { state in
            retired = state.retired.compactMap(\.session)
            state.retire(state.snapshot.session)
            state.isInvalidated = true
            return Snapshot(closed, state.snapshot.securityPolicy, state.snapshot.settings)
        }
        if cancellingTasks { cancel(former, retired, isFinal: true) }
        former.session.made?.invalidate()
        for session in retired { session.invalidate() }
        guard former.session.made != nil else { return }
        RequestEvents.reportInvalidated(self, to: former.settings.handlers.monitors)
    }

    /// Invalidates the manager, and waits until everything under way has completed: requests, downloads, streams,
    /// events and WebSockets. Then waits for the monitors, as ``flushMonitors()`` does. Nothing is sent after it has
    /// returned: a call that was made before and hasn't begun by then fails with ``SessionError/Code/closed``, and so
    /// does a task that is resumed later.
    ///
    /// Cancelling the waiting task cancels what is still under way. Only that ends an open WebSocket, an endless
    /// stream, or a stream without a reader. The closures of tasks may still wait in their queue (``completionGroup``).
    ///
    /// Don't call this in a request's interceptor or handler, which would wait for itself.
    public func shutdown() async {
        invalidate(cancellingTasks: false)
        let sessions = state.withLock { $0.retired.compactMap(\.session) }
        await withTaskCancellationHandler {
            for session in sessions { await session.activity.close() }
        } onCancel: {
            for task in registry.tasks { task.cancel() }
            for session in sessions { session.cancelAll(isFinal: true) }
        }
        await flushMonitors()
    }

    /// How many transfers are under way, counted as ``shutdown()`` does; 0 after an invalidation.
    var activityCount: Int { snapshot.session.made?.activity.current ?? 0 }

    /// The core's counters since the session was made; nil after ``invalidate(cancellingTasks:)``.
    package var statistics: SessionStatistics? {
        snapshot.session.made?.statistics
    }

    // MARK: Preparing requests

    var snapshot: Snapshot { state.withLock { $0.snapshot } }

    private var settings: Settings { snapshot.settings }

    private func set(_ change: (inout Settings) -> Void) {
        replaceSnapshot { state in
            var settings = state.snapshot.settings
            change(&settings)
            return Snapshot(state.snapshot.session, state.snapshot.securityPolicy, settings)
        }
    }

    /// Replaces the snapshot by the one that `change` returns. `change` is called with the lock held.
    ///
    /// - Returns: The former snapshot. The caller releases it, without the lock, because it holds objects of the
    ///   program, whose `deinit` may run any code.
    @discardableResult
    private func replaceSnapshot(_ change: (inout State) -> Snapshot) -> Snapshot {
        state.withLock { state in
            let former = state.snapshot
            state.snapshot = change(&state)
            return former
        }
    }

    /// Returns the request with everything that is needed to send it: complete, validated, and with its session and
    /// handlers.
    ///
    /// - Parameter naming: Called with the head of a download's response, to name the file of a download without a
    ///   path. The manager's and the request's response handlers aren't called for downloads.
    // Not inlined into the async functions: their frames live while they wait, and would include its copies (measured
    // by the row `waiting` of Benchmarks/run).
    @inline(never)
    func prepare(
        _ request: HTTPRequest, _ snapshot: Snapshot, sink: CoreRequest.Sink = .memory,
        naming: ResponseHandler? = nil, progress: ProgressHandler? = nil
    ) throws(SessionError) -> CoreRequest {
        var request = request
        // Needed also after `serialize`, because a request serializer may return another URL or remove fields.
        // Completing a request twice changes nothing.
        try complete(&request, snapshot.settings)
        completeTimeouts(of: &request, snapshot.settings.timeouts)
        if let policy = snapshot.settings.cachePolicy, request.cachePolicy == nil { request.cachePolicy = policy }
        if request.credential == nil, let credential = configuration.credential, isOfBase(request.url) {
            request.credential = credential
        }
        if let credential = configuration.proxyCredential, request.proxyCredential == nil {
            request.proxyCredential = credential
        }
        try validate(request)
        var handlers = snapshot.settings.handlers.of(request, progress: progress)
        if case .file = sink { handlers.response = naming }
        if handlers.credentialStorage == nil,
            handlers.challenge != nil || !credentials.isUnused || request.mayStoreCredential
        {
            handlers.credentialStorage = credentials
        }
        do throws(SessionError) {
            return CoreRequest(request, session: try snapshot.session.get(), sink: sink, handlers: handlers)
        } catch {
            var error = error
            error.url = request.url
            throw error
        }
    }

    /// Returns the URL that a request for `url` is sent to; `url` itself if it can't be resolved.
    package func resolvedURL(_ url: String) -> String {
        guard let base, base.fault == nil else { return url }
        return base.resolve(url)
    }

    private func validate(_ request: HTTPRequest) throws(SessionError) {
        do {
            try request.validate()
        } catch var error {
            if base == nil, error.code == .invalidInput, URLText(request.url).scheme == nil {
                error.message = "the URL has no scheme, and the manager has no base URL"
            }
            throw error
        }
    }

    /// Resolves the URL, adds the manager's headers, and encodes a JSON body. Does nothing to a request that is
    /// complete.
    private func complete(_ request: inout HTTPRequest, _ settings: Settings) throws(SessionError) {
        if let base {
            let url = base.resolve(request.url)
            if let fault = base.fault, URLText(request.url).scheme == nil {
                throw SessionError(.invalidInput, message: fault, url: request.url)
            }
            request.url = url
        }
        if settings.hasSecretHeaders, !isOfBase(request.url) {
            request.headers.fillGaps(from: settings.headers.withoutSecrets)
        } else {
            request.headers.fillGaps(from: settings.headers)
        }
        try request.encodeJSON(with: settings.handlers.encoder)
    }

    /// Adds the manager's time limits where neither the request nor the request serializer has set one. Limits equal to
    /// the configuration's aren't added: the session has them.
    private func completeTimeouts(of request: inout HTTPRequest, _ limits: HTTPRequest.Timeouts) {
        if limits != configuration.timeouts { request.timeouts.fillGaps(from: limits) }
    }

    /// Returns the request that the request serializer makes of a draft and its parameters.
    func serialize(
        _ draft: HTTPRequest, _ parameters: Parameters?, _ snapshot: Snapshot
    ) throws(SessionError) -> HTTPRequest {
        var request = draft
        let serializer = snapshot.settings.requestSerializer
        // Completed first, so that the serializer is given the request as it will be sent: with its absolute URL, all
        // fields, and JSON as bytes.
        try complete(&request, snapshot.settings)
        do {
            var parameters = parameters.unlessNull
            if case .form(var form) = request.body.content {
                if let fields = parameters {
                    form = try form.beginning(with: fields, encoder: serializer.parameterEncoder).form
                }
                // A multipart body must have a part (RFC 2046 5.1.1).
                request.body = form.parts.isEmpty ? .none : HTTPBody(.form(form))
                parameters = nil
            }
            var serialized = try serializer.serialize(
                request, parameters: parameters, encoder: snapshot.settings.handlers.encoder)
            serialized.dropSecrets(of: request)
            return serialized
        } catch {
            throw SessionError(serializingRequest: error, url: request.url)
        }
    }

    /// Whether a URL has the origin of the base URL. True for all URLs if there is no base URL.
    private func isOfBase(_ url: String) -> Bool {
        base?.isOfOrigin(url) ?? true
    }
}
