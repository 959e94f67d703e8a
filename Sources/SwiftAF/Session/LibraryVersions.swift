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
    public static let current = LibraryVersions.fromCore
}
