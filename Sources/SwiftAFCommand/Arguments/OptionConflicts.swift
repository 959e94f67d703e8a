import SwiftAF

/// Refuses options that contradict others, or would be ignored beside them. ``FileTarget`` has the rules that depend on what
/// a path names.
struct OptionConflicts {
    /// The options that were given, as spelled on the command line.
    let given: [(name: String, entry: OptionEntry)]
    let options: Options

    /// Refuses what doesn't depend on the URLs and items. The first rule that is broken is reported.
    func refuse(isDownload: Bool) throws(UsageError) {
        if isDownload { try refuseBesideDownload() }
        for (option, other, reason) in Self.pairs {
            guard let option = spelling(of: option), let other = spelling(of: other) else { continue }
            throw UsageError("\(option) can't be used with \(other), which \(reason)")
        }
        guard options.outputPath != "-" || !options.printsJSON else { throw Self.takenByJSON("-o -") }
        if options.ignoresInput, let reader = inputReader {
            throw UsageError("--ignore-stdin can't be used with \(reader), which reads standard input")
        }
        guard options.certificatePath != nil || (options.keyPath == nil && options.keyPassword == nil) else {
            throw UsageError("--key and --key-password need --cert")
        }
        guard options.cookieOutput != "-" || !options.printsJSON else { throw Self.takenByJSON("-c -") }
        guard options.session == nil || options.cookieJar == nil else {
            throw UsageError(
                "--cookies can't be used with --session, which has a jar; -b PATH reads another, -c PATH writes one")
        }
        guard options.folder == nil || options.outputPath == nil else {
            throw UsageError("-o and -P can't be combined: -P is for files named by URLs; -o DIR/NAME names both")
        }
    }

    /// Refuses what a download can't be made of.
    func refuse(besideDownload download: RequestCommand) throws(UsageError) {
        if options.usesContentDisposition, options.outputPath != nil {
            throw UsageError("-o and --content-disposition can't be combined")
        }
        if options.usesContentDisposition, options.resumes {
            throw UsageError("--resume needs a file name from -o; it can't be combined with --content-disposition")
        }
        if options.resumes, options.outputPath == "-" { throw UsageError("--resume needs a file, not standard output") }
        guard !download.moreURLs.isEmpty else { return }
        guard options.parts == nil else { throw UsageError("--include and --print can't be used with several URLs") }
        guard options.outputPath == nil else { throw UsageError("-o can't be used with several URLs") }
    }

    /// Standard output is already that of the report.
    static func takenByJSON(_ option: String) -> UsageError {
        UsageError("\(option) can't be used with --json, which \(reasonOfJSON)")
    }

    private static let reasonOfJSON = "prints nothing else to standard output"

    /// Options and others that they would have no effect beside.
    private static let pairs: [(option: OptionID, other: OptionID, reason: String)] = [
        (.print, .json, reasonOfJSON),
        (.refresh, .cacheOnly, "never asks the server"),
        (.proxy, .unixSocket, "connects to no other address"),
        (.interface, .unixSocket, "connects to no other address"),
        (.resolve, .unixSocket, "connects to no other address"),
        (.dnsOverHTTPS, .unixSocket, "connects to no other address"),
    ]

    /// How an option was given; nil if it wasn't.
    private func spelling(of option: OptionID) -> String? {
        given.first { $0.entry.id == option }?.name
    }

    // MARK: Downloads

    /// The options that make a request a download.
    private static let ofDownloads: [OptionID?] = [.remoteName, .resume, .curlResume]

    /// The options of requests that have their meaning in downloads too, or are refused if they contradict it.
    private static let obeyed: [OptionID?] = [
        .request, .data, .rawData, .encodedData, .dataInQuery, .fail, .noBuffer, .noCache,
    ]

    private func refuseBesideDownload() throws(UsageError) {
        let ignored = given.first { option in
            !option.entry.commands.isSuperset(of: .download) && !Self.obeyed.contains(option.entry.id)
                && !Self.ofDownloads.contains(option.entry.id)
        }
        guard let ignored, let cause = given.first(where: { Self.ofDownloads.contains($0.entry.id) })
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
