/// An option: its spellings, its help text, and its effect.
struct OptionEntry: Sendable {
    /// All spellings; the long one is last.
    let names: [String]
    /// The placeholder for the value in the help text; nil for a flag.
    let placeholder: String?
    let help: String
    /// The commands that accept the option. With any other command it is an error.
    let commands: CommandKinds
    /// The part of the value that may be a secret.
    var secretPart = SecretPart.none
    /// Whether the value can be omitted. If it is given, it must be written as `--name=value`.
    var hasOptionalValue = false
    /// The only values, for completions; empty if there are others.
    var choices: [String] = []
    /// Whether the option can be given several times, and each counts.
    var isRepeatable = false
    /// Sets the value. The name is the spelling of the command line, for errors.
    let apply: @Sendable (inout Options, _ value: RawText, _ name: String) throws(UsageError) -> Void

    /// The identifier for rules about this option; nil if there are none.
    var id: OptionID? { names.last.flatMap { OptionID(rawValue: $0) } }

    /// The spellings with the placeholder of the value.
    var spelling: String {
        let value = placeholder.map { hasOptionalValue ? $0 : " \($0)" } ?? ""
        return names.joined(separator: ", ") + value
    }

    /// The same option, whose value may be a secret.
    var secret: OptionEntry { hiding(.whole) }

    /// The same option, a part of whose value may be a secret.
    func hiding(_ part: SecretPart) -> OptionEntry {
        var entry = self
        entry.secretPart = part
        return entry
    }

    /// The same option, which has these values only.
    func choosing(_ choices: [String]) -> OptionEntry {
        var entry = self
        entry.choices = choices
        return entry
    }

    /// The same option, whose value can be left out.
    var withOptionalValue: OptionEntry {
        var entry = self
        entry.hasOptionalValue = true
        return entry
    }

    /// The same option, which can be given several times.
    var repeatable: OptionEntry {
        var entry = self
        entry.isRepeatable = true
        return entry
    }

    /// Creates an option without a value.
    static func flag(
        _ names: String..., help: String, for commands: CommandKinds = .transfers,
        set: @escaping @Sendable (inout Options) throws(UsageError) -> Void
    ) -> OptionEntry {
        OptionEntry(names: names, placeholder: nil, help: help, commands: commands) {
            options, _, _ throws(UsageError) in try set(&options)
        }
    }

    /// Creates an option whose value is a string, and whose errors have the spelling of the command line.
    static func value(
        _ names: String..., placeholder: String, help: String, for commands: CommandKinds = .transfers,
        apply: @escaping @Sendable (inout Options, String, String) throws(UsageError) -> Void
    ) -> OptionEntry {
        OptionEntry(names: names, placeholder: placeholder, help: help, commands: commands) {
            options, value, name throws(UsageError) in
            try apply(&options, try value.text(of: "the value of \(name)"), name)
        }
    }

    /// Creates an option whose value is a string.
    static func value(
        _ names: String..., placeholder: String, help: String, for commands: CommandKinds = .transfers,
        apply: @escaping @Sendable (inout Options, String) throws(UsageError) -> Void
    ) -> OptionEntry {
        OptionEntry(names: names, placeholder: placeholder, help: help, commands: commands) {
            options, value, name throws(UsageError) in
            try apply(&options, try value.text(of: "the value of \(name)"))
        }
    }

    /// Creates an option whose value is bytes, such as a body or the path of a file, and whose errors have the spelling
    /// of the command line.
    static func bytes(
        _ names: String..., placeholder: String, help: String, for commands: CommandKinds = .transfers,
        apply: @escaping @Sendable (inout Options, RawText, String) throws(UsageError) -> Void
    ) -> OptionEntry {
        OptionEntry(names: names, placeholder: placeholder, help: help, commands: commands, apply: apply)
    }

    /// Creates an option whose value is bytes, such as a body or the path of a file.
    static func bytes(
        _ names: String..., placeholder: String, help: String, for commands: CommandKinds = .transfers,
        apply: @escaping @Sendable (inout Options, RawText) throws(UsageError) -> Void
    ) -> OptionEntry {
        OptionEntry(names: names, placeholder: placeholder, help: help, commands: commands) {
            options, value, _ throws(UsageError) in try apply(&options, value)
        }
    }
}
