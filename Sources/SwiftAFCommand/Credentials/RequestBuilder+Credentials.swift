import FoundationEssentials
import SwiftAF

extension RequestBuilder {
    /// Returns the credential of `--user`, or that of the URL; nil if neither is given.
    func credential(for request: HTTPRequest) throws(Failure) -> Credential? {
        let isOfURL = URLText(request.url).withoutUserInfo != request.url
        let isAsked = options.user != nil || options.authentication != nil
        guard isOfURL || isAsked || options.netrc != nil else { return nil }
        // An Authorization header takes precedence over the URL. Together with --user or --auth, it was already
        // refused.
        guard !request.headers.contains(named: .authorization) else { return nil }
        let schemes = options.authentication?.schemes ?? .any
        let isPreemptive = options.authentication == .basic
        if let secret = options.user {
            let user = try user(secret)
            let parts = user.utf8.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
                .map { String(Substring($0)) }
            try Self.refuseControls(parts[0], "--user: the user")
            let password = parts.count > 1 ? parts[1] : try unknownPassword(of: parts[0], request)
            try Self.refuseControls(password, "--user: the password")
            return Credential(user: parts[0], password: password, schemes: schemes, isPreemptive: isPreemptive)
        }
        let login = loginOfURL(request)
        if isOfURL, login == nil { return .fromURL(schemes: schemes, isPreemptive: isPreemptive) }
        if let entry = try netrcEntry(for: request, login: login) {
            return Credential(
                user: entry.user, password: entry.password, schemes: schemes, isPreemptive: isPreemptive)
        }
        if isOfURL { return .fromURL(schemes: schemes, isPreemptive: isPreemptive) }
        guard isAsked else { return nil }
        guard options.authentication == .negotiate else {
            throw Failure(UsageError("--auth needs --user NAME:PASSWORD"))
        }
        return .currentProcess
    }
}

extension RequestBuilder {
    /// Returns NAME:PASSWORD, or NAME. A printed curl command needs only the name, so no password is asked for: curl
    /// asks for it.
    private func user(_ secret: Secret) throws(Failure) -> String {
        guard options.printsCurlCommand else {
            return try secret.value(of: "--user", environment: environment(), files: inputTexts)
        }
        let user = try? secret.value(of: "--user", environment: environment(), files: inputTexts)
        return "\(Substring((user ?? "NAME").utf8.prefix { $0 != UInt8(ascii: ":") })):"
    }

    /// The user of a URL that has no password; nil if it has one, or no user.
    private func loginOfURL(_ request: HTTPRequest) -> String? {
        guard let url = request.parsedURL, url.password(percentEncoded: false) == nil,
            let user = url.user(percentEncoded: false), !user.isEmpty
        else { return nil }
        return user
    }

    /// Returns the password of a user who was given without one. As in curl, it is that of netrc; if there is none, it
    /// is asked for.
    private func unknownPassword(of user: String, _ request: HTTPRequest) throws(Failure) -> String {
        if let entry = try netrcEntry(for: request, login: user) { return entry.password }
        return try askPassword(of: user, request)
    }

    private func askPassword(of user: String, _ request: HTTPRequest) throws(Failure) -> String {
        let question = "password of \(user.printable) for \(URLText(request.url).withoutUserInfo.printable): "
        return try askedPasswords.password(of: user, for: request.url) { () throws(Failure) in
            guard let password = try askSecret(question) else {
                throw Failure(UsageError("--user needs NAME:PASSWORD: there is no terminal to ask for the password"))
            }
            return password
        }
    }

    /// - Parameter login: The user whose entry is looked for; nil for any.
    private func netrcEntry(for request: HTTPRequest, login: String?) throws(Failure) -> Netrc.Entry? {
        guard let file = options.netrc, let host = CoreURL.host(of: request.url) else { return nil }
        switch file {
        case .path(let path):
            return try netrcEntry(of: host, login, in: path.expandingHome(environment()))
        case .ofHome:
            guard let home = UserFolders.home(environment()) else {
                throw Failure(UsageError("--netrc needs a file: HOME isn't set to an absolute path"))
            }
            return try netrcEntry(of: host, login, in: RawText("\(home)/.netrc"))
        }
    }

    private func netrcEntry(of host: String, _ login: String?, in path: RawText) throws(Failure) -> Netrc.Entry? {
        let text = try Failure.naming("--netrc") { () throws(Failure) in try inputTexts.text(path, as: .netrc) }
        do throws(Netrc.OpenQuote) {
            return try Netrc.entry(for: host, login: login, in: text)
        } catch {
            throw Failure(
                .input, .invalidInput,
                """
                \(path.shown.printable), line \(error.line): the quote of the \(error.name) isn't closed; \
                \\" is a quote within quotes
                """)
        }
    }
}

extension Options.Authentication {
    var schemes: AuthenticationSchemes {
        switch self {
        case .basic: .basic
        case .digest: .digest
        case .any: .any
        case .ntlm: .ntlm
        case .negotiate: .negotiate
        }
    }
}
