internal import CAFCore
import Glibc

/// Owns a reachability monitor of the core. Thread-safe.
final class CoreReachabilityMonitor: @unchecked Sendable {
    private let raw: OpaquePointer

    typealias Receiver = @Sendable (NetworkReachability) -> Void

    private final class Target {
        let receive: Receiver

        init(_ receive: @escaping Receiver) {
            self.receive = receive
        }
    }

    /// - Parameters:
    ///   - host: A host name or an IP address; nil monitors the route to the internet.
    ///   - receive: Called on the monitors' thread; must not block.
    init(host: String?, _ receive: @escaping Receiver) throws(SessionError) {
        if let host, host.containsNUL {
            throw SessionError(.invalidInput, message: "the host contains NUL")
        }
        var options = afc_reach_monitor_options()
        options.size = MemoryLayout<afc_reach_monitor_options>.stride
        options.on_change = { context, state in
            guard let context, let state else { return }
            Unmanaged<Target>.fromOpaque(context).takeUnretainedValue().receive(NetworkReachability(state.pointee))
        }
        options.release = { $0.map { Unmanaged<Target>.fromOpaque($0).release() } }
        let target = Unmanaged.passRetained(Target(receive))
        options.context = target.toOpaque()
        var raw: OpaquePointer?
        var failure = afc_failure()
        let status = Self.withText(host) { text in
            options.host = text
            return afc_reach_monitor_new(&raw, &options, &failure)
        }
        guard status == .AFC_OK, let raw else {
            target.release()
            throw SessionError(failure)
        }
        self.raw = raw
    }

    deinit {
        afc_reach_monitor_free(raw)
    }

    /// Starts or restarts monitoring. The current state is reported again.
    func start() throws(SessionError) {
        var failure = afc_failure()
        guard afc_reach_monitor_start(raw, &failure) == .AFC_OK else { throw SessionError(failure) }
    }

    /// Stops monitoring. A callback that is already running may still deliver a state.
    func stop() {
        afc_reach_monitor_stop(raw)
    }

    /// Whether a string is an IPv4 or IPv6 address, with or without a zone.
    static func isAddress(_ text: String) -> Bool {
        let address = text.prefix { $0 != "%" }
        guard !text.containsNUL else { return false }
        return withUnsafeTemporaryAllocation(of: in6_addr.self, capacity: 1) { room in
            address.withCString { inet_pton(AF_INET6, $0, room.baseAddress) } == 1
                || text.withCString { inet_pton(AF_INET, $0, room.baseAddress) } == 1
        }
    }

    private static func withText<Result>(_ text: String?, _ use: (UnsafePointer<CChar>?) -> Result) -> Result {
        guard let text else { return use(nil) }
        return text.withCString { use($0) }
    }
}

extension NetworkReachabilityStatus {
    /// The core's text for ``description``.
    var coreText: String {
        String(cString: afc_reach_status_text(afc_reach_status(rawValue: Int32(rawValue)) ?? .AFC_REACH_UNKNOWN))
    }
}

extension NetworkReachability {
    fileprivate init(_ core: afc_reachability) {
        self.init(NetworkReachabilityStatus(core.status), link: NetworkLink(core.link))
        linkName = String.fromCArray(core.link_name)
    }
}

extension NetworkReachabilityStatus {
    fileprivate init(_ core: afc_reach_status) {
        self = NetworkReachabilityStatus(rawValue: Int(core.rawValue)) ?? .unknown
    }
}

extension NetworkLink {
    fileprivate init(_ core: afc_link_kind) {
        self =
            switch core {
            case .AFC_LINK_LOOPBACK: .loopback
            case .AFC_LINK_WIRED: .wired
            case .AFC_LINK_WIRELESS: .wireless
            case .AFC_LINK_CELLULAR: .cellular
            case .AFC_LINK_OTHER: .other
            case .AFC_LINK_UNKNOWN: .unknown
            @unknown default: .unknown
            }
    }
}
