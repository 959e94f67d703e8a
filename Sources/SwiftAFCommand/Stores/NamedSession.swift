import FoundationEssentials
import Glibc
import SwiftAF

/// `--session NAME`: headers, credentials and cookies that later runs use again, for one origin.
///
/// `NAME.json` has the headers and credentials, `NAME.cookies` the cookies in Netscape's format. Only their owner can
/// read them.
struct NamedSession {
    /// Of the session, without an extension.
    let path: RawText
    var cookiePath: RawText { RawText(path.bytes + ".cookies".utf8) }
    var documentPath: RawText { RawText(path.bytes + ".json".utf8) }
    private let origin: String
    private var document = JSONValue.null

    /// Reads the session; it is empty if it doesn't exist.
    ///
    /// - Parameter name: A name, for a session in the user's folder for the origin; with a slash, a path.
    init(_ name: RawText, url: String, environment: [String: String]) throws(Failure) {
        guard let parts = Origin(url).map({ URLText($0.text) }), let scheme = parts.scheme, let host = parts.host else {
            throw Failure(UsageError("--session needs a URL with a host"))
        }
        let authority = host + (parts.portText.map { "_\($0)" } ?? "")
        origin = "\(scheme)://\(authority)"
        if name.bytes.contains(UInt8(ascii: "/")) {
            // The name of the document names the session, too.
            let ending = ".json"
            let hasEnding = name.bytes.reversed().starts(with: ending.utf8.reversed())
            path = hasEnding ? RawText(name.bytes.dropLast(ending.utf8.count)) : name
        } else {
            guard !name.bytes.isEmpty, !name.hasPrefix("."), !name.shown.contains(where: \.isWhitespace) else {
                throw Failure(
                    UsageError.invalid(name.shown, of: "--session", expected: "a name, or a path with a slash"))
            }
            let home = environment["HOME"].flatMap { $0.isEmpty ? nil : "\($0)/.config" }
            guard let folder = environment["XDG_CONFIG_HOME"].flatMap({ $0.isEmpty ? nil : $0 }) ?? home else {
                throw Failure(UsageError("--session needs a path with a slash: HOME isn't set"))
            }
            let ofOrigin = "\(folder)/swiftaf/sessions/\(scheme)_\(authority)/"
            path = RawText(Array(ofOrigin.utf8) + name.bytes)
        }
        try read()
    }

    /// Reads the document as it is now.
    private mutating func read(stopsWithRun: Bool = true) throws(Failure) {
        document = .null
        guard InputFile.exists(documentPath) else { return }
        let content = Array(try InputFile.bytes(documentPath, as: .store, stopsWithRun: stopsWithRun))
        guard let stored = try? JSONValue(parsing: content), stored.object != nil else {
            throw Failure(.input, .invalidInput, "\(documentPath.shown.printable) isn't a session")
        }
        guard stored["origin"]?.string == origin else {
            let owner = stored["origin"]?.string.map(Self.url) ?? "another program"
            throw Failure(UsageError("the session belongs to \(owner.printable); --session NAME has one for each host"))
        }
        document = stored
    }

    /// Returns the URL of an origin as it is stored, with an underscore before its port as in the names of folders.
    private static func url(ofOrigin origin: String) -> String {
        guard let mark = origin.lastIndex(of: "_"), UInt16(origin[origin.index(after: mark)...]) != nil else {
            return origin
        }
        return "\(origin[..<mark]):\(origin[origin.index(after: mark)...])"
    }

    /// Adds what is stored to a command line, which takes precedence.
    func add(to command: inout RequestCommand, _ options: inout Options) throws(Failure) {
        let given = Set(command.items.compactMap { $0.headerName?.lowercased() })
        for pair in document["headers"]?.array ?? [] {
            guard let name = pair.array?.first?.string, let value = pair.array?.last?.string,
                !given.contains(name.lowercased())
            else { continue }
            command.items.append(.header(name: name, value: RawText(value)))
        }
        let isIdentified = options.user != nil || options.bearerToken != nil || given.contains("authorization")
        guard !isIdentified, !command.items.contains(where: { $0.headerName?.lowercased() == "authorization" }) else {
            return
        }
        do throws(UsageError) {
            if let user = document["user"]?.string { options.user = try Secret(user) }
            if let token = document["bearer"]?.string { options.bearerToken = try Secret(token) }
        } catch {
            throw Failure(error)
        }
        let scheme = document["auth"]?.string.flatMap(Options.Authentication.init)
        options.authentication = options.authentication ?? scheme
    }

    /// Writes the headers and credentials of a command line, and of what is stored the rest: other runs may have
    /// changed it meanwhile. Headers about one body or one condition aren't kept.
    ///
    /// - Parameters:
    ///   - command: The command line as given, without what was stored.
    ///   - options: Likewise.
    func save(_ command: RequestCommand, _ options: Options) async throws(Failure) {
        OutputFile.makeFolders(of: path, mode: 0o700)
        try await FileLock.hold(for: documentPath) { () throws(Failure) in
            var (session, command, options) = (self, command, options)
            try session.read(stopsWithRun: false)
            try session.add(to: &command, &options)
            try session.write(command, options)
        }
    }

    private func write(_ command: RequestCommand, _ options: Options) throws(Failure) {
        var headers: [JSONValue] = []
        for case .header(let name, let value) in command.items {
            let lower = name.lowercased()
            let isForOneRequest =
                ["content-", "if-"].contains { lower.hasPrefix($0) } || ["range", "cookie"].contains(lower)
            guard !isForOneRequest, let text = value.text else { continue }
            headers.append(.array([.string(name), .string(text)]))
        }
        var members: [(String, JSONValue)] = [("origin", .string(origin)), ("headers", .array(headers))]
        if let user = options.user { members.append(("user", .string(user.argument))) }
        if let token = options.bearerToken { members.append(("bearer", .string(token.argument))) }
        if let scheme = options.authentication { members.append(("auth", .string(scheme.rawValue))) }
        do {
            let texts = try members.map { ($0.0, try JSONText.value($0.1)) }
            let text = JSONText.object(texts).pretty
            try OutputFile.write(Data(text.bytes + "\n".utf8), to: documentPath)
        } catch let error as SessionError {
            throw Failure(error)
        } catch {
            throw Failure(.file, .file, "the session can't be written: \(error)")
        }
    }
}

extension Item {
    /// The name of the header that the item sets or removes; nil for other items.
    fileprivate var headerName: String? {
        switch self {
        case .header(let name, _), .headerFromFile(let name, _), .removedHeader(let name): name
        default: nil
        }
    }
}

extension Secret {
    /// The secret as it is written on a command line.
    fileprivate var argument: String {
        switch self {
        case .text(let text): text.hasPrefix("@") ? "@\(text)" : text
        case .file(let path): "@\(path.shown)"
        case .variable(let name): "env:\(name)"
        }
    }
}
