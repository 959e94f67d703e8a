import SwiftAF

/// An option: its spellings, its help text, and its effect.
struct OptionEntry: Sendable {
    /// All spellings; the long one is last.
    let names: [String]
    /// The placeholder for the value in the help text; nil for a flag.
    let placeholder: String?
    let help: String
    /// The commands that accept the option. With any other command it is an error.
    let commands: CommandKinds
    let apply: @Sendable (inout Options, RawText) throws(UsageError) -> Void

    /// Creates an option without a value.
    static func flag(
        _ names: String..., help: String, for commands: CommandKinds = .transfers,
        set: @escaping @Sendable (inout Options) -> Void
    ) -> OptionEntry {
        OptionEntry(names: names, placeholder: nil, help: help, commands: commands) { options, _ in set(&options) }
    }

    /// Creates an option whose value is a string.
    static func value(
        _ names: String..., placeholder: String, help: String, for commands: CommandKinds = .transfers,
        apply: @escaping @Sendable (inout Options, String) throws(UsageError) -> Void
    ) -> OptionEntry {
        let name = names.last ?? ""
        return OptionEntry(names: names, placeholder: placeholder, help: help, commands: commands) {
            options, value throws(UsageError) in
            try apply(&options, try value.text(of: "the value of \(name)"))
        }
    }

    /// Creates an option whose value is bytes, such as a body or the path of a file.
    static func bytes(
        _ names: String..., placeholder: String, help: String, for commands: CommandKinds = .transfers,
        apply: @escaping @Sendable (inout Options, RawText) throws(UsageError) -> Void
    ) -> OptionEntry {
        OptionEntry(names: names, placeholder: placeholder, help: help, commands: commands, apply: apply)
    }
}

/// All options, in the order of the help text.
enum OptionTable {
    static let groups: [(title: String, entries: [OptionEntry])] = [
        ("Body", body), ("Credentials", credentials), ("Time limits", timeouts), ("Retries", retries),
        ("Redirects", redirects),
        ("Protocol", versions), ("Trust", trust), ("Size limits", limits), ("Output", output), ("About", about),
    ]

    /// Returns the option with the spelling `name`.
    static func entry(named name: String) -> OptionEntry? {
        entries[name]
    }

    private static let entries: [String: OptionEntry] = {
        let spelled = groups.flatMap(\.entries).flatMap { entry in entry.names.map { ($0, entry) } }
        return Dictionary(spelled) { first, _ in first }
    }()

    private static let body: [OptionEntry] = [
        .bytes(
            "-d", "--data", placeholder: "DATA",
            help: "raw body: text, @PATH for a file, @- for standard input", for: .request
        ) { options, value throws(UsageError) in
            guard options.data == nil else { throw UsageError("--data is given twice") }
            options.data = try DataArgument(value)
        },
        .flag("--form", help: "send body fields as a URL-encoded form instead of JSON", for: .request) {
            $0.sendsForm = true
        },
        .flag("--multipart", help: "send body fields and files as a multipart form", for: [.request, .upload]) {
            $0.sendsParts = true
        },
        .value("--method", placeholder: "METHOD", help: "method of upload (default: POST)", for: .upload) {
            options, value in
            options.uploadMethod = HTTPMethod(value)
        },
    ]

    private static let credentials: [OptionEntry] = [
        .value("--user", placeholder: "NAME:PASSWORD", help: "credentials, sent if the server asks for them") {
            options, value throws(UsageError) in
            guard value.utf8.contains(UInt8(ascii: ":")) else {
                throw UsageError("invalid value for --user: expected NAME:PASSWORD")
            }
            options.user = value
        },
        .value("--auth", placeholder: "SCHEME", help: "basic (sent at once), digest, ntlm, negotiate or any") {
            options, value throws(UsageError) in
            guard let authentication = Options.Authentication(rawValue: value) else {
                throw UsageError("invalid value for --auth: expected basic, digest, any, ntlm or negotiate")
            }
            options.authentication = authentication
        },
        .value("--bearer", placeholder: "TOKEN", help: "send Authorization: Bearer TOKEN") { options, value in
            options.bearerToken = value
        },
    ]

    private static let timeouts: [OptionEntry] = [
        .value(
            "--connect-timeout", placeholder: "S", help: "time limit to connect, in seconds (default: 30)",
            for: .connections
        ) {
            options, value throws(UsageError) in
            options.timeouts.connect = try Argument.seconds(value, of: "--connect-timeout")
        },
        .value(
            "--idle-timeout", placeholder: "S", help: "time limit without data, in seconds (default: 60)",
            for: .connections
        ) {
            options, value throws(UsageError) in
            options.timeouts.idle = try Argument.seconds(value, of: "--idle-timeout")
        },
        .value(
            "--timeout", placeholder: "S", help: "time limit for the whole request, in seconds (default: none)",
            for: .connections
        ) {
            options, value throws(UsageError) in
            options.timeouts.total = try Argument.seconds(value, of: "--timeout")
        },
    ]

    private static let retries: [OptionEntry] = [
        .value(
            "--retry", placeholder: "N",
            help: "retries after transient failures, not of POST or PATCH (default: 0)"
        ) { options, value throws(UsageError) in
            options.retries = try Argument.count(value, of: "--retry", in: 0...1_000_000)
        }
    ]

    private static let redirects: [OptionEntry] = [
        .value("--max-redirects", placeholder: "N", help: "follow at most N redirects (default: 20)") {
            options, value throws(UsageError) in
            options.redirects.maximumCount = try Argument.count(value, of: "--max-redirects", in: 0...1_000_000)
        },
        .flag("--no-redirects", help: "don't follow redirects") { $0.redirects.followsRedirects = false },
    ]

