import SwiftAF

/// The message of a failed transfer: a plain sentence, followed by the option that helps.
enum Advice {
    static func message(for error: SessionError) -> String {
        if error.code == .cancelled { return "cancelled" }
        var message = error.message == refusal ? "more than 0 redirects" : error.message
        if let sentence = sentence(for: error), !message.hasPrefix("the "), !message.hasPrefix("cannot ") {
            message = "\(sentence): \(message)"
        }
        return option(for: error).map { "\(message); \($0)" } ?? message
    }

    /// The text of the core when no redirect is allowed.
    private static let refusal = "on_redirect refused the redirect"

    /// What happened, put before texts of libcurl, OpenSSL and nghttp2.
    private static func sentence(for error: SessionError) -> String? {
        switch error.code {
        case .connect: "can't connect"
        case .connectionLost: "the connection was lost"
        case .truncated: "the response is incomplete"
        case .protocol: "the server's response isn't valid HTTP"
        case .tls: "the TLS connection failed"
        case .untrusted: "the server isn't trusted"
        default: nil
        }
    }

    private static func option(for error: SessionError) -> String? {
        switch error.code {
        case .timeout:
            switch error.reason {
            case .connect?: return "--connect-timeout S allows more"
            case .idle?: return "--idle-timeout S allows more"
            case .total?: return "--timeout S allows more"
            default: return nil
            }
        case .tooLarge:
            if error.message.hasPrefix("the response body exceeds") { return "--max-body BYTES allows more" }
            return error.message.contains("heads exceed") ? "--max-headers BYTES allows more" : nil
        case .redirect:
            let isCount = error.message.hasPrefix("more than ") && error.message.hasSuffix(" redirects")
            return isCount || error.message == refusal ? "--max-redirects N allows more" : nil
        case .untrusted:
            switch error.reason {
            case .wrongHost?: return "swiftaf trust HOST shows its certificate"
            case .selfSigned?, .unknownIssuer?, .untrustedRoot?:
                return "--cacert PATH trusts an authority, swiftaf trust HOST shows the certificates"
            case .pin?: return "swiftaf trust HOST shows the pins"
            default: return nil
            }
        default: return nil
        }
    }
}
