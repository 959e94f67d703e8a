/// An error in the command line; nothing was sent.
struct UsageError: Error, Sendable, Equatable {
    /// The message. Never contains a value that may be a secret.
    let message: String

    init(_ message: String) {
        self.message = message
    }

    /// An error about a value that is shown, unless it is a URL with a password: an option whose value was forgotten
    /// takes the URL.
    static func invalid(_ value: String, of option: String, expected: String) -> UsageError {
        let shown = SecretPart.userInfo.offset(in: RawText(value)) == nil ? " '\(value.printable)'" : ""
        return UsageError("invalid value\(shown) for \(option): expected \(expected)")
    }
}
