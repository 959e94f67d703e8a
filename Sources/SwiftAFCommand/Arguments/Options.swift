import SwiftAF

/// What the options of a command line say. The defaults are those of a run without any.
struct Options: Sendable, Equatable {
    /// The raw body, if one is given.
    var data: DataArgument?
    /// Body fields go as a form instead of JSON.
    var sendsForm = false
    /// Body fields and files go as parts instead of JSON.
    var sendsParts = false
    /// The method of `upload`.
    var uploadMethod: HTTPMethod?
    /// `download` goes on with what is there.
    var resumes = false
    /// `download` lets the answer name the file.
    var usesContentDisposition = false
    /// Name and password, with a colon between them.
    var user: String?
    /// How to say who that is; nil for any way.
    var authentication: Authentication?
    /// The token of `Authorization: Bearer`.
    var bearerToken: String?

    var timeouts = HTTPRequest.Timeouts()
    /// The number of header fields is limited by their bytes alone.
    var limits = HTTPRequest.Limits(maximumHeaderCount: Int(UInt32.max))
    /// Bytes per second, both ways; nil for no limit.
    var rateLimit: Int?
    /// Repeats at most of a request that failed.
    var retries = 0
    var redirects = RedirectPolicy.follow
    var httpVersion = HTTPVersionPreference.automatic
    var decompresses = true

    var proxies = ProxyConfiguration.environment

    /// Path of the only trust anchors; nil for the system's.
    var anchorsPath: RawText?
    var allowsInvalidCertificates = false
    var validatesHostName = true
    /// Keys as `sha256//…`, and paths of certificates.
    var pins: [String] = []
    var pinnedCertificatePaths: [RawText] = []
    /// Paths of a client certificate and its key, and the key's password.
    var certificatePath: RawText?
    var keyPath: RawText?
    var keyPassword: String?
    var minimumTLS: TLSOptions.Version?

    /// Where the body goes; nil for standard output.
    var outputPath: RawText?
    var printsJSON = false
    var printsTimings = false
    var isQuiet = false
    var isVerbose = false

    /// Asked for instead of a request.
    var information: Information?

    enum Information: Sendable {
        case help, version
    }

    enum Authentication: String, Sendable {
        case basic, digest, any, ntlm, negotiate
    }
}

/// What stands behind `--data`.
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

/// The command line is wrong; nothing was sent.
struct UsageError: Error, Sendable, Equatable {
    /// What is wrong, without any value that may be a secret.
    let message: String

    init(_ message: String) {
        self.message = message
    }
}
