import FoundationEssentials
import Glibc
import SwiftAF

/// Whether, where and how stored responses are used.
struct CacheOptions: Sendable, Equatable {
    /// Whether responses are stored and used again.
    var isUsed = false
    /// The folder; nil for `swiftaf/http` in the user's cache folder.
    var folder: RawText?
    /// How requests use the cache; nil for the rules of HTTP.
    var policy: HTTPRequest.CachePolicy?

    /// Opens the cache.
    func open(_ environment: [String: String]) throws(Failure) -> HTTPCache {
        let path: String
        if let folder {
            // The library creates a folder only if its path is text.
            if folder.text == nil { _ = folder.withCString { mkdir($0, 0o700) } }
            path = try InputFile.name(folder, opening: .anything)
        } else {
            path = try Self.defaultFolder(environment)
            UserFolders.make(path)
        }
        do {
            return try HTTPCache(directory: path)
        } catch {
            throw Failure(error)
        }
    }

    /// Returns whether the folder exists. If it doesn't, there are no responses to show or remove, and it isn't created
    /// for that.
    ///
    /// - Throws: If a folder is named that doesn't exist.
    func exists(_ environment: [String: String]) throws(Failure) -> Bool {
        guard let folder else { return InputFile.exists(RawText(try Self.defaultFolder(environment))) }
        guard InputFile.exists(folder) else {
            throw Failure(.input, .invalidInput, "there is no cache at \(folder.shown.printable)")
        }
        return true
    }

    private static func defaultFolder(_ environment: [String: String]) throws(Failure) -> String {
        guard let path = UserFolders.cache(of: "swiftaf", "http", environment) else {
            throw Failure(UsageError("the environment names no folder for a cache: name a folder with --cache=DIR"))
        }
        return path
    }
}

extension OptionTable {
    static let cache: [OptionEntry] = [
        OptionEntry.bytes(
            "--cache", placeholder: "[=DIR]",
            help: "store responses and use them again, in DIR or ~/.cache/swiftaf/http",
            for: [.request, .image, .cache]
        ) { options, value throws(UsageError) in
            options.cache.isUsed = true
            if !value.bytes.isEmpty { options.cache.folder = try Argument.path(value, of: "--cache") }
        }.withOptionalValue,
        .flag("--no-cache", help: "neither use nor store responses (default)", for: [.request, .image]) {
            $0.cache = CacheOptions()
        },
        .flag(
            "--cache-only", help: "use a stored response, however old; never ask the server", for: [.request, .image]
        ) {
            $0.cache.isUsed = true
            $0.cache.policy = .returnCacheDataDontLoad
        },
        .flag("--refresh", help: "ask the server, and store its response", for: [.request, .image]) {
            $0.cache.isUsed = true
            $0.cache.policy = .reloadIgnoringLocalCacheData
        },
    ]
}
