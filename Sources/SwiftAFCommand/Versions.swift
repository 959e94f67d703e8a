import SwiftAF

/// What `--version` prints, and what the program calls itself.
enum Versions {
    /// The User-Agent that is sent by default.
    static let userAgent = "swiftaf/\(LibraryVersions.current.core)"

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
