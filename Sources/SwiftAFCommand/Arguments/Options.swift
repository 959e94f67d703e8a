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
    /// Whether ``hidesErrorBodies`` was set by `-f`, the letter that HTTPie uses for forms.
    var usesFailLetter = false
    /// How body fields are sent.
    var bodyFormat = BodyFormat.json
    /// The method of `upload`; nil for POST.
    var uploadMethod: HTTPMethod?
    /// Whether `download` resumes a partial file.
    var resumes = false
    /// Whether the body is saved under the name in the URL, as by `download`.
    var usesRemoteName = false
    /// Whether a request is performed like `download`, because it names the file by the URL, or resumes one.
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
    /// The limit of `--timeout`; nil without one, which is also what zero means.
    var totalLimit: Duration? { timeouts.total.flatMap { $0 > .zero ? $0 : nil } }
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
    /// The source of the proxy's URL; nil if the URL itself is on the command line. See ``readSecrets(_:_:)``.
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
    /// The options of `ws`.
    var socket = SocketOptions()
    /// The file for an archive of the exchange.
    var archivePath: RawText?

    /// The status codes that are a success in addition to the usual ones.
    var acceptedStatuses: Set<Int> = []
    /// What is printed to standard output; nil for the default.
    var parts: PrintedParts?
    /// Whether the request is printed as a curl command instead of being sent.
    var printsCurlCommand = false
    /// The options that make a run quieter, in any order. ``messages`` is what they mean together.
    var quietingOptions: QuietingOptions = []
    /// The folder for downloads; nil for the current one.
    var folder: RawText?
    /// Whether a file is downloaded only if the server's is newer, and gets the server's time.
    var comparesTimestamps = false
    /// The digest that the downloaded file must have.
    var checksum: FileDigest?
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

    /// The messages on standard error, without those that other options ask for. Each level includes the previous ones.
    enum Messages: Comparable, Sendable {
        /// Nothing: `-s`. Only a mistyped option is reported.
        case none
        /// The failure of the run: `-s -S`.
        case errors
        /// Notes about the unexpected, such as retries: `-q`.
        case notes
        /// Progress bars, and where downloads were written.
        case progress
    }

    /// The level of messages on standard error.
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
    /// Returns whether the command line has a body, so that standard input isn't used for one.
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
