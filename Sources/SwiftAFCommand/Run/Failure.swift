import SwiftAF

/// The failure of a run, printed as `error` with `--json`.
struct Failure: Error, Sendable, Equatable {
    var exit: ExitCode
    /// Printed as `error.code`.
    var code: Code
    /// The message. Contains no secrets.
    var message: String
    /// Printed as `error.reason`: the limit that was exceeded, or why the server isn't trusted.
    var reason: String?
    /// How to resume, if the bytes received so far were kept. `error.resumable` says whether they were.
    var resumption: String?

    struct Code: Hashable, Sendable {
        let name: String

        /// The command line was wrong.
        static let usage = Code(name: "usage")

        private init(name: String) { self.name = name }

        init(_ code: SessionError.Code) { name = code.rawValue }
    }

    init(_ exit: ExitCode, _ code: SessionError.Code, _ message: String, reason: String? = nil) {
        self.exit = exit
        self.code = Code(code)
        self.message = message
        self.reason = reason
    }

    init(_ error: UsageError) {
        exit = .input
        code = .usage
        message = error.message
    }

    /// Creates the failure of a write to standard output: its file system is full, its reader has closed it, or it had
    /// no room until the run ended.
    init(standardOutput error: WriteError) {
        self.init(writing: "standard output", error)
    }

    /// Creates the failure of a write to the named output.
    init(writing name: String, _ error: WriteError) {
        switch error {
        case .system(let number): self.init(.file, .file, "\(name) can't be written: \(systemMessage(number))")
        case .stopped: self.init(SessionError(.cancelled))
        case .late:
            let message = "total timeout: \(name) wasn't read in time"
            self.init(SessionError(.timeout, reason: .total, message: message))
        }
    }

    init(_ error: SessionError, in context: AdviceContext = .none) {
        let (exit, code) = Self.exitAndCode(of: error)
        let message = Advice.message(for: error, in: context)
        // The messages of other codes already contain the reason.
        let hasReason = error.code == .timeout || error.code == .untrusted
        self.init(exit, code, message, reason: hasReason ? Self.name(of: error.reason) : nil)
    }

    /// The name of a reason in the report, which distinguishes fewer reasons than the library does.
    static func name(of reason: SessionError.Reason?) -> String? {
        switch reason {
        case .untrustedRoot?: SessionError.Reason.unknownIssuer.rawValue
        case .nameConstraint?, .purpose?, .pathLength?, .notAnAuthority?, .badSignature?, .unknownRevocation?,
            .malformed?, .handler?:
            SessionError.Reason.other.rawValue
        case .noPong?, .noCloseFrame?: SessionError.Reason.idle.rawValue
        case .notOpen?: SessionError.Reason.total.rawValue
        default: reason?.rawValue
        }
    }

    /// Returns what work for an option results in. An error about its file names the option, too.
    static func naming<Value>(_ option: String, _ work: () throws(Failure) -> Value) throws(Failure) -> Value {
        do throws(Failure) {
            return try work()
        } catch {
            throw error.naming(option)
        }
    }

    /// The same failure, whose message names the option if it is about the option's file. Others, such as a timeout,
    /// are about the whole run.
    func naming(_ option: String) -> Failure {
        guard exit == .input || exit == .file else { return self }
        var failure = self
        failure.message = "\(option): \(message)"
        return failure
    }

    /// Maps an error of the library to an exit status and a code. All mappings are here.
    private static func exitAndCode(of error: SessionError) -> (ExitCode, SessionError.Code) {
        switch error.code {
        case .invalidInput, .unsupported: (.input, .invalidInput)
        case .status: (.status, .status)
        case .dns, .connect, .connectionLost, .truncated, .protocol, .redirect, .closed: (.network, error.code)
        // Bodies are replayed for redirects and for challenges; scripts get one code for both.
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
