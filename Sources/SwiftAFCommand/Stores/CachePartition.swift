import FoundationEssentials
import SwiftAF

/// Keeps the stored responses of runs apart whose servers or users may be others: by the partition of the cache.
///
/// Trust isn't among it, as the library uses a response only under the trust policy that has accepted its server, nor
/// are credentials, whose responses it keeps apart, too.
struct CachePartition {
    private var text: [UInt8] = []

    /// Adds what an option says. Its size comes first, so that no two lists of options are the same text.
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

    /// Adds to a run's partition what only its request says: the Cookie field, whatever it was given by. An item, `-H`,
    /// `-b` and a named session all may.
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

    /// The partition: a fingerprint, as the folder is for anyone who may read it, and cookies are secrets. Nil for the
    /// one that runs share in which none of these options is given.
    func name() throws(Failure) -> String? {
        guard !text.isEmpty else { return nil }
        do throws(SessionError) {
            return try HTTPCache.fingerprint(of: text)
        } catch {
            throw Failure(error)
        }
    }
}
