import FoundationEssentials
import Glibc
import SwiftAF

/// Sends one request and returns the outcome. Cancelling the task ends it early.
struct RequestRun {
    var request: HTTPRequest
    private(set) var destination: BodyDestination
    private(set) var options: Options
    let context: AdviceContext
    let configuration: SessionConfiguration
    var console: Console
    /// Records the requests for `--har`; shared by all runs of a command line.
    let archive: HARRecorder?
    /// Called with the progress; nil to show a separate progress bar.
    var watcher: (@Sendable (ProgressEvent) -> Void)?

    init(
        request: HTTPRequest, file: FileTarget?, options: Options, configuration: SessionConfiguration,
        console: Console, archive: HARRecorder? = nil
    ) {
        self.request = request
        destination = file.map { .file($0, beside: nil) } ?? .memory
        self.options = options
        context = options.adviceContext
        self.configuration = configuration
        self.console = console
        self.archive = archive
    }

    /// Prints the response while it is received, or, if its body goes to a file, the rest of it. Opens a file that is a
    /// pipe, and waits for its reader.
    mutating func print(with printer: ResponsePrinter?) async throws(Failure) {
        switch destination {
        case .memory, .output: destination = printer.map { .output($0) } ?? .memory
        case .pipe(let pipe, _): destination = .pipe(pipe, beside: printer)
        case .file(let file, _):
            guard let path = file.pipe else { return destination = .file(file, beside: printer) }
            let descriptor = try await OutputFile.openPipe(path, until: console.deadline)
            let pipe = pipePrinter(to: descriptor, path, isDownload: file.isDownload)
            destination = .pipe(pipe, beside: printer)
        }
    }

    /// Returns what writes the body, or the head that takes its place, to a pipe or a descriptor.
    private func pipePrinter(to descriptor: Int32, _ path: RawText, isDownload: Bool) -> ResponsePrinter {
        var pipeConsole = console
        pipeConsole.output = DescriptorSink(descriptor: descriptor, stop: console.stop)
        var printer = ResponsePrinter(
            console: pipeConsole, parts: takesHead ? .responseHead : .responseBody,
            style: Style(isColoured: false), isRaw: true, holdsBack: options.retries > 0)
        let run = self
        printer.target = ResponsePrinter.Target(path: path, isDownload: isDownload) {
            run.saves($0, isDownload: isDownload)
        }
        return printer
    }

    /// Whether a response is written to its file.
    private func saves(_ response: HTTPResponse, isDownload: Bool) -> Bool {
        refusal(of: response) == nil && (response.isSuccessful || !isDownload && response.status != 304)
    }

    /// Whether the file gets the head of the response and nothing else, as with `curl -I -o`. A response to HEAD has
    /// nothing else.
    var takesHead: Bool { options.savesHeadOnly || request.method == .head }

    func run() async -> Outcome {
        var run = self
        if let deadline = console.deadline {
            // Zero would be no limit.
            run.request.timeouts.total = max(deadline - .now, .milliseconds(1))
        }
        return await run.runLimited()
    }

    private func runLimited() async -> Outcome {
        let log = RunLog()
        var outcome = await transferWithProgress(log)
        outcome.transfer?.locations = log.locations
        refuseUnchecked(&outcome)
        if options.cache.isUsed, let response = outcome.transfer?.response {
            outcome.addedFields = [("cache", .string(response.cacheStatus.rawValue))]
        }
        // Those of a response that went to a pipe are known only at its end.
        if let trailers = log.trailers ?? outcome.transfer?.response?.trailers, !trailers.fields.isEmpty {
            outcome.addedFields.append(("trailers", Report.pairs(trailers)))
        }
        // With a destination file, the body is never printed.
        if destination.file != nil { outcome.transfer?.body = nil }
        if options.printsJSON {
            hideErrorBody(&outcome)
            outcome.parseJSON(hasBody: hasBody)
        }
        await finish(&outcome, log)
        return outcome
    }

