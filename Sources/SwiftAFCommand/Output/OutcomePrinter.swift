import FoundationEssentials
import SwiftAF

/// Prints the outcome of a run: its content or a report to standard output, failures and where files are to standard
/// error.
struct OutcomePrinter {
    let console: Console
    /// The environment variables, read when they are needed.
    let environment: () -> [String: String]

    /// Prints an outcome. If something can't be written, the failure is added to it.
    func print(_ outcome: inout Outcome, options: Options) {
        do throws(WriteError) {
            if options.printsJSON {
                if case .printed = outcome.content {} else { try printReport(&outcome) }
            } else {
                try printBody(of: outcome)
                if let cookies = outcome.cookies {
                    try console.write(console.output.isTerminal ? PrintedBody.printable(cookies) : cookies)
                }
            }
        } catch {
            outcome.add(error)
        }
        // As in curl, an error of the command line is always printed.
        guard options.messages >= .errors || outcome.failure?.code == .usage else { return }
        if !options.printsJSON, options.messages >= .progress { announce(outcome) }
        for part in outcome.parts {
            for failure in [part.failure].compactMap(\.self) + part.moreFailures {
                writeError(failure, of: part.transfer?.url)
            }
            noteUnsaved(part, options)
        }
        defer { for failure in outcome.moreFailures { writeError(failure) } }
        guard outcome.parts.isEmpty, let failure = outcome.failure else { return }
        writeError(failure)
        noteUnsaved(outcome, options)
        if failure.code == .usage, !options.printsJSON { console.writeError("swiftaf --help says how it is used") }
    }

    /// Says where downloads were written to.
    private func announce(_ outcome: Outcome) {
        for part in outcome.parts.isEmpty ? [outcome] : outcome.parts where part.failure == nil {
            guard let transfer = part.transfer else { continue }
            switch transfer.destination {
            case .unsaved:
                let reason = transfer.response?.status == 304 ? Self.emptyStatus : "only a status of 2xx is saved"
                console.writeError("swiftaf: nothing was written: \(reason)")
            case .upToDateFile(let file): console.writeError("swiftaf: \(file.printable) is up to date")
            case .file(let file, isDownload: true):
                console.writeError("swiftaf: wrote \(file.printable), \(Format.bytes(Int64(transfer.bodyBytes ?? 0)))")
            case .file, .output, .cache: break
            }
        }
    }

    private static let emptyStatus = "a 304 has no body"

    /// Says that the response to a request with a file wasn't saved because of its status.
    private func noteUnsaved(_ outcome: Outcome, _ options: Options) {
        guard !options.printsJSON, outcome.failure != nil, let transfer = outcome.transfer,
            let status = transfer.response?.status, case .unsaved(let isDownload) = transfer.destination
        else { return }
        let option = "--accept-status \(status)"
        let reason =
            switch status {
            case 304: Self.emptyStatus
            case _ where options.checksum != nil: "with --checksum, only a status of 2xx is saved"
            case _ where isDownload: "download saves only a status of 2xx; get URL -o PATH \(option) saves this one"
            default: "only a success is saved, which \(option) makes of this one"
            }
        console.writeError("swiftaf: nothing was written: \(reason)")
    }

    /// - Parameter url: The URL of the failed transfer, if there are several.
    private func writeError(_ failure: Failure, of url: String? = nil) {
        let place = url.map { "\(URLText($0).withoutUserInfo): " } ?? ""
        let label = Style(for: console.error, environment()).red("swiftaf:")
        console.writeError("\(label) \((place + failure.message).printable)")
        if let resumption = failure.resumption { console.writeError("swiftaf: \(resumption)") }
    }

    private func printReport(_ outcome: inout Outcome) throws(WriteError) {
        let text: String
        do {
            text = try Report(outcome: outcome).text(isForTerminal: console.output.isTerminal)
        } catch {
            // A report never contains NaN or infinity, so this doesn't happen; the compiler requires it.
            outcome.failure = Failure(.software, .unknown, "the report can't be written: \(error)")
            text = Report(outcome: Outcome(failure: outcome.failure)).value.description + "\n"
        }
        try console.write(Data(text.utf8))
    }

    /// Prints the content of an outcome; nothing if it was incomplete or rejected.
    private func printBody(of outcome: Outcome) throws(WriteError) {
        switch outcome.content {
        case .trust(let report, _): try console.write(Data(TrustText.text(report).utf8))
        case .transfer(let transfer): try printBody(of: transfer, isWhole: outcome.isWhole)
        case .text(let text): if outcome.isWhole { try print(Data(text.utf8)) }
        case .empty, .printed, .parts: break
        }
    }

    private func printBody(of transfer: TransferOutcome, isWhole: Bool) throws(WriteError) {
        if let picture = transfer.picture { return try console.write(picture) }
        guard let body = transfer.body else { return }
        if case .cache = transfer.destination, let response = transfer.response {
            return try printStored(response, body)
        }
        guard isWhole, !body.isEmpty else { return }
        guard let response = transfer.response else { return try print(body) }
        try print(response, body)
    }

    /// Prints text that isn't the body of a response.
    private func print(_ text: Data) throws(WriteError) {
        guard !text.isEmpty else { return }
        let endsLine = !console.output.isTerminal || text.last == UInt8(ascii: "\n")
        try console.write(endsLine ? text : text + "\n".utf8)
    }

    /// Prints a body in the same form as one that is printed while it is received.
    private func print(_ response: HTTPResponse, _ body: Data) throws(WriteError) {
        let style = Style(for: console.output, environment())
        let printer = ResponsePrinter(console: console, parts: .responseBody, style: style)
        guard let text = printer.text(of: body, response) else {
            return console.writeError("swiftaf: the body is binary: a pipe or --json passes it on")
        }
        try console.write(text)
    }

    /// Prints a response of the cache, with its head.
    private func printStored(_ response: HTTPResponse, _ body: Data) throws(WriteError) {
        let style = Style(for: console.output, environment())
        try console.write(
            console.output.isTerminal ? Data(style.text(of: response).utf8) : Style.bytes(of: response))
        try print(response, body)
    }
}
