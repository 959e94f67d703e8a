import SwiftAF

/// The options of a command line. Each default applies if the option isn't given.
struct Options: Sendable, Equatable {
    /// The method of `-X`; nil if the command decides.
    var method: HTTPMethod?
    /// Whether the raw body is that of `-T`: the method is PUT, if nothing else names it, and the file may complete the
    /// URL.
    var putsFile = false
    /// Whether only the head is printed: `-I`.
    var printsHeadOnly = false
    /// Whether a file gets only the head of the response, although the method isn't HEAD: `-I` with `-X` or `-T`, and
    /// without `-i` and `--print`.
    var savesHeadOnly = false
    /// Items given as options: `-H`, `-F`, `-A` and `-e`.
    var items: [Item] = []
    /// The raw body; nil if none is given.
    var data: DataArgument?
    /// Whether the raw body becomes the query of a GET.
    var putsDataInQuery = false
    /// Whether the body of a response with a status of 400 or more isn't printed.
    var hidesErrorBodies = false
    /// Whether that is asked for by `-f`, which HTTPie has for forms.
    var usesFailLetter = false
    /// How body fields are sent.
    var bodyFormat = BodyFormat.json
    /// The method of `upload`; nil for POST.
    var uploadMethod: HTTPMethod?
    /// Whether `download` resumes a partial file.
    var resumes = false
    /// Whether the body is saved under the name in the URL, as by `download`.
    var usesRemoteName = false
    /// Whether a request is carried out like `download`: it names the file by the URL, or resumes one.
    var savesLikeDownload: Bool { usesRemoteName || (resumes && outputPath != nil) }
    /// Whether standard input is ignored, even if it isn't a terminal.
    var ignoresInput = false
    /// Whether `download` takes the file's name from Content-Disposition.
    var usesContentDisposition = false
    /// The user name and password, separated by a colon. Without a colon, the password is asked for.
    var user: Secret?
    /// The authentication scheme; nil for any.
    var authentication: Authentication?
    /// The token of `Authorization: Bearer`.
    var bearerToken: Secret?
    /// The file of `--netrc`; nil if the option isn't given.
    var netrc: NetrcFile?

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
    /// Where the URL of the proxy is read from; nil if the command line holds it. See ``readSecrets(_:_:)``.
    var proxySource: Secret?

    /// The path of the only trust anchors; nil for the system's.
    var anchorsPath: RawText?
    var allowsInvalidCertificates = false
    var validatesHostName = true
    /// Public key pins as `sha256//…`, or paths of certificates.
    var pins: [String] = []
    var pinnedCertificatePaths: [RawText] = []
    /// The paths of a client certificate and its key, and the key's password. The first may contain the password, see
    /// ``certificate``.
    var certificatePath: RawText?
    var keyPath: RawText?
    var keyPassword: Secret?
    var minimumTLS: TLSOptions.Version?
    var ciphers: String?
    var network = NetworkOptions()
    /// The path of the socket to connect through.
    var unixSocket: RawText?
    /// The values of `-b` that are cookies.
    var cookies: [RawText] = []
    /// The values of `-b` that say where cookies are read from. See ``readSecrets(_:_:)``.
    var cookieSources: [Secret] = []
    /// The values of `-b` that name cookie jars, which are only read.
    var cookieInputs: [RawText] = []
    /// The cookie jar that is read and written: that of `--cookies`, or of the session.
    var cookieJar: RawText?
    /// The cookie jar of `-c`, which is written. It is read too if `-b` names it.
    var cookieOutput: RawText?
    /// The name or path of `--session`.
    var session: RawText?
    /// The stored responses.
    var cache = CacheOptions()
    /// The file of known HSTS hosts, read and written.
    var hstsPath: RawText?
    /// What `ws` sends.
    var socket = SocketOptions()
    /// The file for an archive of the exchange.
    var archivePath: RawText?

