import FoundationEssentials
import SwiftAF

extension Options {
    /// Returns the options of curl that correspond to the options of the session and the output. The request writes the
    /// rest of the command, see ``HTTPRequest/curlCommand(redaction:)``.
    ///
    /// Passwords are left out, so curl asks for them. Options that curl lacks are left out, too: see docs/cli.md.
    ///
    /// - Throws: If curl would verify less than this command does.
    func curlOptions(_ command: RequestCommand, _ request: HTTPRequest) throws(Failure) -> [String] {
        guard allowsInvalidCertificates != validatesHostName else {
            throw Failure(
                UsageError(
                    """
                    --as-curl needs both --insecure and --no-host-check, or neither: curl's --insecure verifies \
                    neither chain nor name
                    """
                ))
        }
        if let word = wordUnknownToCurl(command) {
            throw Failure(
                UsageError(
                    "'\(word.shown.printable)' is not UTF-8: --as-curl prints text, with the paths and headers as given"
                ))
        }
        if let name = request.partUnknownToCurl {
            throw Failure(
                UsageError(
                    """
                    curl can't send the part '\(name.printable)': expected text in UTF-8 or a file, under a name in \
                    UTF-8 without =
                    """))
        }
        return redirectOptions(request) + encodingOptions(command, request) + formOptions(request)
            + credentialOptions(request)
            + trustOptions + limitOptions + networkOptions + storeOptions + outputOptions(command, request)
            + fileOptions(command)
    }

    /// The first path or value of a header that isn't UTF-8; nil if all are. The command would name another file, or
    /// send other bytes.
    private func wordUnknownToCurl(_ command: RequestCommand) -> RawText? {
        var words = [
            outputPath, folder, cookieJar, cookieOutput, hstsPath, anchorsPath, certificatePath, keyPath, unixSocket,
        ].compactMap(\.self)
        words += cookieInputs
        if case .path(let path)? = netrc { words.append(path) }
        if case .file(let path)? = data { words.append(path) }
        for item in command.items {
            switch item {
            case .header(_, let value): words.append(value)
            case .filePart(_, let part):
                if case .file(let path) = part.source { words.append(path) }
            default: break
            }
        }
        return words.first { $0.text == nil }
    }

    /// A download is requested without a content encoding, so that it can be continued.
    private func encodingOptions(_ command: RequestCommand, _ request: HTTPRequest) -> [String] {
        let name = HTTPHeaders.Name.acceptEncoding
        let isDownload = (try? FileTarget.of(command, self))?.isDownload == true
        guard isDownload || !decompresses else { return ["--compressed"] }
        let isGiven =
            request.headers.contains(named: name) || request.headers.isSuppressed(name)
        return isGiven ? [] : ["--header", "\(name): identity"]
    }

    /// The type of a form that isn't multipart/form-data. curl adds its boundary to it.
    private func formOptions(_ request: HTTPRequest) -> [String] {
        guard case .form = request.body.content, let field = request.headers[.contentType],
            let type = MediaType(field), type.essence != "multipart/form-data"
        else { return [] }
        let parameters = type.parameters.filter { $0.name != "boundary" }
        let shown = MediaType(type: type.type, subtype: type.subtype, parameters: parameters)
        return ["--header", "\(HTTPHeaders.Name.contentType): \(shown)"]
    }

    private var limitOptions: [String] {
        var words = Self.option("--max-filesize", limits.maximumBodySize.map { String($0) })
        if let idle = timeouts.idle, idle > .zero {
            // curl takes whole seconds.
            words += ["--speed-time", String(max(1, Int(idle.fractionalSeconds.rounded(.up)))), "--speed-limit", "1"]
        }
        return words
    }

    private func fileOptions(_ command: RequestCommand) -> [String] {
        var words = keepsExistingFile ? ["--no-clobber"] : []
        if comparesTimestamps, let target = try? FileTarget.of(command, self), case .path(let path) = target.name {
            words += ["--time-cond", path.shown, "--remote-time"]
        }
        return words
    }