    /// Prints what is known at the end only.
    private func finish(_ outcome: inout Outcome, _ log: RunLog) async {
        let metrics = outcome.transfer?.metrics ?? log.metrics
        outcome.transfer?.metrics = metrics
        if let metrics, options.printsTimings { console.writeNote(Timings.lines(metrics)) }
        do throws(WriteError) {
            if let printer = destination.printerBeside, let response = outcome.transfer?.response {
                try await printer.print(request: request, head: log.requestHead)
                try console.write(printer.head(of: response))
            }
            if let metrics { try destination.printerOfParts?.print(metrics) }
        } catch {
            outcome.add(Failure(standardOutput: error))
        }
    }

    // MARK: The transfer

    private func transferWithProgress(_ log: RunLog) async -> Outcome {
        if let watcher { return await transfer(log, console.writeNote, progress: watcher) }
        guard console.canShowProgress, options.messages >= .progress, !readsTerminal else {
            return await transfer(log, console.writeError, progress: nil)
        }
        return await transferShowingProgress(log)
    }

    /// Whether the body is typed: a bar would be drawn over what the terminal echoes.
    private var readsTerminal: Bool { !request.body.isReplayable && isatty(console.input) == 1 }

    // Not inlined, as the runtime would look up its types before every transfer.
    @inline(never)
    private func transferShowingProgress(_ log: RunLog) async -> Outcome {
        let display = ProgressDisplay(sink: console.error, until: console.deadline)
        display.begin()
        // On a terminal, the bar makes room for the first line of the response.
        let hasToEnd = destination.bodyPrinter?.console.output.isTerminal == true
        let makeRoom: @Sendable () async -> Void = { if hasToEnd { await display.finish() } }
        let note: @Sendable (ProgressEvent) -> Void = { display.note($0) }
        console.notes.write = display.write
        defer { console.notes.write = nil }
        return await display.accompany {
            await transfer(log, display.write, willPrint: makeRoom, progress: note)
        }
    }

    /// - Parameters:
    ///   - show: Writes lines to standard error.
    ///   - willPrint: Called before the response is printed.
    private func transfer(
        _ log: RunLog, _ show: @escaping @Sendable ([String]) -> Void,
        willPrint: @escaping @Sendable () async -> Void = {}, progress note: (@Sendable (ProgressEvent) -> Void)?
    ) async -> Outcome {
        let attempts = Attempts(
            options, until: console.deadline, about: watcher == nil ? nil : request.url,
            show: options.messages >= .notes ? show : nil,
            willBegin: {
                log.begin()
                note?(.restarted)
            },
            willWait: { note?(.restarted) })
        let manager = makeManager(log, attempts)
        let printed = destination.printerOfParts?.parts ?? []
        let keepsHead = printed.contains(.requestHead)
        let wire = WireLog({ lines in if options.isVerbose { show(lines) } }, keepsHead: keepsHead)
        var monitors: [any EventMonitor] = []
        if options.isVerbose || wire.keepsHead { monitors.append(wire) }
        let needsMetrics = options.printsTimings || printed.contains(.metrics) || destination.bodyPrinter?.target != nil
        if destination.bodyPrinter != nil, needsMetrics { monitors.append(log) }
        if let archive { monitors.append(archive) }
        let output = RunOutput(
            wire: monitors.isEmpty ? nil : wire, willPrint: willPrint,
            progress: note.map { note in { @Sendable (progress: TransferProgress) in note(.moved(progress)) } })
        guard !monitors.isEmpty else { return await send(with: manager, attempts, output) }
        let outcome = await notifying(monitors, of: manager) { await send(with: manager, attempts, output) }
        log.requestHead = wire.lastHead
        return outcome
    }

