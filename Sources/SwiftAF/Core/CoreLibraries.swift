internal import CAFCore

/// The libraries that the core uses.
package enum CoreLibraries {
    /// Initialises libcurl and OpenSSL ahead of the first session, which would do it otherwise. Any thread may call it.
    package static func prepare() {
        afc_prepare()
    }
}

/// The versions of the libraries that the program uses.
public struct LibraryVersions: Sendable, Hashable {
    /// The version of libafcore and SwiftAF, such as `0.1.0`.
    public let core: String
    /// The version of libcurl, such as `7.88.1`.
    public let curl: String
    /// The TLS library and its version, such as `OpenSSL/3.0.15`.
    public let tls: String
    /// The features of this build of libcurl, such as `HTTP2`, `brotli`, `IPv6`.
    public let features: [String]

    /// The versions in this process.
    public static let current = LibraryVersions.fromCore

    /// The version of libafcore alone, which is cheaper to get than ``current``.
    package static var ofCore: String { String(cString: afc_version()) }

    private static var fromCore: LibraryVersions {
        var count = 0
        let names = UnsafeBufferPointer(start: afc_curl_features(&count), count: count)
        return LibraryVersions(
            core: ofCore, curl: String(cString: afc_curl_version()),
            tls: String(cString: afc_tls_version()), features: names.compactMap { $0.map { String(cString: $0) } })
    }
}
