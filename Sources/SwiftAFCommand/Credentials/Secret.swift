import Glibc
import SwiftAF

/// A secret: its text, or the place from which it is read when the request is built.
enum Secret: Sendable, Equatable {
    case text(String)
    /// `@PATH`: the first line of a file. `@@` stands for an `@` that begins the secret itself.
    case file(RawText)
    /// `env:NAME`: an environment variable.
    case variable(String)

    /// The place from which a value of `--proxy` or `-b` is read; nil if the argument is the value itself, which isn't
    /// a secret as a whole.
    ///
    /// A name of variables doesn't begin with a digit, so that `env:8080` is a host with a port.
    init?(source value: RawText) throws(UsageError) {
        let name = value.bytes.dropFirst(4)
        if value.hasPrefix("@") {
            self = try .file(at: value.bytes.dropFirst())
        } else if value.hasPrefix("env:"), let first = name.first, !ASCII.isDigit(first),
            !name.contains(UInt8(ascii: "="))
        {
            self = .variable(RawText(name).shown)
        } else {
            return nil
        }
    }

    init(_ text: String) throws(UsageError) {
        if text.hasPrefix("@@") {
            self = .text(String(text.dropFirst()))
        } else if text.hasPrefix("@") {
            self = try .file(at: text.utf8.dropFirst())
        } else if text.hasPrefix("env:") {
            self = .variable(String(text.dropFirst(4)))
        } else {
            self = .text(text)
        }
    }

    private static func file(at path: some Collection<UInt8>) throws(UsageError) -> Secret {
        guard !path.isEmpty else { throw UsageError("@ needs the path of the file with the secret") }
        return .file(RawText(path))
    }
}

extension Secret {
    /// Returns the secret.
    func value(
        of option: String, environment: [String: String], files: InputTexts = InputTexts()
    ) throws(Failure) -> String {
        switch self {
        case .text(let text): return text
        case .file(let path):
            // Messages don't show the path: it may be a secret that begins with @.
            let text = try files.text(
                path.expandingHome(environment), as: .secret, shown: "\(option): the file behind @")
            return String(text.prefix { $0 != "\n" && $0 != "\r\n" })
        case .variable(let name):
            guard let value = environment[name] else {
                throw Failure(UsageError("\(option): the environment variable \(name.printable) isn't set"))
            }
            guard !value.contains("\u{FFFD}") || Self.isUTF8(variable: name) else {
                throw Failure(UsageError("\(option): the environment variable \(name.printable) is not UTF-8"))
            }
            return value
        }
    }

    /// Where the secret is, for messages.
    var place: String {
        switch self {
        case .text: "the value"
        case .file: "the file behind @"
        case .variable(let name): "the environment variable \(name.printable)"
        }
    }

    /// Whether a variable of the process is UTF-8. Where it isn't, `ProcessInfo` replaces it.
    private static func isUTF8(variable name: String) -> Bool {
        guard let value = getenv(name) else { return true }
        return RawText(UnsafeRawBufferPointer(start: value, count: strlen(value))).text != nil
    }
}
