import SwiftAF

extension RequestBuilder {
    /// Returns the credential of `--user`, or that of the URL; nil if neither is given.
    func credential(for request: HTTPRequest) throws(Failure) -> Credential? {
        let isOfURL = URLText(request.url).withoutUserInfo != request.url
        let isAsked = options.user != nil || options.authentication != nil
        guard isOfURL || isAsked else { return nil }
        if request.headers.contains(named: HTTPHeaders.Name.authorization) {
            // An explicit option takes precedence over the URL.
            guard isAsked else { return nil }
            throw Failure(
                UsageError("--user and --auth can't be combined with --bearer or an Authorization header"))
        }
        let schemes = options.authentication?.schemes ?? .any
        let isPreemptive = options.authentication == .basic
        if let user = options.user {
            let parts = user.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            return Credential(
                user: String(parts[0]), password: String(parts[1]), schemes: schemes, isPreemptive: isPreemptive)
        }
        if isOfURL { return .fromURL(schemes: schemes, isPreemptive: isPreemptive) }
        guard options.authentication == .negotiate else {
            throw Failure(UsageError("--auth needs --user NAME:PASSWORD"))
        }
        return .currentProcess
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