    private func redirectOptions(_ request: HTTPRequest) -> [String] {
        var words: [String] = []
        if redirects.followsRedirects {
            words.append("--location")
            if request.parsedURL?.scheme == "https", !redirects.allowsInsecureDowngrade {
                words += ["--proto-redir", "=https"]
            }
            // curl's own limit is 50.
            words += ["--max-redirs", "\(redirects.maximumCount)"] + request.curlRedirectOptions
        }
        // Only for idempotent methods: curl would repeat any.
        if retries > 0, request.method.isIdempotent { words += ["--retry", "\(retries)"] }
        return words
    }

    private func credentialOptions(_ request: HTTPRequest) -> [String] {
        guard let credential = request.credential else { return [] }
        let scheme = authentication ?? .any
        let words = ["--\(scheme == .any ? "anyauth" : scheme.rawValue)"]
        // The user of the URL isn't shown: many services have a token there.
        let userOfURL = request.parsedURL?.user(percentEncoded: false).map { _ in "NAME" }
        if let user = user == nil ? userOfURL : credential.user { return words + ["--user", user] }
        switch netrc {
        case .ofHome?: return words + ["--netrc"]
        case .path(let path)?: return words + ["--netrc-file", path.shown]
        // With an empty user and password, curl uses the identity of the process.
        case nil: return words + ["--user", ":"]
        }
    }

    private var trustOptions: [String] {
        var words = Self.option("--cacert", anchorsPath)
        if allowsInvalidCertificates { words.append("--insecure") }
        if !pins.isEmpty { words += ["--pinnedpubkey", pins.joined(separator: ";")] }
        if let path = certificate?.path.shown {
            // Escaped, because curl takes what follows a colon for the password.
            let escaped = path.unicodeScalars.flatMap { $0 == ":" || $0 == "\\" ? ["\\", $0] : [$0] }
            words += ["--cert", String(String.UnicodeScalarView(escaped))]
        }
        words += Self.option("--key", keyPath)
        switch minimumTLS {
        case .v1_2?: words.append("--tlsv1.2")
        case .v1_3?: words.append("--tlsv1.3")
        case nil: break
        }
        return words + Self.option("--ciphers", ciphers)
    }

    private var networkOptions: [String] {
        var words: [String] = []
        switch network.ipVersion {
        case .any: break
        case .v4: words.append("--ipv4")
        case .v6: words.append("--ipv6")
        }
        for entry in network.hostOverrides {
            words += ["--resolve", "\(entry.host):\(entry.port):\(entry.addresses.joined(separator: ","))"]
        }
        words += Self.option("--unix-socket", unixSocket) + Self.option("--interface", network.interface)
        words += Self.option("--doh-url", network.dnsOverHTTPS.map { URLText($0).withoutUserInfo })
        words += Self.option("--proxy", proxies.all.map { "\(HTTPRequest.Proxy.url($0))" })
        words += Self.option("--noproxy", proxies.bypass)
        return words + Self.option("--limit-rate", rateLimit.map(String.init))
    }

    private var storeOptions: [String] {
        let inputs = [cookieJar].compactMap(\.self) + cookieInputs.filter { $0 != cookieJar }
        // curl writes only one cookie file.
        return inputs.flatMap { Self.option("--cookie", $0) } + Self.option("--cookie-jar", cookieOutput ?? cookieJar)
            + Self.option("--hsts", hstsPath)
    }

    private func outputOptions(_ command: RequestCommand, _ request: HTTPRequest) -> [String] {
        var words: [String] = []
        // curl prints the head of HEAD by itself.
        let showsHead = parts?.contains(.responseHead) ?? (command.showsHead && request.method != .head)
        if showsHead { words.append("--include") }
        if isVerbose { words.append("--verbose") }
        if quietingOptions.contains(.silent) { words.append("--silent") }
        if quietingOptions.contains(.showError) { words.append("--show-error") }
        if hidesErrorBodies { words.append("--fail") }
        if resumes { words += ["--continue-at", "-"] }
        if let namedFile {
            words += ["--output", namedFile.shown]
        } else if command.purpose == .download || namedFolder != nil {
            words.append("--remote-name")
            if usesContentDisposition { words.append("--remote-header-name") }
        }
        guard let namedFolder else { return words }
        return words + ["--create-dirs", "--output-dir", namedFolder.shown]
    }

    private static func option(_ name: String, _ value: String?) -> [String] { value.map { [name, $0] } ?? [] }

    private static func option(_ name: String, _ value: RawText?) -> [String] { option(name, value?.shown) }
}
