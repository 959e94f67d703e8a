/// A credential for servers or proxies. Its description contains neither password nor token.
///
/// A request's credential is sent to the origin of the request's URL only; it is dropped on a redirect to another
/// scheme, host or port. The strongest supported challenge is answered: Negotiate (without a user, or if nothing else
/// is allowed), NTLM, Digest, Bearer, Basic. Basic is never used if Digest is offered, unless ``schemes`` excludes
/// Digest.
public struct Credential: Hashable, Sendable {
    /// The user; nil for a token, and for ``fromURL(schemes:isPreemptive:)``.
    public let user: String?
    let password: String?
    let token: String?
    /// The allowed schemes. Default: all.
    public var schemes = AuthenticationSchemes.any
    /// Whether the credential is sent without a challenge, as Basic or Bearer. Digest needs a challenge. Default:
    /// false; true for a bearer token.
    public var isPreemptive = false
    /// How long the credential is kept after it has answered a challenge. Default: for one task.
    public var persistence = Persistence.none

    /// How long a credential that answers a challenge is kept.
    public enum Persistence: Hashable, Sendable {
        /// The credential is kept for one task.
        case none
        /// The credential is kept in ``HTTPSessionManager/credentialStorage``, for all tasks with challenges of the
        /// same protection space.
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

    /// Creates a credential from user and password.
    ///
    /// - Parameters:
    ///   - user: The user.
    ///   - password: The password.
    ///   - schemes: The schemes that may be used.
    ///   - isPreemptive: Whether to send it as Basic without a challenge, if allowed.
    ///   - persistence: How long the credential is kept.
    public init(
        user: String, password: String, schemes: AuthenticationSchemes = .any, isPreemptive: Bool = false,
        persistence: Persistence = .none
    ) {
        self.init(
            user: user, password: password, token: nil, schemes: schemes, isPreemptive: isPreemptive,
            persistence: persistence)
    }

    /// Creates a credential with a bearer token (RFC 6750).
    ///
    /// - Parameters:
    ///   - bearerToken: The token.
    ///   - isPreemptive: Whether to send it without a challenge.
    ///   - persistence: How long the credential is kept.
    public init(bearerToken: String, isPreemptive: Bool = true, persistence: Persistence = .none) {
        self.init(
            user: nil, password: nil, token: bearerToken, schemes: .bearer, isPreemptive: isPreemptive,
            persistence: persistence)
    }

    /// Returns a credential that stands for the user and password in the request's URL, which are then sent after a
    /// challenge. Without this credential they are sent at once, as Basic.
    public static func fromURL(schemes: AuthenticationSchemes = .any, isPreemptive: Bool = false) -> Credential {
        Credential(
            user: nil, password: nil, token: nil, schemes: schemes, isPreemptive: isPreemptive, persistence: .none)
    }

    /// The Kerberos identity of this process.
    public static let currentProcess = Credential(user: "", password: "", schemes: .negotiate)

    /// A text that identifies the credential, with its secrets. It differs for credentials that may get different
    /// responses.
    package var identity: String {
        // Unambiguous, because no part of a valid credential contains a line feed.
        let parts = [user.map { "user \($0)" }, password.map { "password \($0)" }, token.map { "token \($0)" }]
        return (parts.compactMap { $0 } + ["schemes \(schemes.rawValue)"]).joined(separator: "\n")
    }

    /// Whether user, password and token are the same.
    func hasSameSecret(as other: Credential?) -> Bool {
        user == other?.user && password == other?.password && token == other?.token
    }

    /// A description of the first invalid part; nil if the credential is valid.
    var fault: String? {
        for (text, name) in [(user, "user"), (password, "password"), (token, "token")] {
            guard let text, text.utf8.contains(where: ASCII.isControl) else { continue }
            return "the \(name) of a credential contains a control character"
        }
        return token == "" ? "the bearer token is empty" : nil
    }
}

extension Credential: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The user, and whether there is a password or token.
    public var description: String {
        if token != nil { return "bearer token …" }
        return user.map { "user \(ASCII.printable($0)), password …" } ?? "user and password of the URL"
    }

    public var debugDescription: String { description }

    /// Without this, a mirror would show what ``description`` hides.
    public var customMirror: Mirror {
        Mirror(self, children: ["description": description])
    }
}

/// An authentication scheme.
public enum AuthenticationScheme: UInt32, Hashable, Sendable, CustomStringConvertible {
    /// User and password, unencrypted (RFC 7617).
    case basic = 1
    /// A token (RFC 6750).
    case bearer = 2
    /// A hash of user, password and request (RFC 7616).
    case digest = 4
    /// NTLM, the challenge-response scheme of Windows.
    case ntlm = 8
    /// Kerberos (SPNEGO, RFC 4559).
    case negotiate = 16

    /// The name as in header fields, such as `Basic`.
    public var description: String { AuthenticationSchemes(rawValue: rawValue).description }
}

/// A set of authentication schemes.
public struct AuthenticationSchemes: OptionSet, Hashable, Sendable {
    public let rawValue: UInt32

    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// User and password, unencrypted (RFC 7617).
    public static let basic = AuthenticationSchemes(rawValue: 1)
    /// A token (RFC 6750).
    public static let bearer = AuthenticationSchemes(rawValue: 2)
    /// A hash of user, password and request (RFC 7616): MD5, SHA-256 and SHA-512-256, each also as "-sess".
    public static let digest = AuthenticationSchemes(rawValue: 4)
    /// NTLM, if libcurl has it. Authenticates a connection, which is then used for this transfer only.
    public static let ntlm = AuthenticationSchemes(rawValue: 8)
    /// Kerberos, if libcurl has it, with the identity of this process; ignores user and password. Otherwise as
    /// ``ntlm``.
    public static let negotiate = AuthenticationSchemes(rawValue: 16)
    /// All of them.
    public static let any: AuthenticationSchemes = [.basic, .bearer, .digest, .ntlm, .negotiate]
}

extension AuthenticationSchemes: CustomStringConvertible {
    /// The names as in header fields, such as `Basic, Digest`.
    public var description: String {
        let names: [(AuthenticationSchemes, String)] = [
            (.basic, "Basic"), (.bearer, "Bearer"), (.digest, "Digest"), (.ntlm, "NTLM"), (.negotiate, "Negotiate"),
        ]
        return names.filter { contains($0.0) }.map(\.1).joined(separator: ", ")
    }
}
