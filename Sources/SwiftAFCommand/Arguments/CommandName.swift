/// The kind of a command, which determines the options it accepts.
struct CommandKinds: OptionSet, Sendable {
    let rawValue: Int

    /// get, head, delete, post, put, patch, options, request
    static let request = CommandKinds(rawValue: 1)
    static let upload = CommandKinds(rawValue: 2)
    static let download = CommandKinds(rawValue: 4)
    static let image = CommandKinds(rawValue: 8)
    static let trust = CommandKinds(rawValue: 16)
    /// demo, help
    static let tour = CommandKinds(rawValue: 32)

    /// The commands that send a request.
    static let transfers: CommandKinds = [.request, .upload, .download, .image]
    /// The commands that open connections.
    static let connections: CommandKinds = [.transfers, .trust]
    static let all: CommandKinds = [.connections, .tour]

    /// - Returns: Nil if the command doesn't exist.
    init?(command name: String) {
        switch name {
        case "get", "head", "delete", "post", "put", "patch", "options", "request": self = .request
        case "upload": self = .upload
        case "download": self = .download
        case "image": self = .image
        case "trust": self = .trust
        case "demo", "help": self = .tour
        default: return nil
        }
    }

    init(rawValue: Int) {
        self.rawValue = rawValue
    }
}
