internal import CAFCore

/// The versions of what a program runs with.
public struct LibraryVersions: Sendable, Hashable {
    /// libafcore's, which is SwiftAF's: `0.1.0`.
    public let core: String
    /// libcurl's: `7.88.1`.
    public let curl: String
    /// The TLS library and its version: `OpenSSL/3.0.15`.
    public let tls: String
    /// What this libcurl was built with: `HTTP2`, `brotli`, `IPv6`, …
    public let features: [String]

    /// Those of this process.
    public static let current = LibraryVersions()

    private init() {
        core = String(cString: af_version())
        curl = String(cString: af_curl_version())
        tls = String(cString: af_tls_version())
        var count = 0
        let names = UnsafeBufferPointer(start: af_curl_features(&count), count: count)
        features = names.compactMap { $0.map { String(cString: $0) } }
    }
}