    /// The status codes that are a success besides the usual ones.
    var acceptedStatuses: Set<Int> = []
    /// What is printed to standard output; nil for the default.
    var parts: PrintedParts?
    /// Whether the request is printed as a curl command instead of being sent.
    var printsCurlCommand = false
    /// The options that make a run quieter, in any order. What they mean together, ``messages`` says.
    var quietingOptions: QuietingOptions = []
    /// The folder for downloads; nil for the current one.
    var folder: RawText?
    /// Whether a file is downloaded only if the server's is newer, and gets the server's time.
    var comparesTimestamps = false
    /// What the downloaded file must hash to.
    var checksum: Checksum?
    /// Whether an existing file is kept: the command fails instead.
    var keepsExistingFile = false
    /// The destination of the body; nil for standard output.
    var outputPath: RawText?
    var printsJSON = false
    var printsTimings = false
    var isVerbose = false

    /// The information to print instead of sending a request.
    var information: Information?

    enum BodyFormat: Sendable {
        case json
        /// application/x-www-form-urlencoded
        case form
        /// multipart/form-data, with files as parts
        case multipart
    }

    /// Those of `-q`, `-s` and `-S` that are given.
    struct QuietingOptions: OptionSet, Sendable {
        static let quiet = QuietingOptions(rawValue: 1)
        static let silent = QuietingOptions(rawValue: 2)
        static let showError = QuietingOptions(rawValue: 4)

        let rawValue: Int
    }

    /// What a run says on standard error besides what other options ask for. Each level includes those before it.
    enum Messages: Comparable, Sendable {
        /// Nothing: `-s`. Only a mistyped option is reported.
        case none
        /// Why it failed: `-s -S`.
        case errors
        /// What may surprise, such as retries: `-q`.
        case notes
        /// Progress bars, and where downloads were written.
        case progress
    }

    /// What the run says on standard error.
    var messages: Messages {
        if quietingOptions.contains(.silent) { return quietingOptions.contains(.showError) ? .errors : .none }
        return quietingOptions.contains(.quiet) ? .notes : .progress
    }

    enum Information: Sendable {
        case help, version
    }

    enum Authentication: String, CaseIterable, Sendable {
        case basic, digest, any, ntlm, negotiate
    }
}

extension Options {
    /// Whether a command line gives the body of a request, so that standard input isn't asked for one.
    func sendsBody(of command: RequestCommand) -> Bool {
        data != nil || bodyFormat == .multipart || command.hasBodyItem
    }

    /// Whether the body of a response is written to a file, whatever its path names.
    func writesFile(of command: RequestCommand) -> Bool {
        outputPath != "-" && (command.purpose == .download || outputPath != nil || folder != nil)
    }

    /// Adds the value of `--data`. Texts are joined by `&`, as curl does.
    mutating func add(_ more: DataArgument) throws(UsageError) {
        switch (data, more) {
        case (nil, _): data = more
        case (.text(let first)?, .text(let second)):
            data = .text(RawText(first.bytes + [UInt8(ascii: "&")] + second.bytes))
        case (let data?, _) where data.texts != nil && more.texts != nil:
            self.data = .texts((data.texts ?? []) + (more.texts ?? []))
        default: throw UsageError("the body is given twice, by --data or -T: only texts of --data can be joined")
        }
    }
}

/// The value of `--data`.
enum DataArgument: Sendable, Equatable {
    case text(RawText)
    case file(path: RawText)
    case standardInput
    /// Texts that are joined by `&`, some of which are in files.
    case texts([Text])

    enum Text: Sendable, Equatable {
        case given(RawText)
        /// A file whose content is percent-encoded, and what stands before it.
        case encodedFile(prefix: RawText, path: RawText)
    }

