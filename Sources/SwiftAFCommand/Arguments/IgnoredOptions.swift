import SwiftAF

/// Refuses options that would be ignored beside others.
struct IgnoredOptions {
    /// The options that were given, as spelled on the command line.
    let given: [(name: String, entry: OptionEntry)]
    let options: Options

    func refuse(isDownload: Bool) throws(UsageError) {
        if isDownload { try refuseBesideDownload() }
        for (option, other, reason) in Self.pairs {
            guard let option = spelling(of: option), let other = spelling(of: other) else { continue }
            throw UsageError("\(option) can't be used with \(other), which \(reason)")
        }
        guard options.outputPath != "-" || !options.printsJSON else {
            throw UsageError("-o - can't be used with --json, which prints nothing else to standard output")
        }
        if options.ignoresInput, let reader = inputReader {
            throw UsageError("--ignore-stdin can't be used with \(reader), which reads standard input")
        }
    }

    /// Options and others that they would have no effect beside.
    private static let pairs: [(option: String, other: String, reason: String)] = [
        ("--print", "--json", "prints nothing else to standard output"),
        ("--refresh", "--cache-only", "never asks the server"),
        ("--proxy", "--unix-socket", "connects to no other address"),
        ("--interface", "--unix-socket", "connects to no other address"),
        ("--resolve", "--unix-socket", "connects to no other address"),
        ("--doh", "--unix-socket", "connects to no other address"),
    ]

    /// How an option was given; nil if it wasn't.
    private func spelling(of option: String) -> String? {
        given.first { $0.entry.names.last == option }?.name
    }

    // MARK: Downloads

    /// The options that make a request a download.
    private static let ofDownloads = ["--remote-name", "--resume", "-C"]

    /// The options of requests that have their meaning in downloads too, or are refused if they contradict it.
    private static let obeyed = [
        "--request", "--data", "--data-raw", "--data-urlencode", "--get", "--fail", "--no-buffer", "--no-cache",
    ]

    private func refuseBesideDownload() throws(UsageError) {
        let ignored = given.first { option in
            let name = option.entry.names.last ?? ""
            return !option.entry.commands.isSuperset(of: .download) && !Self.obeyed.contains(name)
                && !Self.ofDownloads.contains(name)
        }
        guard let ignored, let cause = given.first(where: { Self.ofDownloads.contains($0.entry.names.last ?? "") })
        else { return }
        throw UsageError("\(ignored.name) can't be used with \(cause.name), which downloads a file")
    }

    // MARK: Standard input

    /// The option that reads standard input.
    private var inputReader: String? {
        if options.data == .standardInput { return options.putsFile ? "-T -" : "-d @-" }
        for case .filePart(let name, let part) in options.items where part.readsInput {
            return "-F '\(name.shown.printable)=\(part.source == .standardInput ? "@" : "<")-'"
        }
        return nil
    }
}
