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
}
