import FoundationEssentials
import SwiftAF

/// Separates the stored responses of runs whose servers or users may differ: each combination of such options has its
/// own partition of the cache.
///
/// Options of trust aren't part of it, because the library uses a response only under the trust policy that accepted
/// its server. Nor are credentials: the library separates their responses itself.
struct CachePartition {
    private var text: [UInt8] = []

    /// Adds the value of an option. Its size comes first, so that two different lists of options never make the same
    /// text.
    private mutating func add(_ option: String, _ value: some Collection<UInt8>) {
        text += Array("\(option) \(value.count)\n".utf8)
        text += value
    }

    /// - Parameter certificates: The content of the files of the client certificate, empty without one.
    init(_ options: Options, certificates: [Data]) {
        for content in certificates { add("cert", content) }
        if let path = options.unixSocket { add("unix-socket", path.bytes) }
        for override in options.network.hostOverrides {
            add("resolve", "\(override.host):\(override.port):\(override.addresses.joined(separator: ","))".utf8)
        }
        if let server = options.network.dnsOverHTTPS { add("doh", server.utf8) }
        for path in options.cookieInputs { add("cookie jar", path.bytes) }
        if let path = options.cookieJar { add("cookies", path.bytes) }
        if let name = options.session { add("session", name.bytes) }
    }

    /// Adds to a run's partition the Cookie field, which is known only with the request: an item, `-H`, `-b` or a named
    /// session may give it.
    ///
    /// - Parameter partition: The name of the run's partition.
    init(_ partition: String?, request: HTTPRequest) {
        let cookies = request.headers.fields.filter { $0.isNamed(.cookie) }
        // Without the field, the cookies of a jar would be sent.
        let isSuppressed = request.headers.isSuppressed(.cookie)
        if let partition { add("run", partition.utf8) }
        for field in cookies { add("cookie", field.rawValue) }
        if isSuppressed { add("no cookie", []) }
    }

    /// Returns the name of the partition: a fingerprint, because others may be able to read the folder, and cookies are
    /// secrets. Nil for the partition that all runs without these options share.
    func name() throws(Failure) -> String? {
        guard !text.isEmpty else { return nil }
        do throws(SessionError) {
            return try HTTPCache.fingerprint(of: text)
        } catch {
            throw Failure(error)
        }
    }
}
