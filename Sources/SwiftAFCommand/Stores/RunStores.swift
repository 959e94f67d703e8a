import FoundationEssentials
import SwiftAF

/// The stores that a run reads before its first request and writes when it has ended: cookies, known HSTS hosts, stored
/// responses.
struct RunStores {
    private let cookies: [CookieOutput]
    private let hosts: HSTSFile?
    private let cache: HTTPCache?

    /// Reads the cookies and the HSTS hosts into a configuration.
    init(_ options: Options, _ configuration: inout SessionConfiguration) throws(Failure) {
        let jars = try CookieJars(options)
        configuration.cookieStorage = jars?.storage
        hosts = try options.hstsPath.map { path throws(Failure) in try HSTSFile(path) }
        configuration.hsts = hosts?.store
        cookies = jars?.outputs ?? []
        cache = configuration.cache
    }

    /// Writes the stores. If one can't be written, the failure is added to the outcome.
    func save(_ outcome: inout Outcome) async {
        await cache?.flush()
        var printed: Data?
        let received = outcome
        for jar in cookies {
            await outcome.attempt(for: jar.option) { () throws(Failure) in
                if let cookies = try jar.printed() { return printed = cookies }
                if try !jar.keepsFile(after: received) { try await jar.save() }
            }
        }
        outcome.cookies = printed
        await outcome.attempt(for: "--hsts") { () throws(Failure) in try await hosts?.save() }
    }

    /// Writes the archive of `--har`.
    static func write(_ archive: HARRecorder, to path: RawText, _ outcome: inout Outcome) {
        do throws(SessionError) {
            try OutputFile.write(archive.data(), to: path, isShown: true)
        } catch {
            outcome.add(Failure(error).naming("--har"))
        }
    }
}

extension Outcome {
    /// Does work that follows a transfer, for an option, and adds its failure if it has one.
    mutating func attempt(for option: String, _ work: () async throws(Failure) -> Void) async {
        do throws(Failure) {
            try await work()
        } catch {
            add(error.naming(option))
        }
    }
}
