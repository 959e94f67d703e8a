import SwiftAF

/// All options, in the order of the help text.
enum OptionTable {
    static let groups: [(title: String, entries: [OptionEntry])] = [
        ("Request", request), ("Body", body), ("Credentials", credentials), ("Cookies", cookies),
        ("Sessions", sessions), ("Cache", cache), ("WebSockets", sockets),
        ("Time limits", timeouts), ("Retries", retries), ("Redirects", redirects), ("Protocol", versions),
        ("Network", network), ("Trust", trust), ("Size limits", limits), ("Output", output), ("Files", files),
        ("About", about),
    ]

    /// The long spellings, for suggestions.
    static let longNames = groups.flatMap(\.entries).flatMap(\.names).filter { $0.hasPrefix("--") }

    /// Returns the option with the spelling `name`.
    static func entry(named name: String) -> OptionEntry? {
        entries[name]
    }

    private static let entries: [String: OptionEntry] = {
        let spelled = groups.flatMap(\.entries).flatMap { entry in entry.names.map { ($0, entry) } }
        return Dictionary(spelled) { first, _ in first }
    }()

    private static let request: [OptionEntry] = [
        .value(
            "-X", "--request", placeholder: "METHOD", help: "the method, if the command doesn't name it", for: .request
        ) {
            options, value, name throws(UsageError) in
            guard !value.isEmpty else { throw UsageError("\(name) needs a method") }
            options.method = HTTPMethod(value)
        },
        .bytes("-H", "--header", placeholder: "LINE", help: "a header, as 'Name: value'; repeatable", for: .exchanges) {
            options, value, name throws(UsageError) in options.items.append(try Item.curlHeader(value, of: name))
        }.repeatable.hiding(.field),
        .bytes("-A", "--user-agent", placeholder: "TEXT", help: "the User-Agent header", for: .exchanges) {
            options, value in
            let name = HTTPHeaders.Name.userAgent.text
            // As in curl, an empty value removes the header.
            options.items.append(value.bytes.isEmpty ? .removedHeader(name: name) : .header(name: name, value: value))
        },
        .bytes("-e", "--referer", placeholder: "URL", help: "the Referer header", for: .exchanges) {
            options, value, name throws(UsageError) in
            guard !value.bytes.isEmpty else { return }
            guard !value.bytes.reversed().starts(with: ";auto".utf8.reversed()) else {
                throw UsageError("\(name) takes a URL only: redirects don't change it, so ;auto isn't supported")
            }
            options.items.append(.header(name: "Referer", value: value))
        }.hiding(.userInfo),
    ]

    private static let body: [OptionEntry] = [
        .bytes(
            "-d", "--data-binary", "--data", placeholder: "DATA",
            help: "raw body: text, @PATH for a file, @- for standard input", for: .request
        ) { options, value throws(UsageError) in
            try options.add(try DataArgument(value))
        }.repeatable,
        .bytes("--data-raw", placeholder: "TEXT", help: "the same, but @ isn't special", for: .request) {
            options, value throws(UsageError) in try options.add(.text(value))
        }.repeatable,
        .bytes(
            "--data-urlencode", placeholder: "TEXT",
            help: "the same, percent-encoded: name=text, =text, text, name@PATH or @PATH",
            for: .request
        ) {
            options, value throws(UsageError) in try options.add(try DataArgument(encoding: value))
        }.repeatable,
        .flag("-G", "--get", help: "send the data of -d and the fields as the query of a GET", for: .request) {
            $0.putsDataInQuery = true
        },
        .bytes(
            "-T", "--upload-file", placeholder: "PATH",
            help: "PUT the file, or send it by another method; - is standard input", for: .request
        ) {
            options, value, name throws(UsageError) in
            guard !value.bytes.isEmpty else {
                throw UsageError("\(name) needs the path of a file, or - for standard input")
            }
            try options.add(try DataArgument(RawText("@".utf8 + value.bytes)))
            options.putsFile = true
        },
        .flag("--form", help: "send body fields as a URL-encoded form instead of JSON", for: .request) {
            $0.bodyFormat = .form
        },
        .flag("--multipart", help: "send body fields and files as a multipart form", for: [.request, .upload]) {
            $0.bodyFormat = .multipart
        },
        .bytes(
            "-F", placeholder: "PART",
            help: "a part: name=text, name=@PATH, name=<PATH (- stdin); ;type= ;filename=",
            for: [.request, .upload]
        ) { options, value throws(UsageError) in
            options.items.append(try Item.curlPart(value))
            options.bodyFormat = .multipart
        }.repeatable,
        .flag("--ignore-stdin", help: "don't send standard input as the body", for: [.request, .upload, .download]) {
            $0.ignoresInput = true
        },
        .value("--method", placeholder: "METHOD", help: "method of upload (default: POST)", for: .upload) {
            options, value, name throws(UsageError) in
            options.uploadMethod = try Argument.method(value, of: name)
        },
    ]

