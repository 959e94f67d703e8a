internal import CAFCore
import FoundationEssentials

/// Owns a reference to an HSTS store of the core. Thread-safe.
final class CoreHSTS: @unchecked Sendable {
    let raw: OpaquePointer

    init(_ path: String?, maximumCount: Int) throws(SessionError) {
        var raw: OpaquePointer?
        try CoreArena.call { (arena, failure) throws(SessionError) in
            var options = afc_hsts_options()
            options.size = MemoryLayout<afc_hsts_options>.stride
            options.path = try arena.copy(path, "the path of the store")
            options.max_hosts = UInt32(clamping: max(1, maximumCount))
            return afc_hsts_new(&raw, &options, &failure)
        }
        guard let raw else { throw SessionError(.outOfMemory) }
        self.raw = raw
    }

    deinit {
        afc_hsts_release(raw)
    }

    func insert(_ host: String, until date: Date?, includingSubdomains: Bool) throws(SessionError) {
        let end = date.map { Int64(unixTime: $0) } ?? .max
        try CoreArena.call { (arena, failure) throws(SessionError) in
            afc_hsts_add(raw, try arena.copy(host, "the host"), end, includingSubdomains, &failure)
        }
    }

    func contains(_ host: String) -> Bool {
        !host.containsNUL && host.withCString { afc_hsts_has(raw, $0) }
    }

    func remove(_ host: String) {
        guard !host.containsNUL else { return }
        _ = host.withCString { afc_hsts_remove(raw, $0) }
    }

    func removeAll() {
        afc_hsts_remove(raw, nil)
    }

    func save(to path: String?) throws(SessionError) {
        try CoreArena.call { (arena, failure) throws(SessionError) in
            afc_hsts_save(raw, try arena.copy(path, "the path of the store"), &failure)
        }
    }

    /// Returns the text of a file with the hosts.
    func exported() throws(SessionError) -> Data {
        var bytes = afc_bytes()
        try CoreArena.call { (_, failure) throws(SessionError) in afc_hsts_export(raw, &bytes, &failure) }
        return Data(taking: bytes)
    }
}
