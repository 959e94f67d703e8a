import FoundationEssentials
import SwiftAF
import SwiftAFImage

/// Runs the program with given streams. Tests call it instead of starting a process.
struct Runner: Sendable {
    var console: Console
    /// Decodes the images of `image`.
    var imageDecoder: any ImageDecoding = SystemImageDecoder()
    /// Environment variables for tests; nil means those of the process.
    var givenEnvironment: [String: String]?
    private let askedPasswords = AskedPasswords()
    private let inputTexts = InputTexts()

    /// The environment variables. Read when they are needed: a request needs none.
    var environment: [String: String] {
        get { givenEnvironment ?? ProcessInfo.processInfo.environment }
        set { givenEnvironment = newValue }
    }

    /// Runs the arguments after the program's name. Cancelling the task has the effect of Ctrl-C.
    func run(_ arguments: [String]) async -> ExitCode {
        await run(arguments.map { RawText($0) })
    }

    /// Runs arguments that may contain invalid UTF-8.
    func run(_ arguments: [RawText]) async -> ExitCode {
        await run(ArgumentParser.parse(arguments))
    }

    /// Runs a command line that was parsed.
    func run(_ invocation: Invocation) async -> ExitCode {
        var runner = self
        if console.error.isTerminal { runner.console.isDumb = Style.isDumb(environment) }
        let deadline = invocation.options.totalLimit.map { Instant.now + $0 }
        // With several downloads, each has its own time limit.
        if !invocation.hasSeveralTransfers { runner.console.deadline = deadline }
        let prepared = runner
        return await withTaskCancellationHandler {
            guard let deadline else { return await prepared.runPrepared(invocation) }
            return await Deadline.$current.withValue(deadline) { await prepared.runPrepared(invocation) }
        } onCancel: {
            prepared.console.stop.set()
        }
    }

    private func runPrepared(_ invocation: Invocation) async -> ExitCode {
        var outcome = await outcome(of: invocation)
        OutcomePrinter(console: console, environment: { environment }).print(&outcome, options: invocation.options)
        return outcome.exit
    }

    private func outcome(of invocation: Invocation) async -> Outcome {
        do throws(Failure) {
            let invocation = try withSecrets(invocation)
            switch invocation.command {
            case .failure(let error): throw Failure(error)
            // Not wrapped, because the formatter of manual pages does that.
            case .success(.help("man")): return Outcome(.text(try Usage.text(of: "man")))
            case .success(.help(let topic)): return Outcome(.text(fitted(try Usage.text(of: topic))))
            case .success(.commandHelp(let command)):
                return Outcome(.text(fitted(Usage.text(ofCommand: command) ?? Usage.text)))
            case .success(.completions(let shell)): return Outcome(.text(Completions.script(for: shell)))
            case .success(.version): return Outcome(.text(Versions.text))
            case .success(.demo): return await demo(invocation.options)
            case .success(.trust(let authority)):
                return try await TrustRun(
                    authority: authority, options: invocation.options, environment: environment
                ).run()
            case .success(.cache(let command)):
                return try await CacheRun(
                    command: command, options: invocation.options, environment: environment
                ).run()
            case .success(.socket(let command)): return try await converse(command, invocation.options)
            case .success(.request(let command)): return try await send(command, invocation.options)
            }
        } catch {
            return Outcome(failure: error)
        }
    }

    /// Returns the text wrapped to the width of the terminal; unchanged for a pipe or a file.
    private func fitted(_ text: String) -> String {
        console.output.isTerminal ? text.wrapped(columns: console.output.columns) : text
    }

    private func withSecrets(_ invocation: Invocation) throws(Failure) -> Invocation {
        guard case .success = invocation.command else { return invocation }
        var options = invocation.options
        try options.readSecrets(environment, inputTexts)
        return Invocation(command: invocation.command, options: options, secrets: invocation.secrets)
    }

