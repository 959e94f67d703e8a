import SwiftAF

/// The exit status of a run. Scripts rely on the numbers.
enum ExitCode: Int32, Sendable {
    case success = 0
    /// The command line or an input is wrong; nothing was sent.
    case input = 1
    /// The status is not acceptable.
    case status = 2
    /// The network or the peer.
    case network = 3
    /// A time limit.
    case timeout = 4
    /// TLS or trust.
    case trust = 5
    /// A declared limit was passed.
    case limit = 6
    /// Credentials refused or needed.
    case authentication = 7
    /// A local file or the disk.
    case file = 8
    /// The answer could not be parsed as what was asked for.
    case serialization = 9
    /// A failure of this program or of the machine, as `EX_SOFTWARE`.
    case software = 70
    /// Interrupted by SIGINT, as shells count: 128 and the number of the signal. ``Interrupts`` knows the other signals.
    case cancelled = 130
}

/// Why a run did not succeed: what `--json` prints as `error`.
struct Failure: Error, Sendable, Equatable {
    var exit: ExitCode
    /// `error.code`.
    var code: String
    /// Holds no secret.
    var message: String
    /// `error.reason`: which limit, why there is no trust.
    var reason: String?
    /// What brings the rest, if what has come of the body is kept; `error.resumable` says whether.
    var resumption: String?

    init(_ exit: ExitCode, _ code: SessionError.Code, _ message: String, reason: String? = nil) {
        self.exit = exit
        self.code = code.rawValue
        self.message = message
        self.reason = reason
    }

    init(_ error: UsageError) {
        exit = .input
        code = "usage"
        message = error.message
    }

    /// Standard output is full, or nobody reads it any more.
    init(standardOutput error: WriteError) {
        self.init(.file, .file, "standard output: \(systemMessage(error.systemError))")
    }

    init(_ error: SessionError) {
        let (exit, code) = Self.meaning(of: error)
        self.init(exit, code, error.message, reason: Self.name(of: error.reason))
    }

    /// Scripts know fewer reasons than the library.
    static func name(of reason: SessionError.Reason?) -> String? {
        switch reason {
        case .untrustedRoot?: SessionError.Reason.unknownIssuer.rawValue
        case .nameConstraint?, .purpose?, .pathLength?, .notAnAuthority?, .badSignature?, .unknownRevocation?,
            .malformed?, .hook?:
            SessionError.Reason.other.rawValue
        default: reason?.rawValue
        }
    }

    /// The one place that says what each error of the library is to a script.
    private static func meaning(of error: SessionError) -> (ExitCode, SessionError.Code) {
        switch error.code {
        case .invalidInput, .unsupported: (.input, .invalidInput)
        case .status: (.status, .status)
        case .dns, .connect, .connectionLost, .truncated, .protocol, .redirect: (.network, error.code)
        // Bodies are sent again for redirects and challenges, and a script has one word for both.
        case .bodyNotReplayable: (.network, .redirect)
        case .timeout: (.timeout, .timeout)
        case .untrusted, .tls: (.trust, error.code)
        case .tooLarge: (.limit, .tooLarge)
        case .authentication: (.authentication, .authentication)
        case .file, .bodySource: (.file, .file)
        case .serialization, .contentType: (.serialization, .serialization)
        case .cancelled: (.cancelled, .cancelled)
        default: (.software, error.code)
        }
    }
}