    private static let credentials: [OptionEntry] = [
        .value(
            "-a", "-u", "--user", placeholder: "NAME:PASSWORD",
            help:
                "credentials, sent if asked for; also NAME, @FILE or env:NAME", for: .exchanges
        ) { options, value throws(UsageError) in
            options.user = try Secret(value)
        }.secret,
        .value(
            "--auth", placeholder: "SCHEME", help: "basic (sent at once), digest, ntlm, negotiate or any",
            for: .exchanges
        ) {
            options, value, name throws(UsageError) in
            guard let authentication = Options.Authentication(rawValue: value) else {
                throw .invalid(value, of: name, expected: "basic, digest, any, ntlm or negotiate")
            }
            options.authentication = authentication
        }.choosing(Options.Authentication.allCases.map(\.rawValue)),
        .value(
            "--oauth2-bearer", "--bearer", placeholder: "TOKEN",
            help: "send Authorization: Bearer TOKEN; or @FILE, env:NAME", for: .exchanges
        ) {
            options, value throws(UsageError) in options.bearerToken = try Secret(value)
        }.secret,
        .bytes(
            "-n", "--netrc", placeholder: "[=FILE]", help: "credentials of the host in FILE (default: ~/.netrc)",
            for: .exchanges
        ) {
            options, value in options.netrc = value.bytes.isEmpty ? .ofHome : .path(value)
        }.withOptionalValue,
    ]

    private static let cookies: [OptionEntry] = [
        .bytes(
            "--cookies", placeholder: "PATH", help: "a cookie jar in Netscape's format, read and written",
            for: .exchanges
        ) {
            options, value, name throws(UsageError) in
            let path = try Argument.fileOnly(value, of: name)
            options.cookieJar = try Argument.only(
                path, besides: options.cookieJar, of: name, advice: "; -b PATH reads more jars")
        },
        .bytes(
            "-b", "--cookie", placeholder: "DATA",
            help: "cookies to send, as 'name=value; …', or a jar to read; repeatable",
            for: .exchanges
        ) {
            options, value throws(UsageError) in
            if let source = try Secret(source: value) {
                options.cookieSources.append(source)
            } else if value.bytes.contains(UInt8(ascii: "=")) {
                options.cookies.append(value)
            } else {
                // As in curl, an empty value enables the cookies of this run, without a file.
                options.cookieInputs.append(value.bytes.isEmpty ? "/dev/null" : value)
            }
        }.repeatable.secret,
        .bytes(
            "-c", "--cookie-jar", placeholder: "PATH",
            help: "write the cookies to this file at the end; - is standard output",
            for: .exchanges
        ) {
            options, value, name throws(UsageError) in
            let path = try Argument.path(value, of: name)
            options.cookieOutput = try Argument.only(path, besides: options.cookieOutput, of: name)
        },
    ]

    private static let sessions: [OptionEntry] = [
        .bytes(
            "--session", placeholder: "NAME",
            help: "keep headers, credentials and cookies for later runs; or a path with /",
            for: [.request, .upload, .download]
        ) {
            options, value, name throws(UsageError) in
            options.session = try Argument.only(value, besides: options.session, of: name)
        }
    ]

    private static let sockets: [OptionEntry] = [
        .value(
            "--subprotocol", placeholder: "NAME", help: "a subprotocol to offer; repeatable, in order of preference",
            for: .socket
        ) {
            options, value, name throws(UsageError) in
            options.socket.protocols.append(try Argument.token(value, of: name, example: "chat"))
        }.repeatable,
        .value(
            "--ping", placeholder: "S",
            help: "send pings, and fail if no pong arrives within \(DefaultTexts.pongTimeout)", for: .socket
        ) {
            options, value, name throws(UsageError) in
            let interval = try Argument.seconds(value, of: name)
            options.socket.pingInterval = interval > .zero ? interval : nil
        },
        .flag("--binary", help: "send each line as a binary message", for: .socket) { $0.socket.sendsBinary = true },
        .flag("--no-close", help: "at the end of the input, keep receiving until the server closes", for: .socket) {
            $0.socket.staysOpen = true
        },
    ]

