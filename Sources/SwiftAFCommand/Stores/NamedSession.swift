import FoundationEssentials
import Glibc
import SwiftAF

/// `--session NAME`: headers, credentials and cookies that later runs use again, for one origin.
///
/// `NAME.json` has the headers and credentials, `NAME.cookies` the cookies in Netscape's format. Only their owner can
/// read them.
struct NamedSession {
    /// The path of the session, without an extension.
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
            guard path.bytes.last != UInt8(ascii: "/") else {
                throw Failure(
                    UsageError.invalid(name.shown, of: "--session", expected: "a path that ends with a name"))
            }
        } else {
            guard !name.bytes.isEmpty, !name.hasPrefix("."), !name.shown.contains(where: \.isWhitespace) else {
                throw Failure(
                    UsageError.invalid(name.shown, of: "--session", expected: "a name, or a path with a slash"))
            }
            guard let folder = UserFolders.configuration(environment) else {
                throw Failure(UsageError("--session needs a path with a slash: HOME isn't set to an absolute path"))
            }
            let ofOrigin = "\(folder)/swiftaf/sessions/\(scheme)_\(authority)/"
            path = RawText(Array(ofOrigin.utf8) + name.bytes)
        }
        do throws(Failure) {
            try read()
        } catch {
            throw error.naming("--session")
        }
    }

    /// Reads the document as it is now.
    private mutating func read(stopsWithRun: Bool = true) throws(Failure) {
        document = .null
        guard InputFile.exists(documentPath) else { return }
        let content = Array(try InputFile.bytes(documentPath, as: .store, stopsWithRun: stopsWithRun))
        guard let stored = try? JSONValue(parsing: content), stored.object != nil else {
            throw Failure(.input, .invalidInput, "\(documentPath.shown.printable) isn't a session")
        }
        if let fault = Self.fault(of: stored) {
            throw Failure(.input, .invalidInput, "\(documentPath.shown.printable) isn't a session: \(fault)")
        }
        guard stored["origin"]?.string == origin else {
            let owner = stored["origin"]?.string.map(Self.url) ?? "another program"
            throw Failure(UsageError("the session belongs to \(owner.printable); --session NAME has one for each host"))
        }
        document = stored
    }

    /// Returns what is wrong with a document; nil if nothing is. The wrong part would be ignored, and lost when the
    /// session is written.
    private static func fault(of document: JSONValue) -> String? {
        for name in ["user", "bearer", "auth"] {
            guard let value = document[name], value != .null, value.string == nil else { continue }
            return "'\(name)' isn't a string"
        }
        if let scheme = document["auth"]?.string, Options.Authentication(rawValue: scheme) == nil {
            return "'auth' isn't \(Options.Authentication.allCases.map(\.rawValue).joined(separator: ", "))"
        }
        for (name, second) in [("headers", "a value"), ("headerFiles", "a path")] {
            guard let headers = document[name], headers != .null else { continue }
            let arePairs = headers.array?.allSatisfy { pair in
                pair.array.map { $0.count == 2 && $0.allSatisfy { $0.string != nil } } ?? false
            }
            guard arePairs == true else { return "'\(name)' aren't pairs of a name and \(second), which are strings" }
        }
        return nil
    }

    /// The stored headers: those with a value, then those whose value is in a file.
    private var headers: [Item] {
        func pairs(_ member: String) -> [(name: String, value: RawText)] {
            (document[member]?.array ?? []).compactMap { pair in
                guard let name = pair.array?.first?.string, let value = pair.array?.last?.string else { return nil }
                return (name, RawText(value))
            }
        }
        return pairs("headers").map { .header(name: $0.name, value: $0.value) }
            + pairs("headerFiles").map { .headerFromFile(name: $0.name, path: $0.value) }
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
        // Credentials that aren't stored: a user in the URL, and a scheme for a user of the URL or of netrc.
        let hasUser = URLText(command.url).withoutUserInfo != command.url
        let hasOtherScheme = options.authentication != nil && document["user"] == nil
        try add(to: &command, &options, isIdentified: hasUser || hasOtherScheme)
    }

    /// - Parameter isIdentified: Whether the command line has credentials in places that aren't kept.
    private func add(
        to command: inout RequestCommand, _ options: inout Options, isIdentified: Bool
    ) throws(Failure) {
        let given = Set(command.items.compactMap { $0.headerName?.lowercased() })
        let field = HTTPHeaders.Name.authorization.text.lowercased()
        let isIdentified =
            isIdentified || options.user != nil || options.bearerToken != nil || given.contains(field)
            || options.authentication == .negotiate
        command.items += headers.filter { item in
            let name = item.headerName?.lowercased() ?? ""
            return !given.contains(name) && !(isIdentified && name == field)
        }
        guard !isIdentified, !command.items.contains(where: { $0.headerName?.lowercased() == field }) else { return }
        do throws(UsageError) {
            if let user = document["user"]?.string { options.user = try Secret(user) }
            if let token = document["bearer"]?.string, options.user == nil {
                options.bearerToken = try Secret(token)
            }
        } catch {
            throw Failure(error)
        }
        let scheme = document["auth"]?.string.flatMap(Options.Authentication.init)
        // With a scheme alone, a user would be asked for, except with the identity of the process, which needs none.
        guard options.user != nil || scheme == .negotiate && options.bearerToken == nil else { return }
        options.authentication = options.authentication ?? scheme
    }

    /// Writes the headers and credentials of a command line, and keeps the rest of what is stored, which is read again:
    /// other runs may have changed it meanwhile. Headers about one body or one condition aren't kept.
    ///
    /// - Parameters:
    ///   - command: The command line as given, without what was stored.
    ///   - options: Likewise.
    func save(_ command: RequestCommand, _ options: Options) async throws(Failure) {
        OutputFile.makeFolders(of: path, mode: 0o700)
        try await FileLock.hold(for: documentPath) { () throws(Failure) in
            var (session, command, options) = (self, command, options)
            do throws(Failure) {
                try session.read(stopsWithRun: false)
            } catch {
                // The request was sent: what another program did to the file meanwhile is no longer an invalid input.
                throw Failure(.file, .file, error.message)
            }
            try session.add(to: &command, &options, isIdentified: false)
            try session.write(command, options)
        }
    }

    /// Returns notes about the headers that a session can't keep, because JSON is text.
    static func notes(onHeadersOf command: RequestCommand) -> [String] {
        command.items.compactMap { item in
            guard let name = item.headerName, !isForOneRequest(name.lowercased()) else { return nil }
            let subject: String
            switch item {
            case .header(_, let value) where value.text == nil: subject = "its value"
            case .headerFromFile(_, let path) where path.text == nil: subject = "the path of its file"
            default: return nil
            }
            return "the session doesn't keep \(name.printable): \(subject) is not UTF-8"
        }
    }

    /// - Parameter name: The name of a header in lower case.
    private static func isForOneRequest(_ name: String) -> Bool {
        ["content-", "if-"].contains { name.hasPrefix($0) } || ["range", "cookie"].contains(name)
    }

    private func write(_ command: RequestCommand, _ options: Options) throws(Failure) {
        var headers: [JSONValue] = []
        var files: [JSONValue] = []
        for item in command.items {
            guard let name = item.headerName, !Self.isForOneRequest(name.lowercased()) else { continue }
            switch item {
            case .header(_, let value):
                if let text = value.text { headers.append([.string(name), .string(text)]) }
            case .headerFromFile(_, let path):
                // The path is stored, as for `--bearer @FILE`: later the file may hold another token.
                if let text = path.text { files.append([.string(name), .string(text)]) }
            default: break
            }
        }
        var members: [(String, JSONValue)] = [("origin", .string(origin)), ("headers", .array(headers))]
        if !files.isEmpty { members.append(("headerFiles", .array(files))) }
        if let user = options.user { members.append(("user", .string(user.argument))) }
        if let token = options.bearerToken { members.append(("bearer", .string(token.argument))) }
        if let scheme = options.authentication, options.user != nil || scheme == .negotiate {
            members.append(("auth", .string(scheme.rawValue)))
        }
        do {
            let texts = try members.map { ($0.0, try JSONText.value($0.1)) }
            let text = JSONText.object(texts).pretty
            try OutputFile.write(Data(text.bytes + "\n".utf8), to: documentPath, syncs: true)
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
