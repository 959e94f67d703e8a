import Glibc

/// The program `swiftaf`, without its `main`.
package enum Program {
    /// Runs with the arguments and streams of the process, and exits with the status of the run.
    package static func main() -> Never {
        occupyStandardDescriptors()
        useOneHeap()
        // libcurl converts international host names from the locale's encoding. Arguments are UTF-8 in every locale.
        setlocale(LC_CTYPE, "C.UTF-8")
        // Writing to a closed pipe then fails with EPIPE instead of ending the process.
        signal(SIGPIPE, SIG_IGN)
        let arguments = rawArguments.dropFirst()
        hide(ArgumentParser.parse(Array(arguments)).secrets)
        // First, before anything starts that a signal would have to stop.
        let interrupts = Interrupts()
        let run = Task { await Runner(console: .standard).run(Array(arguments)) }
        interrupts.stopping { run.cancel() }
        Task {
            let status = await run.value
            exit(interrupts.status(for: status))
        }
        interrupts.wait()
    }

    /// The arguments as passed by the system. `CommandLine.arguments` replaces invalid UTF-8.
    private static var rawArguments: [RawText] {
        (0..<Int(CommandLine.argc)).compactMap { index in
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

    /// glibc gives each thread a heap of its own, whose pages are new to the process. The few threads of this program
    /// allocate little at the same time, so one heap lets it begin sooner.
    private static func useOneHeap() {
        typealias Option = @convention(c) (_ name: Int32, _ value: Int32) -> Int32
        let maximumHeaps: Int32 = -8  // M_ARENA_MAX; the module Glibc has no malloc.h.
        guard let mallopt = dlsym(nil, "mallopt") else { return }
        _ = unsafeBitCast(mallopt, to: Option.self)(maximumHeaps, 1)
    }

    /// Opens standard streams that the caller closed; otherwise, a socket could get their descriptors. The replacement
    /// is opened in the wrong direction, so using the stream fails.
    private static func occupyStandardDescriptors() {
        for (descriptor, mode) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_WRONLY)]
        where fcntl(descriptor, F_GETFD) < 0 {
            _ = open("/dev/null", mode)
        }
    }
}
