import FoundationEssentials
public import SwiftAF

extension ImageDownloader {
    /// The configuration of downloaders without a fetcher of their own: the default one, with ``defaultCache``.
    public static var defaultSessionConfiguration: SessionConfiguration {
        var configuration = SessionConfiguration.default
        configuration.cache = defaultCache
        return configuration
    }

    /// The HTTP cache of ``defaultSessionConfiguration``, which keeps images as they were received, for all sizes and
    /// processors: 20 MiB in memory, and 150 MiB in the folder `PROGRAM/images` of `XDG_CACHE_HOME`, or of `~/.cache`.
    /// If that folder can't be made or used, responses are kept in memory only. Opened when it is first needed, and
    /// shared by all sessions of the process.
    public static let defaultCache: HTTPCache? = {
        let process = ProcessInfo.processInfo
        return makeCache(environment: process.environment, program: process.processName)
    }()

    /// Opens the cache; nil only if there is too little memory.
    static func makeCache(environment: [String: String], program: String) -> HTTPCache? {
        if let folder = UserFolders.cache(of: program, "images", environment) {
            UserFolders.make(folder)
            if let cache = try? HTTPCache(directory: folder) { return cache }
        }
        return try? HTTPCache()
    }
}
