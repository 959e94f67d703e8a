import FoundationEssentials
import SwiftAF

/// A command about the stored responses.
enum CacheCommand: Sendable, Equatable {
    case list, verify
    /// Prints the response to a GET request.
    case show(url: String)
    /// Removes the responses to requests for a URL; nil: all.
    case clear(url: String?)

    /// The words that follow `cache`, for completions.
    static let names = ["list", "show", "clear", "verify"]

    /// The URL that the command is about; nil without one.
    fileprivate var url: String? {
        switch self {
        case .show(let url), .clear(let url?): url
        case .list, .verify, .clear(nil): nil
        }
    }

    init(_ words: ArraySlice<RawText>) throws(UsageError) {
        let name = try words.first?.text(of: "the command") ?? ""
        let url = try words.dropFirst().first?.text(of: "the URL")
        switch (name, url, words.count) {
        case ("list", nil, 1): self = .list
        case ("verify", nil, 1): self = .verify
        case ("show", let url?, 2): self = .show(url: ShortURL.complete(url, isURL: true))
        case ("clear", let url?, 2): self = .clear(url: ShortURL.complete(url, isURL: true))
        case ("clear", nil, 1): self = .clear(url: nil)
        default:
            let isKnown = name.isEmpty || Self.names.contains(name)
            let suggestion = isKnown ? "" : Suggestion.text(for: name, among: Self.names)
            throw UsageError("cache needs list, show URL, clear [URL] or verify\(suggestion)")
        }
    }
}

/// Runs a ``CacheCommand``.
struct CacheRun {
    let command: CacheCommand
    let options: Options
    let environment: [String: String]

    func run() async throws(Failure) -> Outcome {
        // An invalid URL is refused whether there is a cache or not.
        if let url = command.url {
            do throws(SessionError) {
                try HTTPRequest(url).validate()
            } catch {
                throw Failure(error)
            }
        }
        guard try options.cache.exists(environment) else { return withoutCache }
        let cache = try options.cache.open(environment)
        do throws(SessionError) {
            switch command {
            case .list: return list(try await cache.entries())
            case .verify:
                let result = try await cache.verify()
                return verified((result.validCount, result.bodySize, result.damagedCount))
            case .show(let url):
                return shown(url, try await newest(cache, url))
            case .clear(let url): return try await clear(cache, url)
            }
        } catch {
            throw Failure(error)
        }
    }

    /// The outcome if nothing was ever stored.
    private var withoutCache: Outcome {
        switch command {
        case .list: list([])
        case .verify: verified((0, 0, 0))
        case .show(let url): shown(url, nil)
        case .clear: cleared(0)
        }
    }

    /// Text for people, or fields for the report.
    private func outcome(_ text: @autoclosure () -> String, _ fields: KeyValuePairs<String, JSONValue>) -> Outcome {
        var outcome = options.printsJSON ? Outcome() : Outcome(.text(text()))
        outcome.addedFields = fields.map { ($0.key, $0.value) }
        return outcome
    }

    // MARK: Listing

    private func list(_ entries: [HTTPCache.Entry]) -> Outcome {
        let sorted = entries.sorted { ($0.url, $1.date) < ($1.url, $0.date) }
        return outcome(sorted.map(Self.line).joined(), ["entries": .array(sorted.map(Self.value))])
    }

    private static func line(_ entry: HTTPCache.Entry) -> String {
        let size = Format.bytes(Int64(entry.bodySize)).rightAligned(to: 10)
        let freshness = entry.isFresh ? "fresh" : "stale"
        return "\(entry.status) \(freshness) \(size)  \(entry.date.formatted(.iso8601))  \(entry.url.printable)\n"
    }

    private static func value(_ entry: HTTPCache.Entry) -> JSONValue {
        [
            "url": .string(entry.url), "status": .integer(Int64(entry.status)),
            "bodyBytes": .integer(Int64(entry.bodySize)), "date": .string(entry.date.formatted(.iso8601)),
            "age": .integer(entry.age.components.seconds), "lifetime": .integer(entry.lifetime.components.seconds),
            "fresh": .bool(entry.isFresh), "partition": entry.partition.map { .string($0) } ?? .null,
        ]
    }

    // MARK: One response

    /// Runs with some options store their responses in a partition of their own. A URL on the command line means the
    /// responses of all partitions.
    private static func partitions(of cache: HTTPCache) async throws(SessionError) -> Set<String?> {
        Set(try await cache.entries().map(\.partition))
    }

    private func newest(_ cache: HTTPCache, _ url: String) async throws(SessionError) -> CachedResponse? {
        var newest: CachedResponse?
        for partition in try await Self.partitions(of: cache) {
            guard let found = try await cache.newestResponse(toURL: url, partition: partition) else {
                continue
            }
            if newest.map({ $0.date < found.date }) ?? true { newest = found }
        }
        return newest
    }

    private func shown(_ url: String, _ stored: CachedResponse?) -> Outcome {
        let url = URLText(url).withoutUserInfo
        guard let stored else {
            return Outcome(failure: Failure(.status, .status, "no response to GET \(url.printable) is stored"))
        }
        var outcome = Outcome(
            .transfer(
                TransferOutcome(
                    response: stored.head, url: url, body: stored.body, bodyBytes: stored.body.count,
                    destination: .cache)))
        outcome.addedFields = [
            ("age", .integer(stored.age.components.seconds)),
            ("lifetime", .integer(stored.lifetime.components.seconds)),
            ("fresh", .bool(stored.isFresh)),
        ]
        if options.printsJSON { outcome.parseJSON { _ in true } }
        return outcome
    }

    // MARK: Removing and verifying

    private func clear(_ cache: HTTPCache, _ url: String?) async throws(SessionError) -> Outcome {
        let before = try await cache.entries().count
        if let url {
            for partition in try await Self.partitions(of: cache) {
                try cache.removeResponses(for: url, partition: partition)
            }
        } else {
            cache.removeAllResponses()
        }
        await cache.flush()
        return cleared(Self.removed(before, cache.statistics.count))
    }

    /// Returns how many responses were removed. Other processes may have stored some meanwhile.
    static func removed(_ before: Int, _ after: Int) -> Int { max(0, before - after) }

    private func cleared(_ removed: Int) -> Outcome {
        outcome("removed \(removed)\n", ["removed": .integer(Int64(removed))])
    }

    private func verified(_ result: (valid: Int, bodySize: Int, damaged: Int)) -> Outcome {
        let size = Format.bytes(Int64(result.bodySize))
        return outcome(
            "valid \(result.valid), \(size); damaged and removed \(result.damaged)\n",
            [
                "valid": .integer(Int64(result.valid)), "bodyBytes": .integer(Int64(result.bodySize)),
                "damaged": .integer(Int64(result.damaged)),
            ])
    }
}
