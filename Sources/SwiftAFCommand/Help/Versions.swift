import SwiftAF

/// The output of `--version`, and the program's User-Agent.
enum Versions {
    /// The default User-Agent.
    static let userAgent = "swiftaf/\(LibraryVersions.ofCore)"

    static let text: String = {
        let versions = LibraryVersions.current
        return """
            swiftaf \(versions.core)
            libafcore \(versions.core)
            libcurl \(versions.curl)
            \(versions.tls.split(separator: "/", maxSplits: 1).joined(separator: " "))
            features \(versions.features.joined(separator: " "))

            """
    }()
}