    private func send(_ command: RequestCommand, _ options: Options) async throws(Failure) -> Outcome {
        let given = (command: command, options: options)
        var (command, options) = (command, options)
        let session = try namedSession(command, options)
        if let session {
            try session.add(to: &command, &options)
            options.cookieJar = session.cookiePath
        }
        if options.printsCurlCommand {
            var text = ""
            for one in command.each {
                let request = try request(one, options)
                text += request.curlCommand(options: try options.curlOptions(one, request)) + "\n"
            }
            return Outcome(.text(text))
        }
        let paths = try writtenPaths(command, options, session)
        noteMissingCookies(given.options)
        if session != nil { for text in NamedSession.notes(onHeadersOf: given.command) { note(text, options) } }
        var configuration = try options.configuration(for: command.each.map(\.url), environment)
        let stores = try RunStores(options, &configuration)
        try options.refusePins(for: command.each.map(\.url), hsts: configuration.hsts)
        let archive = options.archivePath == nil ? nil : HARRecorder(maximumBodySize: 1 << 20)
        var outcome = try await RequestSending(
            runner: self, command: command, options: options, configuration: configuration, archive: archive,
            files: RunFiles(paths)
        ).run()
        if let archive, let path = options.archivePath { RunStores.write(archive, to: path, &outcome) }
        // The session is saved first, because the cookies are written to its folder.
        let hasResponse = outcome.transfer?.response != nil
        if hasResponse {
            await outcome.attempt(for: "--session") { () throws(Failure) in
                try await session?.save(given.command, given.options)
            }
        }
        if hasResponse || session == nil { await stores.save(&outcome) }
        return outcome
    }

    /// Refuses a run whose outputs would replace each other.
    private func writtenPaths(
        _ command: RequestCommand, _ options: Options, _ session: NamedSession?
    ) throws(Failure) -> WrittenPaths {
        do throws(UsageError) {
            return try WrittenPaths(of: command, options, session)
        } catch {
            throw Failure(error)
        }
    }

    /// Writes a note if `-b` names a missing file, or one with invalid lines, whose cookies aren't sent. Not for the
    /// jar that this run writes, which doesn't exist before the first run.
    private func noteMissingCookies(_ options: Options) {
        for path in options.cookieInputs where !options.writtenJars.contains(path) {
            let name = path.shown.printable
            guard InputFile.exists(path) else {
                let message = "there is no file \(name), so no cookies are read from it"
                note("\(message); -b NAME=VALUE sends a cookie", options)
                continue
            }
            guard FileStatus(path)?.kind == .regular, let content = try? InputFile.bytes(path, as: .store),
                CookieFile.hasOtherLine(content)
            else { continue }
            note("\(name) has lines that aren't cookies in Netscape's format: they are ignored", options)
        }
    }

    private func note(_ text: String, _ options: Options) {
        if options.messages >= .notes { console.note(text) }
    }

    private func converse(_ command: RequestCommand, _ options: Options) async throws(Failure) -> Outcome {
        _ = try writtenPaths(command, options, nil)
        noteMissingCookies(options)
        var configuration = try options.configuration(for: [command.url], environment)
        let stores = try RunStores(options, &configuration)
        try options.refusePins(for: [command.url], hsts: configuration.hsts)
        do throws(SessionError) {
            _ = try CoreURL.fromWebSocket(command.url)
        } catch {
            throw Failure(error)
        }
        let request = try request(command, options)
        // An option may read standard input, whose lines then aren't messages.
        let consumer = InputConsumer.name(in: command, options, input: console.input, environment)
        var outcome = await SocketConsole(
            request: request, options: options, configuration: configuration, console: console,
            input: consumer == nil ? console.input : nil
        ).run()
        await stores.save(&outcome)
        return outcome
    }

    private func namedSession(_ command: RequestCommand, _ options: Options) throws(Failure) -> NamedSession? {
        guard let name = options.session else { return nil }
        return try NamedSession(name, url: command.url, environment: environment)
    }

    /// Builds the request of a command.
    func request(_ command: RequestCommand, _ options: Options) throws(Failure) -> HTTPRequest {
        try RequestBuilder(
            command: command, options: options, input: console.input, environment: { environment },
            askedPasswords: askedPasswords, inputTexts: inputTexts,
            note: { note($0, options) }
        ).build()
    }
}
