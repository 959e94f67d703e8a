import SwiftAF

/// Refuses options and items that contradict others, or would be ignored together with them. All rules that need only
/// the command line are here. Other rules are where the rest of their input is known:
///
/// - the value of one option, or of one that is repeated: ``OptionTable`` and ``Options``;
/// - the words of a command: ``ArgumentParser``;
/// - what a path names: ``FileTarget``, ``WrittenPaths`` and `Options.certificate`;
/// - the value of a secret or of a header's file, the user of the URL, and what reads standard input:
///   ``RequestBuilder``;
/// - what stores know of the URL's host: `Options.refusePins`.
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
        if options.ignoresInput, let reader = inputConsumer {
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
        guard spelling(of: .form) == nil || (spelling(of: .multipart) ?? spelling(of: .part)) == nil else {
            throw UsageError("--form and --multipart can't be combined")
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
        guard options.session == nil else { throw UsageError("--session takes one URL") }
    }

    /// Refuses what contradicts the items, the method or the purpose of a request.
    func refuse(in request: RequestCommand) throws(UsageError) {
        try refuseFile(of: request)
        try refuseBody(of: request)
        try refuseHeaders(of: request)
    }

    /// Returns the error of an option that writes to standard output, which `--json` uses for its report.
    static func takenByJSON(_ option: String) -> UsageError {
        UsageError("\(option) can't be used with --json, which \(reasonOfJSON)")
    }

    private static let reasonOfJSON = "prints nothing else to standard output"

    /// Pairs of options; the first has no effect if the other is given.
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

    /// The options of requests that also apply to downloads, or are refused if they contradict one.
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

    // MARK: Files

    private func refuseFile(of request: RequestCommand) throws(UsageError) {
        let isChecked = options.checksum != nil || options.comparesTimestamps
        guard isChecked || options.keepsExistingFile else { return }
        guard options.writesFile(of: request) else {
            throw UsageError("--checksum, --timestamps and --no-clobber need a file: use download or -o")
        }
        guard isChecked else { return }
        if options.usesContentDisposition {
            throw UsageError("--checksum and --timestamps can't be combined with --content-disposition")
        }
        if options.comparesTimestamps, options.resumes {
            throw UsageError("--timestamps and --resume can't be combined")
        }
        if options.comparesTimestamps, options.checksum != nil {
            throw UsageError(
                "--timestamps and --checksum can't be combined: a file that is up to date isn't read, so not checked")
        }
        guard !options.savesHeadOnly, request.method != .head else {
            throw UsageError("--checksum and --timestamps are about a body, and HEAD or -I saves the head only")
        }
    }

    // MARK: Bodies and headers

    private func refuseBody(of request: RequestCommand) throws(UsageError) {
        for case .filePart(let name, _) in request.items where options.bodyFormat != .multipart {
            throw UsageError("'\(name.shown.printable)@…' is a file part: use --multipart or upload")
        }
        // With -G, the data isn't a body.
        guard options.data != nil, !options.putsDataInQuery else { return }
        let option = options.putsFile ? "-T" : "--data"
        switch options.bodyFormat {
        case .multipart: throw UsageError("\(option) can't be combined with a multipart form")
        case .json where request.hasFields, .form where request.hasFields:
            throw UsageError("\(option) can't be combined with body fields")
        case .form: throw UsageError("--form can't be combined with \(option)")
        case .json: break
        }
    }

    private func refuseHeaders(of request: RequestCommand) throws(UsageError) {
        guard request.count(of: .host) < 2 else { throw UsageError("Host is given twice, and a request has one") }
        let hasAuthorization = request.count(of: .authorization) > 0
        guard options.bearerToken == nil || !hasAuthorization else {
            throw UsageError("--bearer can't be combined with an Authorization header")
        }
        guard options.user != nil || options.authentication != nil else { return }
        guard options.bearerToken == nil, !hasAuthorization else {
            throw UsageError("--user and --auth can't be combined with --bearer or an Authorization header")
        }
    }

    // MARK: Standard input

    /// The option that reads standard input.
    private var inputConsumer: String? {
        if options.data == .standardInput { return options.putsFile ? "-T -" : "-d @-" }
        for case .filePart(let name, let part) in options.items where part.readsInput {
            return "-F '\(name.shown.printable)=\(part.source == .standardInput ? "@" : "<")-'"
        }
        return nil
    }
}
