import FoundationEssentials
import Glibc
import SwiftAF

/// The transfer of a ``RequestRun``: sends the request, and brings the body of the response to its destination.
struct RunTransfer {
    let run: RequestRun
    let manager: HTTPSessionManager
    let attempts: Attempts
    /// The monitor that knows the head of the request; nil without monitors.
    let wire: WireLog?
    /// Called before the response is printed.
    let willPrint: @Sendable () async -> Void
    let progress: (@Sendable (TransferProgress) -> Void)?

    func outcome() async -> Outcome {
        do throws(SessionError) {
            switch run.destination {
            case .memory:
                let response = try await manager.response(for: run.request, progress: progress)
                return run.outcome(of: response.head, body: response.body)
            case .output(let printer), .pipe(let printer, _):
                return try await stream(to: printer)
            case .file(let file, _):
                if let obstacle = file.obstacle { return run.outcome(of: obstacle) }
                if run.takesHead, !file.isChecked, case .path(let path) = file.name {
                    return try await saveHead(to: path, file)
                }
                return await save(file)
            }
        } catch {
            return run.outcome(of: attempts.completed(error))
        }
    }

    /// Writes the body to its file.
    private func save(_ file: FileTarget) async -> Outcome {
        var request = run.request
        let accepted = acceptedResponse(file)
        let partialFile = file.partialFile
        run.noteReplacement(of: file.foreignPartialFiles)
        // A download with a condition already has a handler.
        if let accepted { request.responseHandler = accepted.decide }
        do throws(SessionError) {
            return run.outcome(of: try await file.download(request, with: manager, progress: progress))
        } catch {
            var outcome = run.outcome(of: attempts.completed(error))
            guard outcome.failure == nil, outcome.transfer?.file == nil else {
                accepted?.abandon()
                if run.isUnsaved(outcome) { outcome.transfer?.destination = .unsaved(isDownload: file.isDownload) }
                run.noteRemoval(of: partialFile, in: &outcome)
                return outcome
            }
            do throws(SessionError) {
                if let accepted, let size = try accepted.finish() {
                    outcome.transfer?.destination = .file(accepted.path.shown, isDownload: false)
                    outcome.transfer?.bodyBytes = size
                } else {
                    outcome.transfer?.destination = .unsaved(isDownload: file.isDownload)
                }
            } catch {
                outcome.add(run.failure(error))
            }
            return outcome
        }
    }

    /// Writes the head of the response to a file, and drops its body.
    private func saveHead(to path: RawText, _ file: FileTarget) async throws(SessionError) -> Outcome {
        var request = run.request
        let null = try request.method == .head ? nil : OutputFile.open("/dev/null")
        defer { if let null { close(null) } }
        // The body is dropped, because it would be collected in memory otherwise.
        if let null { request.responseHandler = { _ in .write(toDescriptor: null) } }
        let response = try await manager.response(for: request)
        var outcome = run.outcome(of: response.head, body: Data())
        guard run.saves(response.head, isDownload: file.isDownload) else {
            if run.isUnsaved(outcome) { outcome.transfer?.destination = .unsaved(isDownload: file.isDownload) }
            return outcome
        }
        do throws(SessionError) {
            if file.options.contains(.createsFolders) { OutputFile.makeFolders(of: path, mode: 0o777) }
            let head = Style.bytes(of: response.head)
            try OutputFile.write(head, to: path, mode: 0o666, keepsExisting: file.options.contains(.keepsExistingFile))
            outcome.transfer?.destination = .file(path.shown, isDownload: file.isDownload)
        } catch {
            outcome.add(run.failure(error))
        }
        return outcome
    }

    /// Returns the object that saves responses with a status other than 2xx; nil for downloads, which save only 2xx.
    private func acceptedResponse(_ file: FileTarget) -> AcceptedResponse? {
        guard !file.isDownload, file.checksum == nil, !file.keepsTime, case .path(let path) = file.name else {
            return nil
        }
        return AcceptedResponse(path: path, options: file.options) { run.refusal(of: $0) == nil }
    }

    /// Prints the response while it is received.
    private func stream(to printer: ResponsePrinter) async throws(SessionError) -> Outcome {
        var request = run.request
        var printed = ResponsePrinter.Printed()
        while true {
            do throws(SessionError) {
                return try await streamOnce(request, to: printer, &printed)
            } catch {
                // There is no other attempt after a part was printed, because that can't be undone.
                guard !printed.hasBegun, let repeated = await attempts.pause(after: error, of: request) else {
                    await willPrint()
                    // A failure of printing is ignored, because it would hide the transfer's.
                    try? printer.printHeld(printed)
                    let isCancelled = Task.isCancelled && error.code != .cancelled
                    let error = isCancelled ? attempts.completed(SessionError(.cancelled)) : error
                    guard printer.target != nil else { throw error }
                    var outcome = run.outcome(of: error)
                    outcome.transfer?.bodyBytes = printed.bytes
                    return outcome
                }
                request = repeated
            }
        }
    }

    private func streamOnce(
        _ request: HTTPRequest, to printer: ResponsePrinter, _ printed: inout ResponsePrinter.Printed
    ) async throws(SessionError) -> Outcome {
        let direct = DirectOutput(printer)
        var request = request
        // Not with `-v`, whose lines must be printed before the body: the core wouldn't wait for them.
        if !run.options.isVerbose { request.responseHandler = direct.decide }
        let stream = try await manager.stream(request, progress: progress)
        var outcome = run.outcome(of: stream.head, body: Data())
        outcome.transfer?.metrics = nil
        outcome.transfer?.body = nil
        guard !direct.isChosen else {
            outcome.transfer?.bodyBytes = nil
            do throws(SessionError) {
                // The sequence has no chunks, and ends when the core has written everything.
                var bytes = stream.bytes.makeAsyncIterator()
                while try await bytes.next() != nil {}
            } catch {
                guard error.code == .file, let number = error.systemError else { throw error }
                outcome.add(.system(number))
            }
            return outcome
        }
        do {
            if printer.parts.contains(.requestHead) || printer.parts.contains(.requestBody) { await willPrint() }
            // The monitors may not have been notified of the head yet, which `-v` shows before the body.
            if run.options.isVerbose || wire?.keepsHead == true { await manager.flushMonitors() }
            try await printer.print(request: request, head: wire?.lastHead)
            try await printer.print(stream.head, stream.bytes, &printed, willWrite: willPrint)
            outcome.transfer?.bodyBytes = printed.bytes
            if printed.isBinary {
                run.console.writeError("swiftaf: the body is binary: -o PATH writes it to a file, a pipe passes it on")
            }
            if let target = printer.target {
                if target.isAccepted(stream.head) {
                    outcome.transfer?.destination = .file(target.path.shown, isDownload: target.isDownload)
                } else if run.isUnsaved(outcome) {
                    outcome.transfer?.destination = .unsaved(isDownload: target.isDownload)
                }
            }
            return outcome
        } catch let error as WriteError {
            outcome.add(error, writing: printer.target?.path.shown.printable ?? "standard output")
            return outcome
        } catch let error as SessionError {
            throw error
        } catch {
            throw SessionError(.unknown, message: "\(error)")
        }
    }
}
