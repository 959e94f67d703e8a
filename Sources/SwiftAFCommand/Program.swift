import Dispatch
import Glibc

/// The program `swiftaf`, but for its `main`.
package enum Program {
    /// Runs with the process's arguments and streams, and ends the process with its exit status.
    package static func main() -> Never {
        occupyStandardDescriptors()
        // libcurl reads host names outside ASCII in the encoding of the locale; arguments are UTF-8 in any.
        setlocale(LC_CTYPE, "C.UTF-8")
        // A reader that is gone is an error of the write, not the end of the process.
        signal(SIGPIPE, SIG_IGN)
        let arguments = rawArguments.dropFirst()
        // Before anything has begun that would have to be ended.
        let interrupts = Interrupts()
        let run = Task { await Runner(console: .standard).run(Array(arguments)) }
        interrupts.stopping { run.cancel() }
        Task {
            let status = await run.value
            withExtendedLifetime(interrupts) { exit(interrupts.status(for: status)) }
        }
        dispatchMain()
    }

    /// The arguments as the system gave them: `CommandLine.arguments` replaces what isn't UTF-8.
    private static var rawArguments: [RawText] {
        (0..<Int(CommandLine.argc)).compactMap { index in
            CommandLine.unsafeArgv[index].map { argument in
                RawText(UnsafeRawBufferPointer(start: argument, count: strlen(argument)))
            }
        }
    }

    /// A standard stream that the caller closed must not become some socket's number. What is opened in its place
    /// refuses what the stream is for.
    private static func occupyStandardDescriptors() {
        for (descriptor, mode) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_WRONLY)]
        where fcntl(descriptor, F_GETFD) < 0 {
            _ = open("/dev/null", mode)
        }
    }
}
