internal import CAFCore
import FoundationEssentials

/// Owns one reference to an HSTS store of the core, which any thread may use.
final class CoreHSTS: @unchecked Sendable {
    let raw: OpaquePointer

    init(_ path: String?, maximumCount: Int) throws(SessionError) {
        let arena = CoreArena()
        var options = af_hsts_options()
        options.size = MemoryLayout<af_hsts_options>.stride
        options.path = try arena.copy(path, "the path of the store")
        options.max_hosts = UInt32(clamping: max(1, maximumCount))
        var failure = af_failure()
        var raw: OpaquePointer?
        let status = af_hsts_new(&raw, &options, &failure)
        withExtendedLifetime(arena) {}
        guard status == .AF_OK, let raw else { throw SessionError(failure) }
        self.raw = raw
    }

    deinit {
        af_hsts_release(raw)
    }

    func insert(_ host: String, until date: Date?, includingSubdomains: Bool) throws(SessionError) {
        let arena = CoreArena()
        let name = try arena.copy(host, "the host")
        let seconds = date.map { $0.timeIntervalSince1970.rounded(.down) }
        let end = seconds.map { Int64(exactly: $0) ?? ($0 > 0 ? .max : 0) } ?? .max
        var failure = af_failure()
        let status = af_hsts_add(raw, name, end, includingSubdomains, &failure)
        withExtendedLifetime(arena) {}
        guard status == .AF_OK else { throw SessionError(failure) }
    }

    func contains(_ host: String) -> Bool {
        !host.utf8.contains(0) && host.withCString { af_hsts_has(raw, $0) }
    }

    func remove(_ host: String) {
        guard !host.utf8.contains(0) else { return }
        _ = host.withCString { af_hsts_remove(raw, $0) }
    }

    func removeAll() {
        af_hsts_remove(raw, nil)
    }

    func save(to path: String?) throws(SessionError) {
        let arena = CoreArena()
        let place = try arena.copy(path, "the path of the store")
        var failure = af_failure()
        let status = af_hsts_save(raw, place, &failure)
        withExtendedLifetime(arena) {}
        guard status == .AF_OK else { throw SessionError(failure) }
    }
}
