import Glibc
import SwiftAF

/// Standard input as the body, where nothing else is: `swiftaf post URL < file`.
enum InputBody {
    /// How long a command without a method waits for the first byte of a pipe, before it is a GET.
    private static let patience = Duration.seconds(1)
    /// The maximum time in milliseconds until a cancelled run notices it.
    private static let step: Int32 = 100
    /// The methods whose requests have no body as a rule. A script's input mustn't be taken for theirs.
    private static let withoutBody: [HTTPMethod] = [.get, .head, .delete, .options, .trace, .connect]

    /// Returns the body; nil if there is another one, the method takes none, or standard input is a terminal, a device,
    /// or a pipe at its end.
    static func of(_ command: RequestCommand, _ options: Options, _ input: Int32) throws(Failure) -> HTTPBody? {
        guard !options.ignoresInput, !options.sendsBody(of: command), command.purpose != .download,
            command.purpose != .picture
        else { return nil }
        if let method = command.method, withoutBody.contains(method) { return nil }
        var status = stat()
        guard input >= 0, fstat(input, &status) == 0 else { return nil }
        switch status.st_mode & S_IFMT {
        case S_IFREG:
            let offset = max(0, lseek(input, 0, SEEK_CUR))
            guard !InputFile.isLongerThanItsSize(input, status, from: offset) else {
                return .stream(once: ByteStream(descriptor: input))
            }
            let rest = status.st_size - offset
            return rest > 0 ? .stream(once: ByteStream(descriptor: input), length: Int64(rest)) : nil
        case S_IFIFO, S_IFSOCK:
            if command.method == nil, try !hasData(input) { return nil }
            return .stream(once: ByteStream(descriptor: input))
        default: return nil
        }
    }

    /// Whether a pipe has data. A pipe that nothing is written to doesn't make a request a POST.
    private static func hasData(_ input: Int32) throws(Failure) -> Bool {
        let end = ContinuousClock.now + patience
        var wait = pollfd(fd: input, events: Int16(POLLIN), revents: 0)
        while poll(&wait, 1, Deadline.wait(step)) <= 0 {
            try Deadline.check()
            guard .now < end else { return false }
        }
        guard wait.revents & Int16(POLLIN) != 0 else { return false }
        var count: Int32 = 0
        return ioctl(input, UInt(FIONREAD), &count) == 0 && count > 0
    }
}
