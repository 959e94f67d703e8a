import SwiftAF

/// The message of a failed transfer: a plain sentence, followed by the option that helps.
enum Advice {
    /// Returns the message for an error.
    ///
    /// - Parameters:
    ///   - showsCertificates: Whether the command shows the server's certificates, and takes no URL: `trust`.
    ///   - minimumTLS: The version of `--tls-min`.
    ///   - network: The options of the network.
    ///   - proxy: The proxy, if TLS is spoken to it.
    ///   - isSocket: Whether the error is that of a WebSocket after its handshake.
    ///   - decodes: Whether Content-Encodings are decoded: without `--no-compressed`.
    static func message(
        for error: SessionError, showsCertificates: Bool = false, minimumTLS: TLSOptions.Version? = nil,
        network: NetworkOptions = NetworkOptions(), proxy: SecureProxy? = nil, isSocket: Bool = false,
        decodes: Bool = true
    ) -> String {
        if error.code == .cancelled { return "cancelled" }
        if error.reason == .ipv6Zone { return "a URL can't name an IPv6 zone (RFC 9844); --interface NAME chooses it" }
        var message = inSeconds(error.message)
        for (subject, option) in subjects where message.hasPrefix(subject) {
            message = option + message.dropFirst(subject.count)
        }
        for (content, option) in contents { message = message.replacing(content, with: option) }
        if let sentence = sentence(for: error, isSocket), !message.hasPrefix("the "),
            !message.hasPrefix("cannot ")
        {
            // Some texts of libcurl end with a full stop.
            message = "\(sentence): \(message.hasSuffix(".") ? String(message.dropLast()) : message)"
        }
        let isProxys = error.reason == .notTLS && message.hasPrefix("the proxy ")
        let ofProxy = isProxys ? proxy.map(option) : nil
        let ofCoding = isTransferCoded(error, decodes) ? transferCoding : nil
        let advice =
            ofProxy ?? ofCoding ?? option(for: error, showsCertificates, minimumTLS) ?? option(for: error, network)
        return advice.map { "\(message); \($0)" } ?? message
    }

    /// Returns a message with its limit in seconds, as options take it, in place of the core's milliseconds. Without
    /// that of a transfer's total time, which is only what was left of `--timeout` when the transfer began.
    private static func inSeconds(_ message: String) -> String {
        if message.hasPrefix("total timeout: not complete after ") { return "total timeout: not complete in time" }
        guard message.hasSuffix(" ms"), let space = message.dropLast(3).lastIndex(of: " "),
            let number = Int64(message[message.index(after: space)...].dropLast(3))
        else { return message }
        return "\(message[...space])\(Format.shortSeconds(.milliseconds(number)))"
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
        // A user and a password aren't a token.
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
        let parts = value.split { character in
            defer { isEscaped = character == "\\" && !isEscaped }
            if character == "\"", !isEscaped { isQuoted.toggle() }
            return character == "," && !isQuoted
        }
        // What else stands behind a comma is a parameter.
        return parts.compactMap { $0.split(separator: " ").first }.filter { !$0.contains("=") }.map(String.init)
    }

    /// What errors of the core begin with, if there is one option that sets it.
    private static let subjects = [
        ("the proxy for all: ", "--proxy: "), ("the anchors: ", "--cacert: "), ("network.doh_url: ", "--doh: "),
        ("doh_url can't be ", "--doh can't be "),
    ]

    /// What errors of the core name, if it's the content of an option's file: the program reads these files itself.
    private static let contents = [
        ("the certificate's bytes", "the file of --cert"), ("the key's bytes", "the file of --key"),
    ]

    /// What happened, put before texts of libcurl, OpenSSL and nghttp2.
    private static func sentence(for error: SessionError, _ isSocket: Bool) -> String? {
        switch error.code {
        case .connect: "can't connect"
        case .connectionLost: "the connection was lost"
        case .truncated: "the response is incomplete"
        case .protocol where isUndecodable(error): "the body can't be decoded"
        case .protocol where isSocket: "the server broke the WebSocket protocol"
        case .protocol: "the server's response isn't valid HTTP"
        case .dns: "the host's name can't be resolved"
        case .authentication where error.reason == .proxyCredentials: "the proxy needs credentials, or refused them"
        case .tls: "the TLS connection failed"
        case .untrusted: "the server isn't trusted"
        default: nil
        }
    }

    private static func option(of proxy: SecureProxy) -> String {
        "--proxy \(proxy.plainURL.printable) connects to the proxy without TLS"
    }

