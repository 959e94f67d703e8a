/// Who somebody is, for servers and proxies that ask. Neither password nor token are in its description.
///
/// One of a request is for the origin of its URL alone: a redirect to another scheme, host or port leaves it behind.
/// The strongest challenge is answered that it fits: Negotiate (if there is no user, or nothing else is allowed), NTLM,
/// Digest, Bearer, Basic; but never Basic where Digest is offered too, unless ``schemes`` leaves Digest out.
public struct Credential: Hashable, Sendable {
    /// Nil with a token, and if user and password are those of the URL.
    public let user: String?
    let password: String?
    let token: String?
    /// Those that may be used.
    public var schemes = AuthenticationSchemes.any
    /// Whether it goes out before anybody asks: as Basic or Bearer. Digest needs a challenge.
    public var isPreemptive = false
    /// Whether it is remembered when it answers a challenge.
    public var persistence = Persistence.none

    /// How long a credential that answers a challenge is kept.
    public enum Persistence: Hashable, Sendable {
        /// For the task that asked.
        case none
        /// In ``HTTPSessionManager/credentialStorage``, for every task that the same protection space asks.
        case forSession
    }

    private init(
        user: String?, password: String?, token: String?, schemes: AuthenticationSchemes, isPreemptive: Bool,
        persistence: Persistence
    ) {
        self.user = user
        self.password = password
        self.token = token
        self.schemes = schemes
        self.isPreemptive = isPreemptive
        self.persistence = persistence
    }

    /// A user with a password.
    ///
    /// - Parameter isPreemptive: Whether to send it as Basic at once, if that is allowed.
    public init(
        user: String, password: String, schemes: AuthenticationSchemes = .any, isPreemptive: Bool = false,
        persistence: Persistence = .none
    ) {
        self.init(
            user: user, password: password, token: nil, schemes: schemes, isPreemptive: isPreemptive,
            persistence: persistence)
    }

    /// A token of the Bearer scheme (RFC 6750).
    public init(bearerToken: String, isPreemptive: Bool = true, persistence: Persistence = .none) {
        self.init(
            user: nil, password: nil, token: bearerToken, schemes: .bearer, isPreemptive: isPreemptive,
            persistence: persistence)
    }

    /// User and password of the request's URL, which would be sent as Basic at once without this.
    public static func ofURL(schemes: AuthenticationSchemes = .any, isPreemptive: Bool = false) -> Credential {
        Credential(
            user: nil, password: nil, token: nil, schemes: schemes, isPreemptive: isPreemptive, persistence: .none)
    }

    /// Who this process is to Kerberos.
    public static let ofProcess = Credential(user: "", password: "", schemes: .negotiate)

    /// What is wrong with it; nil if nothing is.
    var fault: String? {
        let texts = [user, password, token].compactMap { $0 }
        if texts.contains(where: { $0.utf8.contains(where: ASCII.isControl) }) {
            return "a credential contains a control character"
        }
        return token == "" ? "the bearer token is empty" : nil
    }
}

extension Credential: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The user, and that there is a password or token.
    public var description: String {
        if token != nil { return "bearer token …" }
        return user.map { "user \(ASCII.printable($0)), password …" } ?? "user and password of the URL"
    }

    public var debugDescription: String { description }

    /// A mirror would show what ``description`` hides.
    public var customMirror: Mirror {
        Mirror(self, children: ["description": description])
    }
}

/// Schemes of authentication.
public struct AuthenticationSchemes: OptionSet, Hashable, Sendable {
    public let rawValue: UInt32

    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// User and password in the clear (RFC 7617).
    public static let basic = AuthenticationSchemes(rawValue: 1)
    /// A token (RFC 6750).
    public static let bearer = AuthenticationSchemes(rawValue: 2)
    /// A hash of user, password and request (RFC 7616): MD5, SHA-256 and SHA-512-256, each also as "-sess".
    public static let digest = AuthenticationSchemes(rawValue: 4)
    /// Windows' own, where libcurl has it. Authenticates a connection, which then serves this one transfer.
    public static let ntlm = AuthenticationSchemes(rawValue: 8)
    /// Kerberos, where libcurl has it: who this process is, whatever user and password say. As with ``ntlm``.
    public static let negotiate = AuthenticationSchemes(rawValue: 16)
    /// All of them.
    public static let any: AuthenticationSchemes = [.basic, .bearer, .digest, .ntlm, .negotiate]
}

extension AuthenticationSchemes: CustomStringConvertible {
    /// Their names as they stand in fields, such as `Basic, Digest`.
    public var description: String {
        let names: [(AuthenticationSchemes, String)] = [
            (.basic, "Basic"), (.bearer, "Bearer"), (.digest, "Digest"), (.ntlm, "NTLM"), (.negotiate, "Negotiate"),
        ]
        return names.filter { contains($0.0) }.map(\.1).joined(separator: ", ")
    }
}