    /// Percent-encodes text, but for the name in front of a `=`. As in curl, an `@` is that of a file if there is no
    /// `=`.
    init(encoding text: RawText) throws(UsageError) {
        let bytes = text.bytes
        if let end = bytes.firstIndex(of: UInt8(ascii: "=")) {
            let name = end == 0 ? [] : Array(bytes[...end])
            self = .text(RawText(name + RawText(Array(bytes[(end + 1)...])).percentEncoded.utf8))
        } else if let end = bytes.firstIndex(of: UInt8(ascii: "@")) {
            let path = RawText(Array(bytes[(end + 1)...]))
            guard !path.bytes.isEmpty else { throw UsageError("--data-urlencode @ needs the path of a file") }
            guard path != "-" else {
                throw UsageError("--data-urlencode doesn't take standard input: -d @- sends it as it is; ./- is a file")
            }
            let prefix = end == 0 ? [] : Array(bytes[..<end]) + [UInt8(ascii: "=")]
            self = .texts([.encodedFile(prefix: RawText(prefix), path: path)])
        } else {
            self = .text(RawText(text.percentEncoded))
        }
    }

    /// The texts, if it is made of them.
    fileprivate var texts: [Text]? {
        switch self {
        case .text(let text): [.given(text)]
        case .texts(let texts): texts
        case .file, .standardInput: nil
        }
    }

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

    /// An error about a value that is shown, because it can't be a secret.
    static func invalid(_ value: String, of option: String, expected: String) -> UsageError {
        UsageError("invalid value '\(value.printable)' for \(option): expected \(expected)")
    }
}

/// A secret: itself, or where it is read from when the request is built.
enum Secret: Sendable, Equatable {
    case text(String)
    /// `@PATH`: the first line of a file. `@@` stands for an `@` that begins the secret itself.
    case file(RawText)
    /// `env:NAME`: an environment variable.
    case variable(String)

    /// Where the value of an option is read from that isn't itself a secret as a whole; nil if it is the value itself.
    /// A name of variables doesn't begin with a digit, so that `env:8080` is a host with a port.
    init?(source value: RawText) throws(UsageError) {
        let name = value.bytes.dropFirst(4)
        if value.hasPrefix("@") {
            guard value.bytes.count > 1 else { throw UsageError("@ needs the path of the file with the secret") }
            self = .file(RawText(value.bytes.dropFirst()))
        } else if value.hasPrefix("env:"), let first = name.first, !ASCII.isDigit(first),
            !name.contains(UInt8(ascii: "="))
        {
            self = .variable(RawText(name).shown)
        } else {
            return nil
        }
    }

    init(_ text: String) throws(UsageError) {
        if text.hasPrefix("@@") {
            self = .text(String(text.dropFirst()))
        } else if text.hasPrefix("@") {
            guard text.utf8.count > 1 else { throw UsageError("@ needs the path of the file with the secret") }
            self = .file(RawText(Array(text.utf8.dropFirst())))
        } else if text.hasPrefix("env:") {
            self = .variable(String(text.dropFirst(4)))
        } else {
            self = .text(text)
        }
    }
}

/// The file of `--netrc`.
enum NetrcFile: Sendable, Equatable {
    /// `~/.netrc`
    case ofHome
    case path(RawText)
}

/// What `--print` selects for standard output.
struct PrintedParts: OptionSet, Sendable {
    let rawValue: Int

    static let requestHead = PrintedParts(rawValue: 1)
    static let requestBody = PrintedParts(rawValue: 2)
    static let responseHead = PrintedParts(rawValue: 4)
    static let responseBody = PrintedParts(rawValue: 8)
    static let metrics = PrintedParts(rawValue: 16)

    init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// Parses letters: H and B for the request, h and b for the response, m for the metrics.
    init(letters: String) throws(UsageError) {
        self = []
        for letter in letters {
            switch letter {
            case "H": insert(.requestHead)
            case "B": insert(.requestBody)
            case "h": insert(.responseHead)
            case "b": insert(.responseBody)
            case "m": insert(.metrics)
            default:
                throw .invalid(
                    letters, of: "--print",
                    expected: "letters of hHbBm (heads, bodies and metrics; capitals for the request)")
            }
        }
    }
}

/// The options of `ws`.
struct SocketOptions: Sendable, Equatable {
    /// The subprotocols to offer, in order of preference.
    var protocols: [String] = []
    /// The time between pings; nil for none.
    var pingInterval: Duration?
    /// Whether lines are sent as binary messages.
    var sendsBinary = false
    /// Whether the socket stays open at the end of the input.
    var staysOpen = false
}
