import SwiftAF

/// The options of a command line. Each default applies if the option isn't given.
struct Options: Sendable, Equatable {
    /// The raw body; nil if none is given.
    var data: DataArgument?
    /// Whether body fields are sent as a URL-encoded form instead of JSON.
    var sendsForm = false
    /// Whether body fields and files are sent as multipart/form-data instead of JSON.
    var sendsParts = false
    /// The method of `upload`; nil for POST.
    var uploadMethod: HTTPMethod?
    /// Whether `download` resumes a partial file.
    var resumes = false
    /// Whether `download` takes the file's name from Content-Disposition.
    var usesContentDisposition = false
    /// The user name and password, separated by a colon.
    var user: String?
    /// The authentication scheme; nil for any.
    var authentication: Authentication?
    /// The token of `Authorization: Bearer`.
    var bearerToken: String?

    var timeouts = HTTPRequest.Timeouts()
    /// The limits of the response. The number of header fields is limited only by their total size.
    var limits = HTTPRequest.Limits(maximumHeaderCount: Int(UInt32.max))
    /// The maximum bytes per second in each direction; nil for no limit.
    var rateLimit: Int?
    /// The maximum number of retries of a failed request.
    var retries = 0
    var redirects = RedirectPolicy.follow
    var httpVersion = HTTPVersionPreference.automatic
    var decompresses = true

    var proxies = ProxyConfiguration.environment

    /// The path of the only trust anchors; nil for the system's.
    var anchorsPath: RawText?
    var allowsInvalidCertificates = false
    var validatesHostName = true
    /// Public key pins as `sha256//…`, or paths of certificates.
    var pins: [String] = []
    var pinnedCertificatePaths: [RawText] = []
    /// The paths of a client certificate and its key, and the key's password.
    var certificatePath: RawText?
    var keyPath: RawText?
    var keyPassword: String?
    var minimumTLS: TLSOptions.Version?

    /// The destination of the body; nil for standard output.
    var outputPath: RawText?
    var printsJSON = false
    var printsTimings = false
    var isQuiet = false
    var isVerbose = false

    /// The information to print instead of sending a request.
    var information: Information?

    enum Information: Sendable {
        case help, version
    }

    enum Authentication: String, Sendable {
        case basic, digest, any, ntlm, negotiate
    }
}

/// The value of `--data`.
enum DataArgument: Sendable, Equatable {
    case text(RawText)
    case file(path: RawText)
    case standardInput

    /// `@-` is standard input, `@PATH` a file, anything else the body itself.
    init(_ argument: RawText) throws(UsageError) {
        guard argument.hasPrefix("@") else {
            self = .text(argument)
            return
        }
        let path = RawText(argument.bytes.dropFirst())
        guard !path.bytes.isEmpty else {
            throw UsageError("--data @ needs the path of a file, or - for standard input")
        }
        self = path == "-" ? .standardInput : .file(path: path)
    }
}

/// An error in the command line; nothing was sent.
struct UsageError: Error, Sendable, Equatable {
    /// The message. Never contains a value that may be a secret.
    let message: String

    init(_ message: String) {
        self.message = message
    }
}