    private static func option(
        for error: SessionError, _ showsCertificates: Bool, _ minimumTLS: TLSOptions.Version?
    ) -> String? {
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
        // Of one read, which is longer for downloads: no encoding is asked for.
        case .pieceLimit?: "get URL -o PATH decodes it in smaller pieces"
        case .digest?: "a file without the checksum of --checksum isn't kept"
        case .proxyCredentials?: "--proxy SCHEME://NAME:PASSWORD@HOST gives them"
        case .notTLS?: showsCertificates ? nil : "a URL with http:// is sent without it"
        // 1.2 is the default, and nothing older is accepted.
        case .tlsVersion?: minimumTLS == .v1_3 ? "--tls-min 1.2 accepts the oldest" : nil
        case .certificateRequired?: "--cert PATH gives a client certificate"
        case .certificateRefused?: "it refused the client certificate of --cert"
        case .handshakeRefused?: "it may require a client certificate, which --cert PATH gives"
        case .connect?: "--connect-timeout S allows more"
        case .idle?: "--idle-timeout S allows more"
        case .total?: "--timeout S allows more"
        case _ where error.code == .bodyNotReplayable: optionOfBody(error)
        case _ where isUndecodable(error): "--no-compressed takes the body as it is"
        default: error.code == .untrusted ? optionsOfTrust(error, showsCertificates) : nil
        }
    }

    /// What can be sent again, or needn't be.
    private static func optionOfBody(_ error: SessionError) -> String {
        let file = "-d @FILE and -F NAME=@FILE can be read again"
        // The credentials of proxies are in --proxy, which has no such option.
        let isAboutServer =
            error.message.hasPrefix("the request can't be retried with credentials")
            && error.response?.status != 407
        return isAboutServer ? "--auth basic sends them at once, \(file)" : file
    }

    /// Whether libcurl doesn't know the encoding of the body, or the body isn't encoded as it should be.
    private static func isUndecodable(_ error: SessionError) -> Bool {
        // CURLE_BAD_CONTENT_ENCODING
        error.code == .protocol && error.curlCode == 61
    }

    /// Whether the body can't be decoded, or decodes to too much, because of its Transfer-Encoding, which no option
    /// turns off.
    private static func isTransferCoded(_ error: SessionError, _ decodes: Bool) -> Bool {
        guard isUndecodable(error) || error.reason == .decodedLimit || error.reason == .pieceLimit else { return false }
        let codings = error.response?.headers.first(named: "Transfer-Encoding")?.lowercased().split(separator: ",")
        let isCoded = codings?.contains { $0.filter { !$0.isWhitespace } != "chunked" } == true
        return isCoded || !decodes
    }

    private static let transferCoding = "it is the server's Transfer-Encoding, which wasn't asked for"

    /// The option of the network that explains why there is no connection.
    private static func option(for error: SessionError, _ network: NetworkOptions) -> String? {
        guard error.code == .connect || error.code == .dns, !error.message.hasPrefix("the proxy ") else { return nil }
        // CURLE_INTERFACE_FAILED; some versions of libcurl report a failed connection instead.
        if network.interface != nil, error.curlCode == 45 || error.message.contains("bind") {
            return "--interface NAME has to be an interface or an address of this machine"
        }
        let url = error.metrics.hops.last?.url ?? error.url
        let family = url.flatMap { CoreURL.host(of: $0) }.flatMap { IPAddress.family(of: $0) }
        switch network.ipVersion {
        case .v4 where error.code == .dns || family == .v6: return "-4 allows IPv4 addresses only"
        case .v6 where error.code == .dns || family == .v4: return "-6 allows IPv6 addresses only"
        default: return nil
        }
    }

    private static func optionsOfTrust(_ error: SessionError, _ showsCertificates: Bool) -> String? {
        let options = [optionOfTrust(error), showsCertificates ? nil : command(for: error)].compactMap(\.self)
        return options.isEmpty ? nil : options.joined(separator: ", ")
    }

    /// The option that accepts such a server. None accepts such a proxy, other than an authority.
    private static func optionOfTrust(_ error: SessionError) -> String? {
        switch error.reason {
        case .selfSigned?, .unknownIssuer?, .untrustedRoot?: return "--cacert PATH trusts an authority"
        case .expired?, .notYetValid?, .weak?:
            return error.message.hasPrefix("the proxy ") ? nil : "--insecure accepts any certificate for the host"
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
