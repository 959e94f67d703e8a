import FoundationEssentials
import Glibc
import SwiftAF

/// Sends one request and returns the outcome. Cancelling the task ends it early.
struct RequestRun {
    /// The display of the progress.
    enum ProgressViewer {
        /// The run itself, with a bar if the terminal can show one.
        case run
        /// The batch that this run belongs to. Notes then contain the URL.
        case batch(@Sendable (ProgressEvent) -> Void)
    }

    var request: HTTPRequest
    private(set) var destination: BodyDestination
    let options: Options
    let context: AdviceContext
    let configuration: SessionConfiguration
    var console: Console
    /// Records the requests for `--har`; shared by all runs of a command line.
    let archive: HARRecorder?
    var progressViewer = ProgressViewer.run

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

    /// Returns a printer that writes the body, or with `-I` the head instead, to a pipe or a descriptor.
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
    func saves(_ response: HTTPResponse, isDownload: Bool) -> Bool {
        refusal(of: response) == nil && (response.isSuccessful || !isDownload && response.status != 304)
    }

    /// Whether the file gets the head of the response and nothing else, as with `curl -I -o`. A response to HEAD has
    /// nothing else.
    var takesHead: Bool { options.savesHeadOnly || request.method == .head }

    func run() async -> Outcome {
        var run = self
        if let deadline = console.deadline { run.request.timeouts.total = deadline.limitFromNow }
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
        // The trailers of a response that was written to a pipe are known only at its end.
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

    /// Prints the parts that are known only at the end.
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
        if case .batch(let note) = progressViewer { return await transfer(log, console.writeNote, progress: note) }
        guard console.canShowProgress, options.messages >= .progress, !readsTerminal else {
            return await transfer(log, console.writeError, progress: nil)
        }
        return await transferShowingProgress(log)
    }

    /// The URL, for notes, if there are several runs.
    private var subject: String? {
        if case .batch = progressViewer { request.url } else { nil }
    }

    /// Whether the body is typed on the terminal, so that a bar would be drawn over the echoed text.
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
            options, until: console.deadline, about: subject,
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
        let transfer = RunTransfer(
            run: self, manager: manager, attempts: attempts, wire: monitors.isEmpty ? nil : wire, willPrint: willPrint,
            progress: note.map { note in { @Sendable (progress: TransferProgress) in note(.moved(progress)) } })
        guard !monitors.isEmpty else { return await transfer.outcome() }
        let outcome = await notifying(monitors, of: manager) { await transfer.outcome() }
        log.requestHead = wire.lastHead
        return outcome
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

    private func makeManager(_ log: RunLog, _ attempts: Attempts) -> HTTPSessionManager {
        var configuration = configuration
        // Only fields that the options ask for are sent.
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