    private static let timeouts: [OptionEntry] = [
        .value(
            "--connect-timeout", placeholder: "S",
            help: "time limit to connect, in seconds (default: \(DefaultTexts.connectTimeout))",
            for: .connections
        ) {
            options, value, name throws(UsageError) in
            options.timeouts.connect = try Argument.seconds(value, of: name)
        },
        .value(
            "--idle-timeout", placeholder: "S",
            help: "time limit without data, in seconds (default: \(DefaultTexts.idleTimeout))",
            for: [.transfers, .trust]
        ) {
            options, value, name throws(UsageError) in
            options.timeouts.idle = try Argument.seconds(value, of: name)
        },
        .value(
            "-m", "--max-time", "--timeout", placeholder: "S",
            help: "time limit for the whole request, in seconds (default: none)",
            for: .connections
        ) {
            options, value, name throws(UsageError) in
            options.timeouts.total = try Argument.seconds(value, of: name)
        },
    ]

    private static let retries: [OptionEntry] = [
        .value(
            "--retry", placeholder: "N",
            help: "retries after transient failures, not of POST or PATCH (default: 0)"
        ) { options, value, name throws(UsageError) in
            options.retries = try Argument.count(value, of: name, in: 0...1_000_000)
        }
    ]

    private static let redirects: [OptionEntry] = [
        .value(
            "--max-redirects", placeholder: "N",
            help: "follow at most N redirects (default: \(DefaultTexts.redirects))", for: .exchanges
        ) {
            options, value, name throws(UsageError) in
            options.redirects.maximumCount = try Argument.count(value, of: name, in: 0...1_000_000)
        },
        .flag("-L", "--follow", "--location", help: "follow redirects (default)", for: .exchanges) {
            $0.redirects.followsRedirects = true
        },
        .flag("--no-redirects", help: "don't follow redirects", for: .exchanges) {
            $0.redirects.followsRedirects = false
        },
    ]

    private static let versions: [OptionEntry] = [
        .flag("--http1.1", help: "HTTP/1.1 only") { $0.httpVersion = .http1_1 },
        .flag("--http2", help: "HTTP/2 if the server supports it") { $0.httpVersion = .http2 },
        .flag("--http2-prior-knowledge", help: "HTTP/2 without negotiation, also over http") {
            $0.httpVersion = .http2PriorKnowledge
        },
        .flag("--compressed", help: "request compressed bodies and decode them (default)") { $0.decompresses = true },
        .flag("--no-compressed", help: "request an uncompressed body") { $0.decompresses = false },
    ]

    private static let network: [OptionEntry] = [
        .value(
            "-x", "--proxy", placeholder: "URL",
            help: "http, https, socks5 or socks5h proxy (default: from the environment)",
            for: .connections
        ) {
            options, value, name throws(UsageError) in
            guard !value.isEmpty else { throw UsageError("\(name) needs a URL; use --noproxy '*' for no proxy") }
            options.proxySource = try Secret(source: RawText(value))
            options.proxies = ProxyConfiguration(all: value, bypass: options.proxies.bypass)
        }.hiding(.userInfo),
        .value(
            "--noproxy", placeholder: "LIST", help: "hosts to connect to directly, as in no_proxy; * for all",
            for: .connections
        ) {
            options, value in options.proxies.bypass = value
        },
        .value(
            "--resolve", placeholder: "HOST:PORT:ADDR", help: "connect to ADDR for HOST and PORT; several with commas",
            for: .connections
        ) { options, value throws(UsageError) in
            options.network.hostOverrides.append(try NetworkOptions.HostOverride(argument: value))
        }.repeatable,
        .bytes("--unix-socket", placeholder: "PATH", help: "connect through this socket", for: .connections) {
            options, value, name throws(UsageError) in
            guard !value.bytes.isEmpty else { throw UsageError("\(name) needs the path of a socket") }
            options.unixSocket = value
        },
        .flag("-4", "--ipv4", help: "IPv4 only", for: .connections) { $0.network.ipVersion = .v4 },
        .flag("-6", "--ipv6", help: "IPv6 only", for: .connections) { $0.network.ipVersion = .v6 },
        .value("--interface", placeholder: "NAME", help: "the interface or address to connect from", for: .connections)
        {
            options, value, name throws(UsageError) in
            // No name of an interface, host or address has a slash: a URL was taken for the value.
            guard !value.utf8.contains(UInt8(ascii: "/")) else {
                throw .invalid(value, of: name, expected: "an interface or address, such as eth0 or 192.0.2.1")
            }
            options.network.interface = value
        },
        .value(
            "--doh-url", "--doh", placeholder: "URL", help: "resolve names with this DNS over HTTPS server",
            for: .connections
        ) {
            options, value, name throws(UsageError) in
            guard value.lowercased().hasPrefix("https://") else {
                throw UsageError("invalid value for \(name): expected a URL that begins with https://")
            }
            options.network.dnsOverHTTPS = value
        }.hiding(.userInfo),
    ]

