public import Dispatch

/// Watches the way to a host, or to the internet as such, and tells when it changes. No host is asked: the kernel says
/// whether it has a route, over which link, and whether that link is up.
///
/// ```swift
/// let reachability = NetworkReachabilityManager.shared
/// try reachability.startMonitoring()
/// for await state in reachability.changes {
///     print(state.status, state.linkName)
/// }
/// ```
///
/// A host that is reachable by this may still not answer; one that is not need not be tried. Any thread may use it.
/// All managers of a process share one thread, which sleeps until the network changes.
public final class NetworkReachabilityManager: Sendable {
    /// Watches the internet. Not started.
    public static let shared = NetworkReachabilityManager()

    private let monitor: Result<CoreMonitor, SessionError>
    private let storage: ReachabilityStorage

    /// Watches the internet as such: a route to addresses that are nobody's neighbour.
    public convenience init() {
        self.init(host: .success(nil))
    }

    /// Watches a host by its name, which is looked up, again when the machine's addresses change. It is reachable when
    /// one of its addresses is. A name that is empty or longer than 255 bytes is an error of ``startMonitoring()``.
    public convenience init(domain: String) {
        self.init(host: .success(domain))
    }

    /// Watches an IPv4 or IPv6 address, such as `192.0.2.1` or `fe80::1%eth0`. A text that is none is an error of
    /// ``startMonitoring()``.
    public convenience init(address: String) {
        let error = SessionError(.invalidInput, message: "\"\(address)\" is no address")
        self.init(host: CoreMonitor.isAddress(address) ? .success(address) : .failure(error))
    }

    private init(host: Result<String?, SessionError>) {
        let storage = ReachabilityStorage()
        self.storage = storage
        monitor = Result { () throws(SessionError) in
            try CoreMonitor(host: try host.get()) { storage.receive($0) }
        }
        storage.adopt(self)
    }

    deinit {
        storage.finish()
    }

    // MARK: Monitoring

    /// Begins to watch. The state is told once, then whenever it changes. Starting again tells it again.
    ///
    /// - Throws: ``SessionError/Code/invalidInput`` for a host that is none; ``SessionError/Code/unknown`` or
    ///   ``SessionError/Code/outOfMemory`` where the system refuses a thread or a netlink socket.
    public func startMonitoring() throws(SessionError) {
        let monitor = try monitor.get()
        storage.begin()
        try monitor.start()
    }

    /// Watches no more. What is known stays. Handlers that run at that moment run to their end, others are not called.
    public func stopMonitoring() {
        storage.end()
        (try? monitor.get())?.stop()
    }

    // MARK: What is known

    /// Status, kind and name of the link.
    public var reachability: NetworkReachability { storage.reachability }

    /// Unknown until it was told for the first time.
    public var status: NetworkReachabilityStatus { reachability.status }

    /// False, too, while it is unknown.
    public var isReachable: Bool { reachability.isReachable }
    public var isReachableViaWWAN: Bool { reachability.isReachableViaWWAN }
    /// True for wires as well.
    public var isReachableViaWiFi: Bool { reachability.isReachableViaWiFi }

    /// ``status`` in AFNetworking's words. English, as long as there are no translations.
    public var localizedStatus: String { status.description }

    // MARK: Hearing of changes

    /// Called on ``callbackQueue`` whenever ``reachability`` is told. There is one; whoever sets another replaces it.
    public var statusChangeHandler: (@Sendable (NetworkReachability) -> Void)? {
        get { storage.handler }
        set { storage.handler = newValue }
    }

    /// Where the handler is called; nil for the main queue. It should be a serial one.
    public var callbackQueue: DispatchQueue? {
        get { storage.queue }
        set { storage.queue = newValue }
    }

    /// What is told from now on, and first what is known, if anything is. Each sequence hears everything; one that is
    /// read slowly skips to the newest. It ends with the manager, and does not start it.
    public var changes: AsyncStream<NetworkReachability> { storage.makeStream() }
}
