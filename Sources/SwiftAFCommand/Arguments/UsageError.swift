/// An error in the command line; nothing was sent.
struct UsageError: Error, Sendable, Equatable {
    /// The message. Never contains a value that may be a secret.
    let message: String

    init(_ message: String) {
        self.message = message
    }

    /// An error about a value that is shown, because it can't be a secret.
    static func invalid(_ value: String, of option: String, expected: String) -> UsageError {
        UsageError("invalid value '\(value.printable)' for \(option): expected \(expected)")
    }
}
