import Glibc
import SwiftAF

extension Secret {
    /// Returns the secret.
    func value(of option: String, environment: [String: String]) throws(Failure) -> String {
        switch self {
        case .text(let text): return text
        case .file(let path):
            let text = try InputFile.text(path)
            return String(text.prefix { $0 != "\n" && $0 != "\r\n" })
        case .variable(let name):
            guard let value = environment[name] else {
                throw Failure(UsageError("\(option): the environment variable \(name.printable) isn't set"))
            }
            return value
        }
    }
}

/// Asks for a secret on the terminal of the process.
enum Prompt {
    /// Prints a question and reads a line without echo; nil without a terminal.
    static func secret(_ question: String) -> String? {
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC)
        guard terminal >= 0 else { return nil }
        defer { close(terminal) }
        var settings = termios()
        guard tcgetattr(terminal, &settings) == 0 else { return nil }
        var silent = settings
        silent.c_lflag &= ~tcflag_t(ECHO)
        tcsetattr(terminal, TCSAFLUSH, &silent)
        defer { tcsetattr(terminal, TCSANOW, &settings) }
        say(question, terminal)
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while read(terminal, &byte, 1) == 1, byte != UInt8(ascii: "\n") { line.append(byte) }
        say("\n", terminal)
        return String(decoding: line, as: UTF8.self)
    }

    private static func say(_ text: String, _ terminal: Int32) {
        _ = Array(text.utf8).withUnsafeBytes { write(terminal, $0.baseAddress, $0.count) }
    }
}
