import FoundationEssentials
import Glibc
import SwiftAF

/// The outcome of a run.
extension RequestRun {
    func outcome(of response: HTTPResponse, body: Data) -> Outcome {
        let transfer = TransferOutcome(
            response: response, url: response.url, body: body, bodyBytes: body.count, metrics: response.metrics)
        return Outcome(.transfer(transfer), failure: refusal(of: response))
    }

    func outcome(of download: DownloadResponse) -> Outcome {
        var outcome = outcome(of: download.head, body: Data())
        // The file is already complete, so this 416 isn't a failure.
        if download.resumption == .alreadyComplete { outcome.failure = nil }
        outcome.transfer?.destination = .file(
            destination.file?.path(of: download) ?? download.filePath, isDownload: destination.file?.isDownload == true)
        outcome.transfer?.bodyBytes = Int(clamping: download.fileSize)
        return outcome
    }

    func outcome(of error: SessionError) -> Outcome {
        if error.code == .status, let response = error.response {
            // There was a response, so the outcome depends on whether its status is acceptable.
            var outcome = outcome(of: response, body: error.body ?? Data())
            note(error.resumeToken, in: &outcome)
            // An acceptable status is an error only if `Timestamps` refused an older version.
            let hasNothingNewer = response.status == 304 || response.isSuccessful
            if options.comparesTimestamps, hasNothingNewer, outcome.failure == nil,
                case .path(let path)? = destination.file?.name, InputFile.exists(path)
            {
                outcome.transfer?.destination = .upToDateFile(path.shown)
            }
            return outcome
        }
        var transfer = TransferOutcome(
            response: error.response, url: error.response?.url ?? request.url,
            metrics: error.metrics.hops.isEmpty ? nil : error.metrics)
        if error.code != .tooLarge {
            transfer.body = error.body
            // Between two attempts, only the token of the last one has the size.
            let written = destination.file == nil ? nil : error.partialFileSize ?? error.resumeToken?.bytesReceived
            transfer.bodyBytes = written.map { Int(clamping: $0) } ?? error.body?.count
        }
        var outcome = Outcome(
            .transfer(transfer), failure: destination.file?.problem(behind: error) ?? failure(error))
        note(error.resumeToken, in: &outcome)
        return outcome
    }

    func failure(_ error: SessionError) -> Failure {
        var failure = Failure(error, in: context)
        if error.code == .file, error.systemError == EEXIST, let file = destination.file,
            file.options.contains(.keepsExistingFile)
        {
            failure.message += file.isNamedByResponse ? "; -o PATH names another file" : "; --no-clobber keeps it"
        }
        if error.code == .file, let number = error.systemError, let file = destination.file,
            case .path(let path) = file.name
        {
            failure.message += Self.advice(on: path, of: file, number)
        }
        return failure
    }

    /// Returns advice about a path that can't be written, in addition to the system's message.
    private static func advice(on path: RawText, of file: FileTarget, _ number: Int32) -> String {
        let folder = OutputFile.folder(path)
        let isReadOnly = folder.withCString { access($0, W_OK | X_OK) } != 0
        // The obstacle may also be PATH.part, or its token.
        let isFolder = FileStatus(path)?.kind == .folder
        switch number {
        case EISDIR where isFolder:
            let name = path.shown.printable
            return "; -o \(name)/\(file.hasFolderOption ? " or -P \(name)" : "") writes into this folder"
        case EACCES where isReadOnly, EROFS where isReadOnly:
            return "; files can't be made in the folder \(folder.shown.printable)"
        case ENOENT where !file.options.contains(.createsFolders) && !InputFile.exists(folder):
            let option = file.hasFolderOption ? "-P or -o DIR/" : "-o DIR/"
            return "; there is no folder \(folder.shown.printable), which \(option) makes"
        default: return ""
        }
    }

    /// Whether the response to a request with a file was refused because of its status, so that nothing was written.
    func isUnsaved(_ outcome: Outcome) -> Bool {
        guard let transfer = outcome.transfer, transfer.file == nil, let response = transfer.response,
            !isMissing(response)
        else { return false }
        return outcome.isWhole
    }

    /// Turns a response that wasn't written because of its status into a failure, if `--checksum` should have checked
    /// it.
    func refuseUnchecked(_ outcome: inout Outcome) {
        guard options.checksum != nil, outcome.failure == nil, let transfer = outcome.transfer,
            case .unsaved = transfer.destination, let status = transfer.response?.status
        else { return }
        outcome.failure = Failure(
            .status, .status, "the server responded with \(status), so there is nothing that --checksum could check")
    }

    /// Removes a body that `--fail` hides, also from the report of `--json`.
    func hideErrorBody(_ outcome: inout Outcome) {
        guard options.hidesErrorBodies, let status = outcome.transfer?.response?.status, status >= 400 else { return }
        outcome.transfer?.body = nil
    }

    /// Whether `--cache-only` found nothing: the library made this response.
    private func isMissing(_ response: HTTPResponse) -> Bool { response.cacheStatus == .missing }

    /// Writes a note that the library has removed the partial file, because the resource doesn't exist any longer.
    func noteRemoval(of partialFile: RawText?, in outcome: inout Outcome) {
        guard let partialFile, let status = outcome.transfer?.response?.status, status == 404 || status == 410,
            !InputFile.exists(partialFile)
        else { return }
        let name = partialFile.shown.printable
        outcome.failure?.message += "; \(name) was removed, since the server no longer has the file"
    }

    /// Writes a note that a download is about to replace files that may be the user's.
    func noteReplacement(of files: [RawText]) {
        guard options.messages >= .notes else { return }
        for file in files {
            let name = file.shown.printable
            let isToken = name.hasSuffix(".resume")
            let reason =
                isToken ? "no download has written it" : "without a valid \(name).resume it can't be continued"
            let place = isToken ? "what a download is resumed with" : "the partial file"
            console.note(
                "\(name) is in place of \(place): \(reason), and a response replaces it; --no-clobber keeps it")
        }
    }

    private func note(_ token: ResumeToken?, in outcome: inout Outcome) {
        guard let token, let file = destination.file else { return }
        outcome.failure?.resumption = file.advice(token)
    }

    func refusal(of response: HTTPResponse) -> Failure? {
        let phrase = HTTPStatus.phrase(for: response.status).map { " \($0)" } ?? ""
        let message = "the server responded with \(response.status)\(phrase)"
        if isMissing(response) {
            return Failure(.status, .status, "nothing is stored, and --cache-only doesn't ask the server")
        }
        switch response.status {
        case let status where options.acceptedStatuses.contains(status): return nil
        case _ where response.isSuccessful: return nil
        case 304 where options.comparesTimestamps: return nil
        case 300...399 where !options.redirects.followsRedirects: return nil
        case 401:
            let advice = Advice.aboutUnauthorized(response, to: request).map { "; \($0)" } ?? ""
            return Failure(.authentication, .authentication, message + advice)
        case 407:
            let advice = "; --proxy http://NAME:PASSWORD@HOST gives credentials"
            return Failure(.authentication, .authentication, message + advice)
        default: return Failure(.status, .status, message)
        }
    }

    /// Whether a response is expected to have a body. A server must not send one with 205 (RFC 9110, section 15.3.6),
    /// but can: unlike 204 and 304, that status doesn't end the response with its head (RFC 9112, section 6.3).
    func hasBody(_ response: HTTPResponse) -> Bool {
        request.method != .head && ![204, 205, 304].contains(response.status)
    }
}
