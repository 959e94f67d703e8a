internal import CAFCore
import FoundationEssentials

/// Owns one reference to a session of the core: its loop thread, connections and trust policy.
final class CoreSession: @unchecked Sendable {
    /// What is fixed for a session's life.
    struct Options {
        var connectionsPerHost: UInt32
        var connections: UInt32
        var idleConnections: UInt32
        var idleSeconds: UInt32
        var userAgent: String
        var security: SecurityPolicy
        var tls: TLSOptions
        var proxies: ProxyConfiguration
        var network: NetworkOptions
        var cookieStorage: CookieStorage?
        var cookieAcceptPolicy: HTTPCookie.AcceptPolicy
        var hsts: HSTSStore?
        var proxySecurity: SecurityPolicy
    }

    /// The core lets any thread use it.
    let raw: OpaquePointer
    let defaults: CoreDefaults
    /// Those that wait between two transfers.
    let cancellations = CancellationList()

    /// Starts a session.
    ///
    /// - Throws: ``SessionError/Code/invalidInput`` for a user agent that can't be a header value for proxies that
    ///   are none and for what can't be read of the trust policy or the TLS options, ``SessionError/Code/file`` for an unreadable file of
    ///   certificates.
    init(_ options: Options, defaults: CoreDefaults) throws(SessionError) {
        guard !options.userAgent.utf8.contains(where: ASCII.isForbiddenInField) else {
            throw SessionError(.invalidInput, message: "the user agent contains a control character")
        }
        let policy = try CoreTrustPolicy(options.security)
        // The core's own defaults are the same.
        let proxyPolicy = options.proxySecurity == .default ? nil : try CoreTrustPolicy(options.proxySecurity)
        let arena = CoreArena()
        let tls = try arena.options(options.tls)
        let proxies = try CoreProxies(options.proxies)
        let network = try arena.options(options.network)
        var failure = af_failure()
        var raw: OpaquePointer?
        let status = options.userAgent.withCString { userAgent in
            var core = af_session_options(options, userAgent: userAgent, policy: policy)
            core.tls = tls
            core.proxies = proxies.raw
            core.proxy_trust = proxyPolicy?.raw
            core.network = network
            core.cookies = options.cookieStorage?.core.raw
            core.hsts = options.hsts?.core.raw
            core.cookie_policy = af_cookie_policy(options.cookieAcceptPolicy)
            core.keep(options.tls.clientCertificateHandler)
            return af_session_new(&raw, &core, &failure)
        }
        // What the options point to.
        withExtendedLifetime((arena, policy, proxyPolicy, proxies)) {}
        guard status == .AF_OK, let raw else {
            if let handler = options.tls.clientCertificateHandler { Unmanaged.passUnretained(handler).release() }
            throw SessionError(failure)
        }
        self.raw = raw
        self.defaults = defaults
    }

    deinit {
        af_session_release(raw)
    }

    /// Cancels every task that was begun, and what waits to begin another.
    func cancelAll() {
        cancellations.cancelAll()
        af_session_cancel_all(raw)
    }

    var statistics: SessionStatistics {
        var core = af_session_statistics()
        af_session_get_statistics(raw, &core)
        return SessionStatistics(
            tasks: core.tasks, posts: core.posts, wakeups: core.wakeups, turns: core.turns, events: core.events,
            connections: core.connections)
    }

    /// Waits until the threads of all sessions that nobody holds have ended.
    static func joinClosed() {
        af_join_closed_sessions()
    }
}

/// Counters of a session since it was made.
package struct SessionStatistics: Hashable, Sendable {
    /// Transfers started.
    package var tasks: UInt64
    /// Operations that crossed into the loop.
    package var posts: UInt64
    /// Times that the loop was woken for them.
    package var wakeups: UInt64
    /// Turns of the loop.
    package var turns: UInt64
    /// Events that crossed from the loop into Swift.
    package var events: UInt64
    /// Connections opened.
    package var connections: UInt64
}

extension af_session_options {
    fileprivate init(
        _ options: CoreSession.Options, userAgent: UnsafePointer<CChar>, policy: CoreTrustPolicy
    ) {
        self.init()
        size = MemoryLayout<Self>.stride
        max_connections_per_host = options.connectionsPerHost
        max_connections = options.connections
        max_idle_connections = options.idleConnections
        max_idle_s = options.idleSeconds
        user_agent = options.userAgent.isEmpty ? nil : userAgent
        // on_done resumes a Swift task or a queue: always another thread.
        gather_results = true
        trust = policy.raw
    }
}

extension af_session_options {
    /// Holds the handler until the session has ended, handshakes and all.
    fileprivate mutating func keep(_ handler: ClientCertificateHandler?) {
        guard let handler else { return }
        context = Unmanaged.passRetained(handler).toOpaque()
        on_closed = { context in
            if let context { Unmanaged<ClientCertificateHandler>.fromOpaque(context).release() }
        }
    }
}

extension af_slice {
    /// A view of bytes that somebody else keeps.
    init(_ bytes: UnsafeRawBufferPointer) {
        self.init(bytes: bytes.baseAddress?.assumingMemoryBound(to: CChar.self), size: bytes.count)
    }

    var buffer: UnsafeBufferPointer<UInt8> {
        let raw = UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : size)
        return raw.assumingMemoryBound(to: UInt8.self)
    }

    var text: String { String(decoding: buffer, as: UTF8.self) }
}