    private static let versions: [OptionEntry] = [
        .flag("--http1.1", help: "HTTP/1.1 only") { $0.httpVersion = .http1_1 },
        .flag("--http2", help: "HTTP/2 if the server supports it") { $0.httpVersion = .http2 },
        .flag("--http2-prior-knowledge", help: "HTTP/2 without negotiation, also over http") {
            $0.httpVersion = .http2PriorKnowledge
        },
        .value(
            "--proxy", placeholder: "URL", help: "http, https, socks5 or socks5h proxy (default: from the environment)",
            for: .connections
        ) {
            options, value throws(UsageError) in
            guard !value.isEmpty else { throw UsageError("--proxy needs a URL; use --noproxy '*' for no proxy") }
            options.proxies = ProxyConfiguration(all: value, bypass: options.proxies.bypass)
        },
        .value(
            "--noproxy", placeholder: "LIST", help: "hosts to connect to directly, as in no_proxy; * for all",
            for: .connections
        ) {
            options, value in options.proxies.bypass = value
        },
        .flag("--compressed", help: "request compressed bodies and decode them (default)") { $0.decompresses = true },
        .flag("--no-compressed", help: "request an uncompressed body") { $0.decompresses = false },
    ]

    private static let trust: [OptionEntry] = [
        .bytes(
            "--cacert", placeholder: "PATH", help: "trust only the certificates in this PEM file", for: .connections
        ) {
            options, value throws(UsageError) in
            options.anchorsPath = try Argument.path(value, of: "--cacert")
        },
        .flag("--insecure", help: "accept invalid certificates; the host name is still checked", for: .connections) {
            $0.allowsInvalidCertificates = true
        },
        .flag("--no-host-check", help: "don't check the host name in the certificate", for: .connections) {
            $0.validatesHostName = false
        },
        .value(
            "--pin", placeholder: "PIN", help: "require a public key in the chain: sha256//BASE64; repeatable",
            for: .connections
        ) {
            $0.pins.append($1)
        },
        .bytes(
            "--pin-cert", placeholder: "PATH", help: "require a certificate in the chain: DER or PEM file; repeatable",
            for: .connections
        ) {
            options, value throws(UsageError) in
            options.pinnedCertificatePaths.append(try Argument.path(value, of: "--pin-cert"))
        },
        .bytes(
            "--cert", placeholder: "PATH", help: "client certificate: PEM, or PKCS #12 with the key", for: .connections
        ) {
            options, value throws(UsageError) in
            options.certificatePath = try Argument.path(value, of: "--cert")
        },
        .bytes(
            "--key", placeholder: "PATH", help: "private key of the client certificate, if in another file",
            for: .connections
        ) {
            options, value throws(UsageError) in
            options.keyPath = try Argument.path(value, of: "--key")
        },
        .value("--key-password", placeholder: "P", help: "password of the private key", for: .connections) {
            $0.keyPassword = $1
        },
        .value(
            "--tls-min", placeholder: "VERSION", help: "minimum TLS version: 1.2 (default) or 1.3",
            for: .connections
        ) {
            options, value throws(UsageError) in
            switch value {
            case "1.2": options.minimumTLS = .v1_2
            case "1.3": options.minimumTLS = .v1_3
            default: throw UsageError("invalid value for --tls-min: expected 1.2 or 1.3")
            }
        },
    ]

    private static let limits: [OptionEntry] = [
        .value("--max-body", placeholder: "BYTES", help: "maximum body size (default: 64 MiB; none to a file)") {
            options, value throws(UsageError) in
            let limit = try Argument.count(value, of: "--max-body", in: 1...Int.max)
            options.limits.maximumBodySize = Int64(limit)
        },
        .value("--max-headers", placeholder: "BYTES", help: "maximum size of the response heads (default: 256 KiB)") {
            options, value throws(UsageError) in
            let range = 1...Int(UInt32.max)
            options.limits.maximumHeaderBytes = try Argument.count(value, of: "--max-headers", in: range)
        },
        .value("--limit-rate", placeholder: "BYTES", help: "maximum bytes per second in each direction (default: none)")
        {
            options, value throws(UsageError) in
            options.rateLimit = try Argument.count(value, of: "--limit-rate", in: 1...Int.max)
        },
    ]

    private static let output: [OptionEntry] = [
        .bytes(
            "-o", "--output", placeholder: "PATH", help: "write the body to a file, complete or not at all",
            for: [.request, .upload, .download]
        ) {
            options, value throws(UsageError) in
            guard options.outputPath == nil else { throw UsageError("--output is given twice") }
            options.outputPath = try Argument.path(value, of: "--output")
        },
        .flag("--resume", help: "resume PATH.part if the file hasn't changed on the server", for: .download) {
            $0.resumes = true
        },
        .flag(
            "--content-disposition", help: "let the response name the file; an existing file isn't replaced",
            for: .download
        ) {
            $0.usesContentDisposition = true
        },
        .flag("--json", help: "print one JSON object about the exchange", for: .all) {
            $0.printsJSON = true
        },
        .flag("--timings", help: "print the phases of each hop to standard error") { $0.printsTimings = true },
        .flag("-q", "--quiet", help: "no progress bar") { $0.isQuiet = true },
        .flag("-v", "--verbose", help: "print what was sent and received, with credentials hidden") {
            $0.isVerbose = true
        },
    ]

    private static let about: [OptionEntry] = [
        .flag("-h", "--help", help: "print this text", for: .all) { $0.information = .help },
        .flag("--version", help: "print the versions of swiftaf and its libraries", for: .all) {
            $0.information = .version
        },
    ]
}
