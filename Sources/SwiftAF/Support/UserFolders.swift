import FoundationEssentials

/// The folders of a user, as the environment names them (XDG Base Directory Specification). Relative paths are ignored,
/// as the specification demands.
package enum UserFolders {
    /// Returns `HOME`; nil if it isn't an absolute path.
    package static func home(_ environment: [String: String]) -> String? { absolute("HOME", environment) }

    /// Returns `XDG_CONFIG_HOME`, or `~/.config`; nil without a home.
    package static func configuration(_ environment: [String: String]) -> String? {
        absolute("XDG_CONFIG_HOME", environment) ?? home(environment).map { $0 + "/.config" }
    }

    /// Returns the path of a program's folder in `XDG_CACHE_HOME`, or in `~/.cache`; nil without a home. A program name
    /// that isn't a file name is replaced by `swiftaf`.
    package static func cache(of program: String, _ name: String, _ environment: [String: String]) -> String? {
        guard let base = absolute("XDG_CACHE_HOME", environment) ?? home(environment).map({ $0 + "/.cache" }) else {
            return nil
        }
        let isName = !["", ".", ".."].contains(program) && !program.utf8.contains(UInt8(ascii: "/"))
        return "\(base)/\(isName ? program : "swiftaf")/\(name)"
    }

    private static func absolute(_ variable: String, _ environment: [String: String]) -> String? {
        environment[variable].flatMap { $0.utf8.first == UInt8(ascii: "/") ? $0 : nil }
    }

    /// Creates a folder and its parents with mode 0700. Ignores errors: opening a file in it reports them.
    package static func make(_ path: String) {
        try? FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }
}
