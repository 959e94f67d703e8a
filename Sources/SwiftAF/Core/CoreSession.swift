internal import CAFCore
import FoundationEssentials
import Synchronization

/// Owns a reference to a session of the core, which has the loop thread, the connections and the trust policy.
final class CoreSession: @unchecked Sendable {
    /// The core's functions for sessions are thread-safe.
    let raw: OpaquePointer
    let configuration: SessionConfiguration
    /// The time limits of requests without their own. Converted once for the session, because the conversion of a
    /// `Duration` takes 300 instructions, which each request of the row `small_16` of Benchmarks/run would pay.
    let timeouts: afc_timeouts
    /// Closures that ``cancelAll(isFinal:)`` calls. They cancel work that has no transfer in the core at the moment,
    /// such as a delay between two attempts.
    let cancellations = Locked(Registry<@Sendable () -> Void>())
    /// Closures that ``invalidate()`` calls. They end delays before a request that the invalidated manager would
    /// refuse.
    let invalidations = Locked(Registry<@Sendable () -> Void>())
    /// Counts the transfers of the core and the work between two of them.
    let activity = SessionActivity()
    /// Runs Swift tasks on the loop thread.
    let executor: CoreExecutor
    /// Whether everything was cancelled for good. Read after each start of a transfer, because ``cancelAll(isFinal:)``
    /// may run at the same time and miss it.
    private let isCancelled = Atomic(false)

    /// Starts a session.
    ///
    /// - Throws: ``SessionError/Code/invalidInput`` for a user agent that isn't a valid header value, for an option out
    ///   of range, and for invalid proxies, trust policies or TLS options; ``SessionError/Code/file`` for an unreadable
    ///   certificate file; ``SessionError/Code/unsupported`` for an unknown version of HTTP.
    init(_ configuration: SessionConfiguration) throws(SessionError) {
        if let fault = configuration.fault { throw SessionError(.invalidInput, message: fault) }
        try configuration.httpVersion.validate()
        let policy = try CoreTrustPolicy(configuration.securityPolicy)
        // Without a policy for proxies, the core uses its defaults, which are the same as SecurityPolicy.default.
        let proxyPolicy =
            configuration.proxySecurityPolicy == .default ? nil : try CoreTrustPolicy(configuration.proxySecurityPolicy)
        let arena = CoreArena()
        var options = try Self.options(configuration, arena)
        options.trust = policy.raw
        options.proxy_trust = proxyPolicy?.raw
        let jobs = CoreExecutor.prepare(&options, keeping: configuration.tls.clientCertificateHandler)
        var failure = afc_failure()
        var raw: OpaquePointer?
        let status = afc_session_new(&raw, &options, &failure)
        // Keeps alive what the options point to.
        withExtendedLifetime((arena, policy, proxyPolicy)) {}
        guard status == .AFC_OK, let raw else {
            Unmanaged.passUnretained(jobs).release()
            throw SessionError(failure)
        }
        self.raw = raw
        executor = CoreExecutor(raw, jobs)
        self.configuration = configuration
        var timeouts = afc_timeouts()
        timeouts.replace(by: .standard)
        timeouts.replace(by: configuration.timeouts)
        self.timeouts = timeouts
    }

    /// Returns the core's options without the trust policies. They are valid as long as the arena.
    static func options(
        _ configuration: SessionConfiguration, _ arena: CoreArena
    ) throws(SessionError) -> afc_session_options {
        let userAgent = configuration.userAgent ?? DefaultHeaders.all[.userAgent] ?? ""
        guard !userAgent.utf8.contains(where: ASCII.isForbiddenInField) else {
            throw SessionError(.invalidInput, message: "the user agent contains a control character")
        }
        var options = afc_session_options()
        options.size = MemoryLayout<afc_session_options>.stride
        options.max_connections_per_host = UInt32(clamping: configuration.maximumConnectionsPerHost ?? 0)
        options.max_connections = UInt32(clamping: configuration.maximumConnections ?? 0)
        options.max_idle_connections = UInt32(clamping: configuration.maximumIdleConnections)
        options.max_idle_s = UInt32(clamping: configuration.idleConnectionLifetime.wholeSecondsRoundedUp)
        options.max_connection_age_s = UInt32(clamping: configuration.maximumConnectionAge?.wholeSecondsRoundedUp ?? 0)
        options.max_requests_per_connection = UInt32(clamping: configuration.maximumRequestsPerConnection ?? 0)
        options.user_agent = userAgent.isEmpty ? nil : try arena.copy(userAgent, "the user agent")
        // on_done passes the result to a Swift task or a queue on another thread. Batched results wake that thread
        // once.
        options.gather_results = true
        options.tls = try arena.options(configuration.tls)
        options.proxies = try arena.copy(configuration.proxies)
        options.network = try arena.options(configuration.network)
        options.cookies = configuration.cookieStorage?.core.raw
        options.cookie_policy = afc_cookie_policy(configuration.cookieAcceptPolicy)
        options.hsts = configuration.hsts?.core.raw
        options.http_cache = configuration.cache?.core.raw
        options.cache_partition = try arena.copy(configuration.cachePartition, "the partition of the cache")
        return options
    }

    deinit {
        afc_session_release(raw)
    }

    /// Cancels every started task, and work that waits before it starts one.
    ///
    /// - Parameter isFinal: Whether no such work and no transfer may begin afterwards either.
    func cancelAll(isFinal: Bool) {
        if isFinal { isCancelled.store(true, ordering: .sequentiallyConsistent) }
        for handler in cancellations.withLock({ isFinal ? $0.close() : $0.all }) { handler() }
        afc_session_cancel_all(raw)
    }

    /// Ends the delays before requests that the invalidated manager would refuse. No new ones can begin.
    func invalidate() {
        for handler in invalidations.withLock({ $0.close() }) { handler() }
    }

    /// Whether a transfer that has just started must be cancelled, because a final ``cancelAll(isFinal:)`` may have
    /// missed it.
    var cancelsStarted: Bool { isCancelled.load(ordering: .sequentiallyConsistent) }

    var statistics: SessionStatistics {
        var core = afc_session_statistics()
        afc_session_get_statistics(raw, &core)
        return SessionStatistics(
            tasks: core.tasks, posts: core.posts, wakeups: core.wakeups, turns: core.turns, events: core.events,
            connections: core.connections)
    }

    /// Blocks until the threads of all released sessions have ended.
    static func joinClosed() {
        afc_join_closed_sessions()
    }
}

/// Counters of a session since it was made.
package struct SessionStatistics: Hashable, Sendable {
    /// The number of transfers started.
    package var tasks: UInt64
    /// The number of operations posted to the loop.
    package var posts: UInt64
    /// The number of times the loop was woken for them.
    package var wakeups: UInt64
    /// The number of iterations of the loop.
    package var turns: UInt64
    /// The number of events that the loop delivered to Swift.
    package var events: UInt64
    /// The number of connections opened.
    package var connections: UInt64
}

extension afc_slice {
    /// Creates a view of bytes without owning them.
    init(_ bytes: UnsafeRawBufferPointer) {
        self.init(bytes: bytes.baseAddress?.assumingMemoryBound(to: CChar.self), size: bytes.count)
    }

    var buffer: UnsafeBufferPointer<UInt8> {
        let raw = UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : size)
        return raw.assumingMemoryBound(to: UInt8.self)
    }

    var text: String { String(decoding: buffer, as: UTF8.self) }
}
