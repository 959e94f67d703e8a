import SwiftAF

/// The message of a failed transfer: a plain sentence, followed by the option that helps.
enum Advice {
    /// Returns the message for an error.
    ///
    /// - Parameters:
    ///   - showsCertificates: Whether the server's certificates are printed beside the message.
    ///   - minimumTLS: The version of `--tls-min`.
    static func message(
        for error: SessionError, showsCertificates: Bool = false, minimumTLS: TLSOptions.Version? = nil
    ) -> String {
        if error.code == .cancelled { return "cancelled" }
        var message = error.message == refusal ? "more than 0 redirects" : withoutField(error.message)
        if message == zones { message = "a URL can't name an IPv6 zone (RFC 9844); --interface NAME chooses it" }
        for (subject, option) in subjects where message.hasPrefix(subject) {
            message = option + message.dropFirst(subject.count)
        }
        if let sentence = sentence(for: error), !message.hasPrefix("the "), !message.hasPrefix("cannot ") {
            // Some texts of libcurl end with a full stop.
            message = "\(sentence): \(message.hasSuffix(".") ? String(message.dropLast()) : message)"
        }
        return option(for: error, showsCertificates, minimumTLS).map { "\(message); \($0)" } ?? message
    }

    /// The core names the field of its struct that sets a limit, such as ` (limits.body)`, for programmers.
    private static func withoutField(_ message: String) -> String {
        guard let start = message.firstRange(of: " (limits.")?.lowerBound,
            let end = message[start...].firstIndex(of: ")")
        else { return message }
        return message[..<start] + String(message[message.index(after: end)...])
    }

    /// The text of the core when no redirect is allowed.
    private static let refusal = "on_redirect refused the redirect"
    /// The text of the core for an address with a zone, such as `[fe80::1%25eth0]`.
    private static let zones = "URLs have no IPv6 zones (RFC 9844): set the session's interface"
    /// What errors of the core begin with, if there is one option that sets it.
    private static let subjects = [("the proxy for all: ", "--proxy: "), ("the anchors: ", "--cacert: ")]

    /// What happened, put before texts of libcurl, OpenSSL and nghttp2.
    private static func sentence(for error: SessionError) -> String? {
        switch error.code {
        case .connect: "can't connect"
        case .connectionLost: "the connection was lost"
        case .truncated: "the response is incomplete"
        case .protocol: "the server's response isn't valid HTTP"
        case .dns: "the host's name can't be resolved"
        case .authentication where isOfProxy(error): "the proxy needs credentials, or refused them"
        case .tls where lacksTLS(error): "the server doesn't use TLS on this port"
        case .tls where lacksVersion(error): "the server and this program have no TLS version in common"
        case .tls: "the TLS connection failed"
        case .untrusted: "the server isn't trusted"
        default: nil
        }
    }

    /// libcurl's reasons of proxies that tunnel. Other refusals of credentials have a response.
    private static func isOfProxy(_ error: SessionError) -> Bool {
        let refusals = ["CONNECT tunnel failed", "User was rejected by the SOCKS5", "No authentication method was"]
        return error.code == .authentication && refusals.contains(where: error.message.hasPrefix)
    }

    /// OpenSSL's reasons for bytes that aren't TLS, such as an answer in plain HTTP.
    private static func lacksTLS(_ error: SessionError) -> Bool {
        ["wrong version number", "packet length too long"].contains { error.message.hasSuffix($0) }
    }

    /// OpenSSL's reasons, on either side, for versions that don't overlap.
    private static func lacksVersion(_ error: SessionError) -> Bool {
        ["protocol version", "unsupported protocol"].contains { error.message.hasSuffix($0) }
    }

    private static func option(
        for error: SessionError, _ showsCertificates: Bool, _ minimumTLS: TLSOptions.Version?
    ) -> String? {
        switch error.code {
        case .invalidInput:
            if error.message.hasSuffix("or wrong password") {
                return "--key PATH names its key, --key-password P the password of the key"
            }
            if error.message == "the URL has no scheme" { return "https://HOST or HOST/ names a host" }
            return error.message.hasSuffix("in a host override") ? "--resolve takes IP addresses" : nil
        case .authentication:
            return isOfProxy(error) ? "--proxy SCHEME://NAME:PASSWORD@HOST gives them" : nil
        // Other names are looked up without libcurl.
        case .dns:
            let isRemote = error.message == "Couldn't resolve host name"
            return isRemote ? "the server of --doh doesn't know it, isn't reached or isn't trusted" : nil
        case .tls: return optionOfTLS(error, minimumTLS)
        case .timeout:
            // Of WebSockets, which have no limit of idle time.
            guard !["no close frame", "no pong"].contains(where: error.message.hasPrefix) else { return nil }
            switch error.reason {
            case .connect?: return "--connect-timeout S allows more"
            case .idle?: return "--idle-timeout S allows more"
            case .total?: return "--timeout S allows more"
            default: return nil
            }
        case .tooLarge:
            if ["the response body exceeds", "a WebSocket "].contains(where: error.message.hasPrefix) {
                return "--max-body BYTES allows more"
            }
            // Of one read, which is longer for downloads: no encoding is asked for.
            if error.message.hasPrefix("the paused body exceeds the limit") {
                return "get URL -o PATH decodes it in smaller pieces"
            }
            if error.message.hasPrefix("the paused body exceeds ") {
                return "--no-compressed asks for it uncompressed and decodes nothing"
            }
            // CURL_MAX_HTTP_HEADER and DYN_H1_TRAILER.
            if error.message.hasPrefix("a line of the response's head or trailers is too long") {
                return "libcurl takes 100 KiB in a head and 4 KiB in a trailer, whatever --max-headers allows"
            }
            return error.message.contains("heads exceed") ? "--max-headers BYTES allows more" : nil
        case .redirect:
            let isCount = error.message.hasPrefix("more than ") && error.message.hasSuffix(" redirects")
            return isCount || error.message == refusal ? "--max-redirects N allows more" : nil
        case .protocol:
            let isOther = error.message.hasPrefix("the file has another sha-256 digest than expected")
            return isOther ? "a file without the checksum of --checksum isn't kept" : nil
        case .untrusted:
            let options = [optionOfTrust(error), showsCertificates ? nil : command(for: error)].compactMap(\.self)
            return options.isEmpty ? nil : options.joined(separator: ", ")
        default: return nil
        }
    }

    private static func optionOfTLS(_ error: SessionError, _ minimumTLS: TLSOptions.Version?) -> String? {
        if lacksTLS(error) { return "a URL with http:// is sent without it" }
        // 1.2 is the default, and nothing older is accepted.
        if lacksVersion(error) { return minimumTLS == .v1_3 ? "--tls-min 1.2 accepts the oldest" : nil }
        guard let end = error.message.firstRange(of: "closed the TLS connection: ") else { return nil }
        switch error.message[end.upperBound...] {
        case "certificate required": return "--cert PATH gives a client certificate"
        // What servers of TLS 1.2 also say if they have no cipher in common.
        case "handshake failure": return "it may require a client certificate, which --cert PATH gives"
        case "unknown CA", "bad certificate", "certificate expired", "certificate revoked", "certificate unknown",
            "unsupported certificate", "access denied":
            return "it refused the client certificate of --cert"
        default: return nil
        }
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