    private static let trust: [OptionEntry] = [
        .bytes(
            "--cacert", placeholder: "PATH", help: "trust only the certificates in this PEM file", for: .connections
        ) {
            options, value, name throws(UsageError) in
            options.anchorsPath = try Argument.path(value, of: name)
        },
        .flag("--insecure", help: "accept invalid certificates; the host name is still checked", for: .connections) {
            $0.allowsInvalidCertificates = true
        },
        .flag("-k", help: "curl's --insecure: --insecure and --no-host-check together", for: .connections) {
            $0.allowsInvalidCertificates = true
            $0.validatesHostName = false
        },
        .flag("--no-host-check", help: "don't check the host name in the certificate", for: .connections) {
            $0.validatesHostName = false
        },
        .value(
            "--pin", placeholder: "PIN", help: "require a public key in the chain: sha256//BASE64; repeatable",
            for: .connections
        ) {
            options, value, name throws(UsageError) in options.pins.append(try Argument.pin(value, of: name))
        }.repeatable,
        .bytes(
            "--pin-cert", placeholder: "PATH", help: "require a certificate in the chain: DER or PEM file; repeatable",
            for: .connections
        ) {
            options, value, name throws(UsageError) in
            options.pinnedCertificatePaths.append(try Argument.path(value, of: name))
        }.repeatable,
        .bytes(
            "-E", "--cert", placeholder: "PATH",
            help: "client certificate: PEM, or PKCS #12 with the key; also PATH:PASSWORD", for: .connections
        ) {
            options, value, name throws(UsageError) in
            // Only the part before the password is checked as a path.
            _ = try Argument.path(RawText(value.bytes.prefix { $0 != UInt8(ascii: ":") }), of: name)
            options.certificatePath = value
        }.secret,
        .bytes(
            "--key", placeholder: "PATH", help: "private key of the client certificate, if in another file",
            for: .connections
        ) {
            options, value, name throws(UsageError) in
            options.keyPath = try Argument.path(value, of: name)
        },
        .value(
            "--key-password", placeholder: "P", help: "password of the private key; or @FILE, env:NAME",
            for: .connections
        ) { options, value throws(UsageError) in
            options.keyPassword = try Secret(value)
        }.secret,
        .value("--ciphers", placeholder: "LIST", help: "ciphers up to TLS 1.2, in OpenSSL's format", for: .connections)
        {
            $0.ciphers = $1
        },
        .bytes(
            "--hsts", placeholder: "PATH", help: "remember hosts that require https (HSTS) in this file",
            for: .exchanges
        ) {
            options, value, name throws(UsageError) in
            let path = try Argument.fileOnly(value, of: name)
            options.hstsPath = try Argument.only(path, besides: options.hstsPath, of: name)
        },
        .value(
            "--tls-min", placeholder: "VERSION", help: "minimum TLS version: 1.2 (default) or 1.3",
            for: .connections
        ) {
            options, value, name throws(UsageError) in
            switch value {
            case "1.2": options.minimumTLS = .v1_2
            case "1.3": options.minimumTLS = .v1_3
            default: throw .invalid(value, of: name, expected: "1.2 or 1.3")
            }
        }.choosing(["1.2", "1.3"]),
    ]

    private static let limits: [OptionEntry] = [
        .value(
            "--max-body", placeholder: "BYTES",
            help: "maximum body size (default: in memory \(DefaultTexts.bodyInMemory), for ws \(DefaultTexts.message))",
            for: .exchanges
        ) {
            options, value, name throws(UsageError) in
            let limit = try Argument.size(value, of: name, in: 1...Int.max)
            options.limits.maximumBodySize = Int64(limit)
        },
        .value(
            "--max-headers", placeholder: "BYTES",
            help: "maximum size of the response headers (default: \(DefaultTexts.heads))",
            for: .exchanges
        ) {
            options, value, name throws(UsageError) in
            let range = 1...Int(UInt32.max)
            options.limits.maximumHeaderBytes = try Argument.size(value, of: name, in: range)
        },
        .value("--limit-rate", placeholder: "BYTES", help: "maximum bytes per second in each direction (default: none)")
        {
            options, value, name throws(UsageError) in
            options.rateLimit = try Argument.size(value, of: name, in: 1...Int.max)
        },
    ]

