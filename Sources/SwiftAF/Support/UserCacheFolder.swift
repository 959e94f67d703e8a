import FoundationEssentials

/// Folders below the user's cache folder (XDG Base Directory Specification).
package enum UserCacheFolder {
    /// The path of a program's folder in `XDG_CACHE_HOME`, or in `~/.cache`; nil without a home. A relative
    /// `XDG_CACHE_HOME` is ignored, as its specification says. A program name that is no file name becomes `swiftaf`.
    package static func path(of program: String, _ name: String, _ environment: [String: String]) -> String? {
        var base = environment["XDG_CACHE_HOME"] ?? ""
        if !base.hasPrefix("/") {
            guard let home = environment["HOME"], home.hasPrefix("/") else { return nil }
            base = home + "/.cache"
        }
        let isName = !program.isEmpty && program != "." && program != ".." && !program.contains("/")
        return "\(base)/\(isName ? program : "swiftaf")/\(name)"
    }

    /// Makes a folder and those above it with mode 0700. If that fails, opening it reports why.
    package static func make(_ path: String) {
        try? FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }
}
