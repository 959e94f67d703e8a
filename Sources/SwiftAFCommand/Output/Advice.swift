import SwiftAF

/// The message about a failed transfer: a sentence, followed by the option that helps.
enum Advice {
    /// Returns the message for an error.
    static func message(for error: SessionError, in context: AdviceContext) -> String {
        if error.code == .cancelled { return "cancelled" }
        if error.reason == .ipv6Zone { return "a URL can't name an IPv6 zone (RFC 9844); --interface NAME chooses it" }
        var message = namingFiles(inSeconds(error), context)
        if let option = optionOfInput(error) {
            // So the core names the setting of `--proxy`; those of the environment have other names.
            let ofOption = "the proxy for all: "
            message = "\(option): \(message.hasPrefix(ofOption) ? message.dropFirst(ofOption.count) : message[...])"
        } else if let sentence = sentence(for: error, context), !isSentence(message) {
            // Some texts of libcurl end with a full stop.
            message = "\(sentence): \(message.hasSuffix(".") ? String(message.dropLast()) : message)"
        }
        let advice = option(for: error, context) ?? optionOfFamily(error, context.network)
        return advice.map { "\(message); \($0)" } ?? message
    }

    /// Returns the message with its limit in seconds, as options take it, instead of the core's milliseconds. The limit
    /// of a transfer's total time is left out: it is only what was left of `--timeout` when the transfer began.
    private static func inSeconds(_ error: SessionError) -> String {
        let message = error.message
        guard error.code == .timeout, message.hasSuffix(" ms"), let space = message.dropLast(3).lastIndex(of: " "),
            let number = Int64(message[message.index(after: space)...].dropLast(3))
        else { return message }
        guard error.reason != .total else {
            let start = message[..<space]
            return "\(start.hasSuffix(" after") ? start.dropLast(" after".count) : start) in time"
        }
        return "\(message[...space])\(Format.shortSeconds(.milliseconds(number)))"
    }

    /// Returns the message with the paths of the client certificate and its key. The core gets their content only.
    private static func namingFiles(_ message: String, _ context: AdviceContext) -> String {
        let files = [("the certificate's bytes", context.certificate), ("the key's bytes", context.key)]
        return files.reduce(message) { message, file in
            file.1.map { message.replacing(file.0, with: $0.shown.printable) } ?? message
        }
    }

    /// Returns whether the message is a sentence of the core. Other texts are those of libcurl, OpenSSL and nghttp2, or
    /// name only what is wrong.
    private static func isSentence(_ message: String) -> Bool {
        message.hasPrefix("the ") || message.hasPrefix("cannot ")
    }

    /// Returns what is said about a 401 beside its status; nil if the server has refused the credentials.
    static func aboutUnauthorized(_ response: HTTPResponse, to request: HTTPRequest) -> String? {
        guard request.credential != nil || request.headers.contains(named: .authorization) else {
            return "--user NAME:PASSWORD or --bearer TOKEN sends credentials"
        }
        guard Origin(response.url) != Origin(request.url) else {
            return request.credential.flatMap { otherScheme(than: $0, response) }
        }
        let url = URLText(response.url).withoutUserInfo.printable
        return "credentials aren't sent to another origin after a redirect: request \(url) directly"
    }

    /// Returns which schemes the server offers, if the credentials can be used with none of them.
    private static func otherScheme(than credential: Credential, _ response: HTTPResponse) -> String? {
        let fields = response.headers.fields.filter { $0.isNamed("WWW-Authenticate") }
        let offered = fields.flatMap { schemes(ofChallenges: $0.value) }
        let options = offered.compactMap { Options.Authentication(rawValue: $0.lowercased()) }
        // A user and a password can't be used as a token.
        guard !offered.isEmpty, !options.contains(where: { !$0.schemes.isDisjoint(with: credential.schemes) }) else {
            return nil
        }
        let names = offered.map(\.printable).joined(separator: ", ")
        let isToken = offered.contains { $0.lowercased() == "bearer" }
        let option = options.last.map { ": --auth \($0.rawValue)" } ?? (isToken ? ": --bearer TOKEN" : "")
        return "the server offers \(names) only\(option)"
    }

    /// Returns the names in a WWW-Authenticate field, which can have several challenges (RFC 9110, section 11.6.1).
    static func schemes(ofChallenges value: String) -> [String] {
        var (isQuoted, isEscaped) = (false, false)
        let parts = value.unicodeScalars.split { character in
            defer { isEscaped = character == "\\" && !isEscaped }
            if character == "\"", !isEscaped { isQuoted.toggle() }
            return character == "," && !isQuoted
        }
        // A part that contains `=` is a parameter of the challenge before it.
        return parts.compactMap { $0.split(separator: " ").first }.filter { !$0.contains("=") }.map { String($0) }
    }

    /// The option whose value the core refuses.
    private static func optionOfInput(_ error: SessionError) -> String? {
        switch error.reason {
        case .proxyURL?: "--proxy"
        case .anchors?: "--cacert"
        // Pins of `--pin` were checked when the command line was parsed.
        case .pinning?: "--pin-cert"
        case .ciphers?: "--ciphers"
        case .dnsOverHTTPSURL?: "--doh"
        case .clientCertificate?: "--cert"
        case .clientKey?: "--key"
        default: nil
        }
    }