    private static let output: [OptionEntry] = [
        .flag(
            "-i", "--include", help: "print the status line and headers of the response too",
            for: [.request, .upload, .download]
        ) {
            $0.parts = [.responseHead, .responseBody]
        },
        .flag("-I", "--head", help: "send HEAD, or the method of -X; print status line and headers only", for: .request)
        {
            $0.printsHeadOnly = true
        },
        .value(
            "-p", "--print", placeholder: "PARTS",
            help: "what to print: h headers, b body, m timings; H and B of the request",
            for: [.request, .upload, .download]
        ) {
            options, value, name throws(UsageError) in options.parts = try PrintedParts(letters: value, of: name)
        },
        .flag("--json", help: "print the result as one JSON object", for: .all) {
            $0.printsJSON = true
        },
        .flag("--as-curl", help: "print the request as a curl command instead of sending it") {
            $0.printsCurlCommand = true
        },
        .bytes("--har", placeholder: "PATH", help: "write an HTTP archive (HAR) of the run, with credentials hidden") {
            options, value, name throws(UsageError) in
            let path = try Argument.fileOnly(value, of: name)
            options.archivePath = try Argument.only(path, besides: options.archivePath, of: name)
        },
        .value("--accept-status", placeholder: "LIST", help: "statuses that are a success too, such as 304,4xx,500-599")
        {
            options, value, name throws(UsageError) in
            options.acceptedStatuses.formUnion(try Argument.statuses(value, of: name))
        }.repeatable,
        .flag("-f", "--fail", help: "don't print the body of a status of 400 or more", for: [.request, .upload]) {
            $0.hidesErrorBodies = true
        },
        .flag("-N", "--no-buffer", help: "print at once (default)", for: .request) { _ in },
        .flag("--timings", help: "print how long DNS, TLS and other phases took, to standard error") {
            $0.printsTimings = true
        },
        .flag("-q", "--quiet", help: "no progress bar, only notes and errors", for: .exchanges) {
            $0.quietingOptions.insert(.quiet)
        },
        .flag("-s", "--silent", help: "no progress bar, note or error message", for: .exchanges) {
            $0.quietingOptions.insert(.silent)
        },
        .flag("-S", "--show-error", help: "print error messages in spite of -s", for: .exchanges) {
            $0.quietingOptions.insert(.showError)
        },
        .flag("-v", "--verbose", help: "print what was sent and received, with credentials hidden", for: .exchanges) {
            $0.isVerbose = true
        },
    ]

    private static let files: [OptionEntry] = [
        .bytes(
            "-o", "--output", placeholder: "PATH",
            help:
                "write the body to a file, or into DIR/; - is standard output",
            for: [.request, .upload, .download]
        ) { options, value, name throws(UsageError) in
            guard options.outputPath == nil else { throw UsageError("\(name) is given twice") }
            options.outputPath = try Argument.path(value, of: name)
        },
        .flag("-O", "--remote-name", help: "download to a file named by the URL", for: .request) {
            $0.usesRemoteName = true
        },
        .bytes(
            "-P", "--output-dir", placeholder: "DIR", help: "the folder for files named by URLs; created if missing",
            for: [.request, .download]
        ) {
            options, value, name throws(UsageError) in
            guard !value.bytes.isEmpty else { throw UsageError("\(name) needs the path of a folder") }
            options.folder = value
        },
        .flag(
            "--timestamps", help: "download only if the server's file is newer, and keep its time",
            for: [.request, .download]
        ) {
            $0.comparesTimestamps = true
        },
        .value(
            "--checksum", placeholder: "DIGEST", help: "keep the file only if it is this: sha256:HEX or sha512:HEX",
            for: [.request, .download]
        ) {
            options, value throws(UsageError) in options.checksum = try FileDigest(checksum: value)
        },
        .flag("--no-clobber", help: "keep an existing file and fail", for: [.request, .upload, .download]) {
            $0.keepsExistingFile = true
        },
        .flag(
            "--resume", help: "resume PATH.part if the file hasn't changed on the server", for: .download
        ) {
            $0.resumes = true
        },
        .value("-C", placeholder: "-", help: "curl's spelling of --resume", for: .download) {
            options, value, name throws(UsageError) in
            guard value == "-" else {
                throw .invalid(value, of: name, expected: "-; the size of PATH.part sets the position")
            }
            options.resumes = true
        }.choosing(["-"]),
        .flag(
            "-J", "--content-disposition", help: "let the response name the file; an existing file isn't replaced",
            for: .download
        ) {
            $0.usesContentDisposition = true
        },
    ]

    private static let about: [OptionEntry] = [
        .flag("-h", "--help", help: "print this text", for: .all) { $0.information = .help },
        .flag("--version", help: "print the versions of swiftaf and its libraries", for: .all) {
            $0.information = .version
        },
    ]
}
