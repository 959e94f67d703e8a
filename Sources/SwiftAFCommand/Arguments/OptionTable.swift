import SwiftAF

/// One option: how it is written, what it says in the usage text, and what it does.
struct OptionEntry: Sendable {
    /// Every spelling, the long one last.
    let names: [String]
    /// Stands for the value in the usage text; nil for a switch.
    let placeholder: String?
    let help: String
    /// Where it has a meaning; anywhere else it is an error.
    let commands: CommandKinds
    let apply: @Sendable (inout Options, RawText) throws(UsageError) -> Void

    /// An option without a value.
    static func flag(
        _ names: String..., help: String, for commands: CommandKinds = .transfers,
        set: @escaping @Sendable (inout Options) -> Void
    ) -> OptionEntry {
        OptionEntry(names: names, placeholder: nil, help: help, commands: commands) { options, _ in set(&options) }
    }

    /// An option whose value is text.
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

    /// An option whose value is bytes: a body, the path of a file.
    static func bytes(
        _ names: String..., placeholder: String, help: String, for commands: CommandKinds = .transfers,
        apply: @escaping @Sendable (inout Options, RawText) throws(UsageError) -> Void
    ) -> OptionEntry {
        OptionEntry(names: names, placeholder: placeholder, help: help, commands: commands, apply: apply)
    }
}

/// Every option there is, in the order of the usage text.
enum OptionTable {
    static let groups: [(title: String, entries: [OptionEntry])] = [
        ("Body", body), ("Credentials", credentials), ("Time limits", timeouts), ("Retries", retries),
        ("Redirects", redirects),
        ("Protocol", versions), ("Trust", trust), ("Size limits", limits), ("Output", output), ("About", about),
    ]