    /// What a transfer is accompanied by on standard output and standard error.
    private struct RunOutput {
        /// The monitor that knows the head of the request; nil without monitors.
        let wire: WireLog?
        /// Called before the response is printed.
        let willPrint: @Sendable () async -> Void
        let progress: (@Sendable (TransferProgress) -> Void)?
    }

    /// Runs a transfer with monitors, until all of its events are delivered.
    // Not inlined, as the runtime would look up its types before every transfer.
    @inline(never)
    private func notifying(
        _ monitors: [any EventMonitor], of manager: HTTPSessionManager, _ transfer: () async -> Outcome
    ) async -> Outcome {
        manager.eventMonitors = monitors
        let outcome = await transfer()
        await manager.flushMonitors()
        return outcome
    }

    private func send(
        with manager: HTTPSessionManager, _ attempts: Attempts, _ output: RunOutput
    ) async -> Outcome {
        do throws(SessionError) {
            switch destination {
            case .memory:
                let response = try await manager.response(for: request, progress: output.progress)
                return outcome(of: response.head, body: response.body)
            case .output(let printer), .pipe(let printer, _):
                return try await stream(to: printer, with: manager, attempts, output)
            case .file(let file, _):
                if let obstacle = file.obstacle { return outcome(of: obstacle) }
                if takesHead, !file.isChecked, case .path(let path) = file.name {
                    return try await saveHead(to: path, file, with: manager)
                }
                return await save(file, with: manager, attempts, progress: output.progress)
            }
        } catch {
            return outcome(of: attempts.completed(error))
        }
    }

    /// Writes the body to its file.
    private func save(
        _ file: FileTarget, with manager: HTTPSessionManager, _ attempts: Attempts,
        progress: (@Sendable (TransferProgress) -> Void)?
    ) async -> Outcome {
        var request = request
        let accepted = acceptedResponse(file)
        let partialFile = file.partialFile
        noteReplacement(of: file.foreignPartialFiles)
        // A download with a condition has a handler of its own.
        if let accepted { request.responseHandler = accepted.decide }
        do throws(SessionError) {
            return outcome(of: try await file.download(request, with: manager, progress: progress))
        } catch {
            var outcome = outcome(of: attempts.completed(error))
            guard outcome.failure == nil, outcome.transfer?.file == nil else {
                accepted?.abandon()
                if isUnsaved(outcome) { outcome.transfer?.destination = .unsaved(isDownload: file.isDownload) }
                noteRemoval(of: partialFile, in: &outcome)
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
                outcome.add(failure(error))
            }
            return outcome
        }
    }

    /// Writes the head of the response to a file, and drops its body.
    private func saveHead(
        to path: RawText, _ file: FileTarget, with manager: HTTPSessionManager
    ) async throws(SessionError) -> Outcome {
        var request = request
        let null = try request.method == .head ? nil : OutputFile.open("/dev/null")
        defer { if let null { close(null) } }
        // In memory, the body would be kept as a whole.
        if let null { request.responseHandler = { _ in .write(toDescriptor: null) } }
        let response = try await manager.response(for: request)
        var outcome = outcome(of: response.head, body: Data())
        guard saves(response.head, isDownload: file.isDownload) else {
            if isUnsaved(outcome) { outcome.transfer?.destination = .unsaved(isDownload: file.isDownload) }
            return outcome
        }
        do throws(SessionError) {
            if file.options.contains(.createsFolders) { OutputFile.makeFolders(of: path, mode: 0o777) }
            let head = Style.bytes(of: response.head)
            try OutputFile.write(head, to: path, mode: 0o666, keepsExisting: file.options.contains(.keepsExistingFile))
            outcome.transfer?.destination = .file(path.shown, isDownload: file.isDownload)
        } catch {
            outcome.add(failure(error))
        }
        return outcome
    }

