import Glibc
import SwiftAF

/// Standard input as a body: where nothing else is, as in `swiftaf post URL < file`, and by `-d @-`.
struct InputBody {
    /// The descriptor.
    let input: Int32
    /// The option or item that reads standard input for something else; nil if none does. See ``InputConsumer``.
    var consumer: String?
    /// Writes a note to standard error.
    let note: @Sendable (String) -> Void
    /// How long the first byte is waited for before a note is written.
    var silence = Duration.seconds(10)

    /// How long a command without a method waits for the first byte of a pipe, before it is a GET.
    private static let firstByteTimeout = Duration.seconds(1)
    /// The methods whose requests have no body as a rule. A script's input mustn't be taken for theirs.
    private static let withoutBody: [HTTPMethod] = [.get, .head, .delete, .options, .trace]

    /// Returns the body; nil if there is another one, the method takes none, or standard input is a terminal, a device,
    /// a file that was read to its end, a pipe at its end, or read by an option.
    func ofCommand(_ command: RequestCommand, _ options: Options) throws(Failure) -> HTTPBody? {
        guard !options.ignoresInput, consumer == nil, !options.sendsBody(of: command), command.purpose != .download,
            command.purpose != .picture
        else { return nil }
        if let method = command.method, Self.withoutBody.contains(method) { return nil }
        guard let status = FileStatus(input), let body = try body(status, command) else { return nil }
        noteMethod(command, options)
        return body
    }

    /// Notes that a request became a POST, because the command line doesn't show it: the input may be meant for another
    /// program, as in the loop of a shell. A type of the body says that there is one.
    private func noteMethod(_ command: RequestCommand, _ options: Options) {
        guard command.method == nil, options.bodyFormat == .json, !options.printsCurlCommand else { return }
        let hasType = command.items.contains { item in
            switch item {
            case .header(let name, _), .headerFromFile(let name, _), .removedHeader(let name):
                ASCII.equalIgnoringCase(HTTPHeaders.Name.contentType.text, name)
            default: false
            }
        }
        guard !hasType else { return }
        note(
            """
            standard input is sent as the body of a POST: post URL names the method, --ignore-stdin or < /dev/null \
            sends a GET
            """)
    }

    private func body(_ status: FileStatus, _ command: RequestCommand) throws(Failure) -> HTTPBody? {
        switch status.kind {
        case .regular:
            guard !isLongerThanItsSize(status) else { return .stream(once: pipe(.implicit)) }
            let offset = max(0, lseek(input, 0, SEEK_CUR))
            // The method mustn't depend on whether the file happens to be empty.
            guard offset < status.size else { return status.size == 0 ? .data(.init()) : nil }
            let file = file(offset..<status.size)
            return .stream(length: Int64(status.size - offset)) { file }
        case .pipe, .socket:
            if command.method == nil, try !hasData() { return nil }
            return .stream(once: pipe(.implicit))
        default: return nil
        }
    }

    /// The body of `-d @-`, whose length isn't sent, and which is read once whatever it is.
    var ofOption: HTTPBody { .stream(once: pipe(.option)) }

    /// Why standard input is the body.
    enum Origin {
        /// The command line gives no other.
        case implicit
        case option

        var advice: String {
            switch self {
            case .implicit: "which is the body: --ignore-stdin or < /dev/null sends none"
            case .option: "which is the body: < /dev/null sends an empty one"
            }
        }
    }

    private func file(_ range: Range<off_t>) -> ByteStream { ByteStream(descriptor: input, range: range) }

    /// What can be read once.
    func pipe(_ origin: Origin) -> ByteStream {
        let silence = ByteStream.Silence(limit: silence) { [note] in
            note("waiting for standard input, \(origin.advice)")
        }
        return ByteStream(descriptor: input, silence: silence)
    }

    private func isLongerThanItsSize(_ status: FileStatus) -> Bool {
        InputFile.isLongerThanItsSize(input, status, from: max(0, lseek(input, 0, SEEK_CUR)))
    }

    /// Whether a pipe has data. A pipe that nothing is written to doesn't make a request a POST.
    private func hasData() throws(Failure) -> Bool {
        let end = Instant.now + Self.firstByteTimeout
        var events = PollEvents.wait(for: .input, of: input, timeout: Deadline.nextPoll)
        while events.isEmpty {
            try Deadline.check()
            guard .now < end else {
                // Without the note, it would go unnoticed that what the pipe has later isn't sent.
                note(
                    """
                    standard input had no data within \(Format.shortSeconds(Self.firstByteTimeout)): the request has no \
                    body; post URL waits for one, --ignore-stdin or < /dev/null doesn't wait
                    """)
                return false
            }
            events = PollEvents.wait(for: .input, of: input, timeout: Deadline.nextPoll)
        }
        guard events.contains(.input) else { return false }
        var count: Int32 = 0
        return ioctl(input, UInt(FIONREAD), &count) == 0 && count > 0
    }
}
