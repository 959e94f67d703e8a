import Glibc
import SwiftAF

/// The program `swiftaf`, without its `main`.
package enum Program {
    /// Runs with the arguments and streams of the process, and exits with the status of the run.
    ///
    /// - Parameter callOnFirstThread: Calls a function on a thread that blocks all signals. Returns false without such
    ///   a thread.
    package static func main(onFirstThread callOnFirstThread: Interrupts.ThreadCall) -> Never {
        useUTF8()
        // Writing to a closed pipe then fails with EPIPE instead of ending the process.
        signal(SIGPIPE, SIG_IGN)
        // Likewise, writing beyond the limit of `ulimit -f` then fails with EFBIG.
        signal(SIGXFSZ, SIG_IGN)
        restoreQuit()
        // Before anything starts that a signal would have to stop.
        let interrupts = Interrupts()
        interrupts.handle(on: callOnFirstThread)
        let invocation = ArgumentParser.parse(rawArguments)
        hide(invocation.secrets)
        let executor = MainThreadExecutor()
        let run = Task(executorPreference: executor) { await Runner(console: .standard).run(invocation) }
        interrupts.stopping { run.cancel() }
        Task(executorPreference: executor) {
            let status = await run.value
            // Waits for the other thread, in case there was no session: libraries mustn't be initialized while the
            // process exits.
            CoreLibraries.prepare()
            exit(interrupts.status(for: status))
        }
        executor.run()
    }

    /// Makes SIGQUIT end the process again. Swift's runtime handles it to print a backtrace, after which the process
    /// would continue. It leaves a signal alone that was ignored when the process started.
    private static func restoreQuit() {
        if !Interrupts.isIgnored(SIGQUIT) { signal(SIGQUIT, SIG_DFL) }
    }

    /// The arguments after the program's name, as passed by the system. `CommandLine.arguments` replaces invalid UTF-8.
    private static var rawArguments: [RawText] {
        (1..<max(1, Int(CommandLine.argc))).compactMap { index in
            CommandLine.unsafeArgv[index].map { argument in
                RawText(UnsafeRawBufferPointer(start: argument, count: strlen(argument)))
            }
        }
    }

    /// Overwrites secrets in the arguments, which other users can read in /proc and see in the list of processes.
    private static func hide(_ secrets: [SecretPlace]) {
        for secret in secrets {
            guard let argument = CommandLine.unsafeArgv[secret.argument + 1] else { continue }
            let size = strlen(argument)
            guard secret.offset < size else { continue }
            memset(argument + secret.offset, Int32(UInt8(ascii: "*")), size - secret.offset)
        }
    }

    /// Sets the locale, if any argument or environment variable isn't ASCII. libcurl converts an international name of
    /// a proxy from the locale's encoding; they are UTF-8 in every locale. Loading a locale costs 0.1 ms
    /// (Benchmarks/first-byte).
    private static func useUTF8() {
        guard !isASCII(CommandLine.unsafeArgv) || !isASCII(environ) else { return }
        // The other thread mustn't use the locale meanwhile.
        CoreLibraries.prepare()
        setlocale(LC_CTYPE, "C.UTF-8")
    }

    /// - Parameter texts: Pointers to texts, with nil at the end.
    private static func isASCII(_ texts: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?) -> Bool {
        guard var next = texts else { return true }
        while let text = next.pointee {
            for index in 0..<strlen(text) where text[index] < 0 { return false }
            next += 1
        }
        return true
    }
}
