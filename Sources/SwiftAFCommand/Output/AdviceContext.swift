import SwiftAF

/// The facts on which the advice about a failed transfer depends, besides the error.
struct AdviceContext: Sendable {
    /// The version of `--tls-min`.
    var minimumTLS: TLSOptions.Version?
    var network = NetworkOptions()
    /// The paths of the client certificate and its key.
    var certificate, key: RawText?
    /// Whether the command shows the server's certificates, and takes no URL: `trust`.
    var showsCertificates = false
    /// Whether the error is that of a WebSocket after its handshake.
    var isSocket = false

    /// The context of an error that no option of a transfer explains, such as that of a file.
    static let none = AdviceContext()
}

extension Options {
    /// The context of the transfers of this command line.
    var adviceContext: AdviceContext {
        AdviceContext(
            minimumTLS: minimumTLS, network: network, certificate: certificate?.path, key: keyPath)
    }
}
