import FoundationEssentials
import SwiftAF
import SwiftAFImage

/// Sends the requests of a command, which share everything but their URLs.
struct RequestSending {
    let runner: Runner
    let command: RequestCommand
    let options: Options
    let configuration: SessionConfiguration
    /// Records the requests for `--har`.
    let archive: HARRecorder?
    let files: RunFiles

    func run() async throws(Failure) -> Outcome {
        if command.purpose == .picture { return try await picture() }
        guard !command.moreURLs.isEmpty else {
            var run = try prepared(command)
            try await run.print(with: printer(for: run))
            return await run.run()
        }
        var runs: [RequestRun] = []
        for one in command.each { runs.append(try prepared(one)) }
        return Outcome(parts: await Batch(runs: runs, options: options, console: runner.console).run())
    }

    private func picture() async throws(Failure) -> Outcome {
        try PictureView.refuseWithout(runner.imageDecoder)
        var outcome = await (try prepared(command)).run()
        guard outcome.failure == nil else { return outcome }
        let output = runner.console.output
        let graphics = TerminalGraphics(environment: runner.environment, isTerminal: output.isTerminal)
        let view = PictureView(decoder: runner.imageDecoder, graphics: graphics, columns: output.columns)
        do throws(Failure) {
            let picture = try view.text(of: outcome.transfer?.body ?? Data())
            outcome.transfer?.picture = picture
        } catch {
            outcome.failure = error
        }
        return outcome
    }

    /// Prepares the request of a command with one URL.
    private func prepared(_ command: RequestCommand) throws(Failure) -> RequestRun {
        var request = try runner.request(command, options)
        var configuration = configuration
        if configuration.cache != nil {
            configuration.cachePartition = try CachePartition(configuration.cachePartition, request: request).name()
        }
        do throws(UsageError) {
            var file = try FileTarget.of(command, options)
            if file?.isNamedByResponse == true { file?.chosenName = ChosenName(among: files) }
            if options.comparesTimestamps, case .path(let path)? = file?.name {
                Timestamps.compare(&request, with: path)
            }
            return RequestRun(
                request: request, file: file, options: options, configuration: configuration,
                console: runner.console, archive: archive)
        } catch {
            throw Failure(error)
        }
    }

    /// Returns the printer of the response, or of the parts that aren't written to its file; nil if nothing is printed.
    private func printer(for run: RequestRun) -> ResponsePrinter? {
        guard !options.printsJSON else { return nil }
        var parts = options.parts ?? (command.showsHead ? [.responseHead, .responseBody] : .responseBody)
        if run.destination.file != nil {
            parts.remove(.responseBody)
            // The head is in the file, and is printed only if an option asks for it.
            if run.takesHead, options.parts == nil || options.savesHeadOnly { parts.remove(.responseHead) }
            guard !parts.isEmpty else { return nil }
        }
        return ResponsePrinter(
            console: run.console, parts: parts, style: Style(for: runner.console.output, runner.environment),
            isRaw: options.outputPath == "-", holdsBack: options.retries > 0,
            hidesErrorBodies: options.hidesErrorBodies)
    }
}