    /// The entry that is spelled `name`.
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
            help: "the raw body: text, @PATH for a file, @- for standard input", for: .request
        ) { options, value throws(UsageError) in
            guard options.data == nil else { throw UsageError("--data is given twice") }
            options.data = try DataArgument(value)
        },
        .flag("--form", help: "send body fields urlencoded instead of as JSON", for: .request) { $0.sendsForm = true },
        .flag("--multipart", help: "send body fields and files as the parts of a form", for: [.request, .upload]) {
            $0.sendsParts = true
        },
        .value("--method", placeholder: "METHOD", help: "of upload (POST)", for: .upload) { options, value in
            options.uploadMethod = HTTPMethod(value)
        },
    ]

    private static let credentials: [OptionEntry] = [
        .value("--user", placeholder: "NAME:PASSWORD", help: "who to be if the server asks") {
            options, value throws(UsageError) in
            guard value.utf8.contains(UInt8(ascii: ":")) else { throw UsageError("--user is NAME:PASSWORD") }
            options.user = value
        },
        .value("--auth", placeholder: "SCHEME", help: "basic (at once), digest, ntlm, negotiate or any (strongest)") {
            options, value throws(UsageError) in
            guard let authentication = Options.Authentication(rawValue: value) else {
                throw UsageError("--auth is basic, digest, any, ntlm or negotiate")
            }
            options.authentication = authentication
        },
        .value("--bearer", placeholder: "TOKEN", help: "send Authorization: Bearer TOKEN") { options, value in
            options.bearerToken = value
        },
    ]

    private static let timeouts: [OptionEntry] = [
        .value("--connect-timeout", placeholder: "S", help: "seconds to connect (30)", for: .connections) {
            options, value throws(UsageError) in
            options.timeouts.connect = try Argument.seconds(value, of: "--connect-timeout")
        },
        .value("--idle-timeout", placeholder: "S", help: "seconds without a byte in or out (60)", for: .connections) {
            options, value throws(UsageError) in
            options.timeouts.idle = try Argument.seconds(value, of: "--idle-timeout")
        },
        .value("--timeout", placeholder: "S", help: "seconds for everything (no limit)", for: .connections) {
            options, value throws(UsageError) in
            options.timeouts.total = try Argument.seconds(value, of: "--timeout")
        },
    ]

    private static let retries: [OptionEntry] = [
        .value(
            "--retry", placeholder: "N",
            help: "repeats if lost, late, 429 or 503; never of POST and PATCH (0)"
        ) { options, value throws(UsageError) in
            options.retries = try Argument.count(value, of: "--retry", in: 0...1_000_000)
        }
    ]

    private static let redirects: [OptionEntry] = [
        .value("--max-redirects", placeholder: "N", help: "redirects to follow; one more is an error (20)") {
            options, value throws(UsageError) in
            options.redirects.maximumCount = try Argument.count(value, of: "--max-redirects", in: 0...1_000_000)
        },
        .flag("--no-redirects", help: "a redirect is the answer") { $0.redirects.followsRedirects = false },
    ]

    private static let versions: [OptionEntry] = [
        .flag("--http1.1", help: "HTTP/1.1 only") { $0.httpVersion = .http1_1 },
        .flag("--http2", help: "HTTP/2 if the server agrees") { $0.httpVersion = .http2 },
        .flag("--http2-prior-knowledge", help: "HTTP/2 without asking, also in the clear") {
            $0.httpVersion = .http2PriorKnowledge
        },
        .value(
            "--proxy", placeholder: "URL", help: "http, https, socks5 or socks5h (what the environment says)",
            for: .connections
        ) {
            options, value throws(UsageError) in
            guard !value.isEmpty else { throw UsageError("--proxy needs a URL; --noproxy '*' is for none") }
            options.proxies = ProxyConfiguration(all: value, bypass: options.proxies.bypass)
        },
        .value(
            "--noproxy", placeholder: "LIST", help: "hosts to be reached directly, as in no_proxy; * for all",
            for: .connections
        ) {
            options, value in options.proxies.bypass = value
        },
        .flag("--compressed", help: "ask for compressed bodies and decode them (default)") { $0.decompresses = true },
        .flag("--no-compressed", help: "ask for the body as it is") { $0.decompresses = false },
    ]

    private static let trust: [OptionEntry] = [
        .bytes(
            "--cacert", placeholder: "PATH", help: "trust only the certificates (PEM) in this file", for: .connections
        ) {
            options, value throws(UsageError) in
            options.anchorsPath = try Argument.path(value, of: "--cacert")
        },
        .flag("--insecure", help: "allow invalid certificates; the name is still checked", for: .connections) {
            $0.allowsInvalidCertificates = true
        },
        .flag("--no-host-check", help: "do not check the name in the certificate", for: .connections) {
            $0.validatesHostName = false
        },
        .value(
            "--pin", placeholder: "PIN", help: "sha256//BASE64 of a key that the chain must have; repeatable",
            for: .connections
        ) {
            $0.pins.append($1)
        },
        .bytes(
            "--pin-cert", placeholder: "PATH", help: "a certificate (DER or PEM) that it must have; repeatable",
            for: .connections
        ) {
            options, value throws(UsageError) in
            options.pinnedCertificatePaths.append(try Argument.path(value, of: "--pin-cert"))
        },
        .bytes(
            "--cert", placeholder: "PATH", help: "client certificate: PEM, or PKCS #12 with its key", for: .connections
        ) {
            options, value throws(UsageError) in
            options.certificatePath = try Argument.path(value, of: "--cert")
        },
        .bytes("--key", placeholder: "PATH", help: "its key, if it is in another file", for: .connections) {
            options, value throws(UsageError) in
            options.keyPath = try Argument.path(value, of: "--key")
        },
        .value("--key-password", placeholder: "P", help: "the key's password", for: .connections) {
            $0.keyPassword = $1
        },
        .value(
            "--tls-min", placeholder: "VERSION", help: "the lowest version of TLS: 1.2 (default) or 1.3",
            for: .connections
        ) {
            options, value throws(UsageError) in
            switch value {
            case "1.2": options.minimumTLS = .v1_2
            case "1.3": options.minimumTLS = .v1_3
            default: throw UsageError("--tls-min is 1.2 or 1.3")
            }
        },
    ]

    private static let limits: [OptionEntry] = [
        .value("--max-body", placeholder: "BYTES", help: "the longest body (64 MiB; to a file, none)") {
            options, value throws(UsageError) in
            let limit = try Argument.count(value, of: "--max-body", in: 1...Int.max)
            options.limits.maximumBodySize = Int64(limit)
        },
        .value("--max-headers", placeholder: "BYTES", help: "the longest heads of an answer (256 KiB)") {
            options, value throws(UsageError) in
            let range = 1...Int(UInt32.max)
            options.limits.maximumHeaderBytes = try Argument.count(value, of: "--max-headers", in: range)
        },
        .value("--limit-rate", placeholder: "BYTES", help: "bytes per second at most, both ways (no limit)") {
            options, value throws(UsageError) in
            options.rateLimit = try Argument.count(value, of: "--limit-rate", in: 1...Int.max)
        },
    ]

    private static let output: [OptionEntry] = [
        .bytes(
            "-o", "--output", placeholder: "PATH", help: "the body to a file, whole or not at all",
            for: [.request, .upload, .download]
        ) {
            options, value throws(UsageError) in
            guard options.outputPath == nil else { throw UsageError("--output is given twice") }
            options.outputPath = try Argument.path(value, of: "--output")
        },
        .flag("--resume", help: "download: go on with PATH.part if it is still right", for: .download) {
            $0.resumes = true
        },
        .flag(
            "--content-disposition", help: "download: let the answer name the file, if there is none of that name",
            for: .download
        ) {
            $0.usesContentDisposition = true
        },
        .flag("--json", help: "one JSON object about the exchange on standard output", for: .all) {
            $0.printsJSON = true
        },
        .flag("--timings", help: "the phases of each hop on standard error") { $0.printsTimings = true },
        .flag("-q", "--quiet", help: "no progress bar") { $0.isQuiet = true },
        .flag("-v", "--verbose", help: "what was sent and received on standard error, credentials hidden") {
            $0.isVerbose = true
        },
    ]

    private static let about: [OptionEntry] = [
        .flag("-h", "--help", help: "this text", for: .all) { $0.information = .help },
        .flag("--version", help: "the versions of swiftaf and what it stands on", for: .all) {
            $0.information = .version
        },
    ]
}