    /// What happened, put before texts of libcurl, OpenSSL and nghttp2.
    private static func sentence(for error: SessionError, _ context: AdviceContext) -> String? {
        switch error.code {
        case .connect: "can't connect"
        case .connectionLost: "the connection was lost"
        case .truncated: "the response is incomplete"
        case .protocol where error.reason == .contentCoding: "the body can't be decoded"
        case .protocol where context.isSocket: "the server broke the WebSocket protocol"
        case .protocol: "the server's response isn't valid HTTP"
        case .dns: "the host's name can't be resolved"
        case .authentication where error.reason == .proxyCredentials: "the proxy needs credentials, or refused them"
        case .tls: "the TLS connection failed"
        case .untrusted: "the server isn't trusted"
        default: nil
        }
    }

    private static func option(for error: SessionError, _ context: AdviceContext) -> String? {
        switch error.reason {
        case .noScheme?: "https://HOST or HOST/ names a host"
        case .hostOverride?: "--resolve takes IP addresses"
        case .keyPassword?: "--key PATH names its key, --key-password P the password of the key"
        case .dnsOverHTTPS?: "the server of --doh doesn't know it, isn't reached or isn't trusted"
        case .redirectLimit?: "--max-redirects N allows more"
        case .bodyLimit?, .messageLimit?: "--max-body BYTES allows more"
        case .headLimit?: "--max-headers BYTES allows more"
        case .lineLimit?: "libcurl takes 100 KiB in a head and 4 KiB in a trailer, whatever --max-headers allows"
        case .decodedLimit?: "--no-compressed asks for it uncompressed and decodes nothing"
        case .digest?: "a file without the checksum of --checksum isn't kept"
        case .proxyCredentials?: "--proxy SCHEME://NAME:PASSWORD@HOST gives them"
        case .notTLS? where error.party == .proxy: optionOfProxy(error)
        case .notTLS?: context.showsCertificates ? nil : "a URL with http:// is sent without it"
        // 1.2 is the default, and no option accepts an older version.
        case .tlsVersion?: context.minimumTLS == .v1_3 ? "--tls-min 1.2 accepts the oldest" : nil
        case .certificateRequired?: "--cert PATH gives a client certificate"
        case .certificateRefused?: "it refused the client certificate of --cert"
        case .handshakeRefused?: "it may require a client certificate, which --cert PATH gives"
        case .interface?: "--interface NAME has to be an interface or an address of this machine"
        case .connect?: "--connect-timeout S allows more"
        case .idle?: "--idle-timeout S allows more"
        case .total?: "--timeout S allows more"
        case _ where error.code == .bodyNotReplayable: optionOfBody(error)
        case .contentCoding?: "--no-compressed takes the body as it is"
        default: error.code == .untrusted ? optionsOfTrust(error, context) : nil
        }
    }

    private static func optionOfProxy(_ error: SessionError) -> String? {
        guard let proxy = error.metrics.hops.last?.proxy else { return nil }
        let address = URLText(proxy).withoutUserInfo.dropFirst("https".count)
        return "--proxy \("http\(address)".printable) connects to the proxy without TLS"
    }

    /// The options that give a body that can be sent again, or with which it needn't be.
    private static func optionOfBody(_ error: SessionError) -> String {
        let file = "-d @FILE and -F NAME=@FILE can be read again"
        // The credentials of proxies are in --proxy, which has no such option.
        let isAboutServer = error.reason == .credentials && error.party != .proxy
        return isAboutServer ? "--auth basic sends them at once, \(file)" : file
    }

    /// The option that may have excluded all addresses of the server.
    private static func optionOfFamily(_ error: SessionError, _ network: NetworkOptions) -> String? {
        guard error.code == .connect || error.code == .dns, error.party != .proxy else { return nil }
        let url = error.metrics.hops.last?.url ?? error.url
        let family = url.flatMap { CoreURL.host(of: $0) }.flatMap { IPAddress.family(of: $0) }
        switch network.ipVersion {
        case .v4 where error.code == .dns || family == .v6: return "-4 allows IPv4 addresses only"
        case .v6 where error.code == .dns || family == .v4: return "-6 allows IPv6 addresses only"
        default: return nil
        }
    }

    private static func optionsOfTrust(_ error: SessionError, _ context: AdviceContext) -> String? {
        let options = [optionOfTrust(error), context.showsCertificates ? nil : command(for: error)].compactMap(\.self)
        return options.isEmpty ? nil : options.joined(separator: ", ")
    }

    /// The option that accepts such a server. A proxy is accepted only by trusting its authority.
    private static func optionOfTrust(_ error: SessionError) -> String? {
        switch error.reason {
        case .selfSigned?, .unknownIssuer?, .untrustedRoot?: return "--cacert PATH trusts an authority"
        case .expired?, .notYetValid?, .weak?:
            return error.party == .proxy ? nil : "--insecure accepts any certificate for the host"
        default: return nil
        }
    }

    /// The command that shows more.
    private static func command(for error: SessionError) -> String? {
        switch error.reason {
        case .wrongHost?: "swiftaf trust HOST shows its certificate"
        case .selfSigned?, .unknownIssuer?, .untrustedRoot?: "swiftaf trust HOST shows the certificates"
        case .expired?, .notYetValid?: "swiftaf trust HOST shows the dates"
        case .pin?: "swiftaf trust HOST shows the pins"
        default: nil
        }
    }
}
