public import Dispatch

/// Monitors whether a host, or the internet, is reachable and reports changes. The host isn't contacted: the kernel
/// reports (by netlink) whether there is a route, over which link, and whether that link is up.
///
/// ```swift
/// for await state in NetworkReachabilityManager.shared.changes {
///     print(state.status, state.linkName)
/// }
/// ```
///
/// A host that is reachable by this definition may still not respond; for one that isn't, connecting would fail.
/// Thread-safe. All managers of a process share one thread, which sleeps until the network changes.
public final class NetworkReachabilityManager: Sendable {
    /// Monitors the internet, once it is started or there is a sequence of ``changes``.
    public static let shared = NetworkReachabilityManager()

    private let control: ReachabilityControl
    private let storage: ReachabilityStorage

    /// Creates a manager for the internet: a route to addresses outside of the local network.
    public convenience init() {
        self.init(host: .success(nil))
    }

    /// Creates a manager for a host name. The name is resolved, again when the machine's addresses change. The host is
    /// reachable if one of its addresses is. ``startMonitoring()`` throws if the name is empty or longer than 255
    /// bytes.
    public convenience init(domain: String) {
        self.init(host: .success(domain))
    }

    /// Creates a manager for an IPv4 or IPv6 address, such as `192.0.2.1` or `fe80::1%eth0`. `0.0.0.0` and `::` mean
    /// the internet, like ``init()``. ``startMonitoring()`` throws if the address is invalid.
    public convenience init(address: String) {
        let error = SessionError(
            .invalidInput,
            message:
                "invalid address \"\(ASCII.printable(address, limit: 100))\": expected an IPv4 or IPv6 address, such "
                + "as 192.0.2.1 or fe80::1%eth0")
        self.init(host: CoreReachabilityMonitor.isAddress(address) ? .success(address) : .failure(error))
    }

    private init(host: Result<String?, SessionError>) {
        let storage = ReachabilityStorage()
        self.storage = storage
        let monitor = Result { () throws(SessionError) in
            try CoreReachabilityMonitor(host: try host.get()) { storage.receive($0) }
        }
        control = ReachabilityControl(monitor, storage)
        storage.adopt(self)
    }

    deinit {
        storage.finish()
    }

    // MARK: Monitoring

    /// Starts monitoring, until ``stopMonitoring()``. Reports the current state to the ``statusChangeHandler`` once,
    /// then every change. Restarting reports it again. The sequences of ``changes`` need no start.
    ///
    /// - Throws: ``SessionError/Code/invalidInput`` for an invalid host; ``SessionError/Code/unknown`` or
    ///   ``SessionError/Code/outOfMemory`` if a thread or a netlink socket can't be created.
    public func startMonitoring() throws(SessionError) {
        try control.start()
    }

    /// Ends what ``startMonitoring()`` began. The last state is kept. Running handlers complete; no more are called.
    /// While there are sequences of ``changes``, monitoring continues for them.
    public func stopMonitoring() {
        storage.end()
        // Only starting fails.
        try? control.update()
    }

    // MARK: State

    /// The status, and the kind and name of the link.
    public var reachability: NetworkReachability { storage.reachability }

    /// The status; unknown until it was reported for the first time.
    public var status: NetworkReachabilityStatus { reachability.status }

    /// Whether the host is reachable; false while unknown.
    public var isReachable: Bool { reachability.isReachable }
    /// Whether the host is reachable over a cellular link.
    public var isReachableViaWWAN: Bool { reachability.isReachableViaWWAN }
    /// Whether the host is reachable over a link that isn't cellular, including wired ones.
    public var isReachableViaWiFi: Bool { reachability.isReachableViaWiFi }

    /// AFNetworking's text for ``status``, in English.
    public var localizedStatus: String { status.description }

    // MARK: Notifications

    /// Called on ``callbackQueue`` whenever ``reachability`` is reported after ``startMonitoring()``. There is one
    /// handler; setting it replaces the previous one.
    public var statusChangeHandler: (@Sendable (NetworkReachability) -> Void)? {
        get { storage.handler }
        set { storage.handler = newValue }
    }

    /// The queue of the handler, which should be serial; nil for the main queue.
    public var callbackQueue: DispatchQueue? {
        get { storage.queue }
        set { storage.queue = newValue }
    }

    /// A sequence of the current state and then its changes. Each sequence gets every change; a slow reader skips to
    /// the latest.
    ///
    /// The first sequence starts monitoring, and the last one that ends stops it, unless ``startMonitoring()`` was
    /// called. A sequence ends when its loop or task does, when it is released, and when the manager is. It ends at
    /// once, without a state, if monitoring can't be started, as for an invalid host: ``startMonitoring()`` throws the
    /// reason.
    public var changes: AsyncStream<NetworkReachability> { storage.makeStream(control) }
}