    /// Returns what saves a response with another status than 2xx; nil for downloads, which save no other.
    private func acceptedResponse(_ file: FileTarget) -> AcceptedResponse? {
        guard !file.isDownload, file.checksum == nil, !file.keepsTime, case .path(let path) = file.name else {
            return nil
        }
        return AcceptedResponse(path: path, options: file.options) { refusal(of: $0) == nil }
    }

    /// Prints the response while it is received.
    private func stream(
        to printer: ResponsePrinter, with manager: HTTPSessionManager, _ attempts: Attempts, _ output: RunOutput
    ) async throws(SessionError) -> Outcome {
        var request = request
        var printed = ResponsePrinter.Printed()
        while true {
            do throws(SessionError) {
                return try await streamOnce(request, to: printer, with: manager, output, &printed)
            } catch {
                // What was printed can't be taken back.
                guard !printed.hasBegun, let rest = await attempts.pause(after: error, of: request) else {
                    await output.willPrint()
                    // Its failure would hide the one that matters.
                    try? printer.printHeld(printed)
                    let isCancelled = Task.isCancelled && error.code != .cancelled
                    let error = isCancelled ? attempts.completed(SessionError(.cancelled)) : error
                    guard printer.target != nil else { throw error }
                    var outcome = outcome(of: error)
                    outcome.transfer?.bodyBytes = printed.bytes
                    return outcome
                }
                request.timeouts.total = rest
            }
        }
    }

    private func streamOnce(
        _ request: HTTPRequest, to printer: ResponsePrinter, with manager: HTTPSessionManager, _ output: RunOutput,
        _ printed: inout ResponsePrinter.Printed
    ) async throws(SessionError) -> Outcome {
        let direct = DirectOutput(printer)
        var request = request
        // The lines of `-v` come before the body, for which the core wouldn't wait.
        if !options.isVerbose { request.responseHandler = direct.decide }
        let stream = try await manager.stream(request, progress: output.progress)
        var outcome = outcome(of: stream.head, body: Data())
        outcome.transfer?.metrics = nil
        outcome.transfer?.body = nil
        guard !direct.isChosen else {
            outcome.transfer?.bodyBytes = nil
            do throws(SessionError) {
                // It has no chunks, and ends when the core has written everything.
                var bytes = stream.bytes.makeAsyncIterator()
                while try await bytes.next() != nil {}
            } catch {
                guard error.code == .file, let number = error.systemError else { throw error }
                outcome.add(.system(number))
            }
            return outcome
        }
        do {
            if printer.parts.contains(.requestHead) || printer.parts.contains(.requestBody) { await output.willPrint() }
            // The monitors may not have been notified of the head yet, which `-v` shows before the body.
            if options.isVerbose || output.wire?.keepsHead == true { await manager.flushMonitors() }
            try await printer.print(request: request, head: output.wire?.lastHead)
            try await printer.print(stream.head, stream.bytes, &printed, willWrite: output.willPrint)
            outcome.transfer?.bodyBytes = printed.bytes
            if printed.isBinary {
                console.writeError("swiftaf: the body is binary: -o PATH writes it to a file, a pipe passes it on")
            }
            if let target = printer.target {
                if target.isAccepted(stream.head) {
                    outcome.transfer?.destination = .file(target.path.shown, isDownload: target.isDownload)
                } else if isUnsaved(outcome) {
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

    private func makeManager(_ log: RunLog, _ attempts: Attempts) -> HTTPSessionManager {
        var configuration = configuration
        // The options say what is sent.
        configuration.headers.suppressDefault(.acceptLanguage)
        let manager = HTTPSessionManager(configuration: configuration)
        manager.headers = [:]
        manager.redirectHandler = { proposal in
            log.note(proposal)
            return .follow
        }
        manager.interceptors = attempts.interceptors
        // A request with a handler validates a stale response before it is used. The validation in the background would
        // be cancelled at the program's exit, and no run would ever get a newer response.
        if configuration.cache != nil { manager.cachingHandler = { _ in .store } }
        return manager
    }
}
