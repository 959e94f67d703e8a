internal import CAFCore
import FoundationEssentials

extension CoreArena {
    /// The core's options, which live as long as the arena.
    func options(_ tls: TLSOptions) throws(SessionError) -> af_tls_options {
        var options = af_tls_options()
        options.min_version = tls.minimumVersion.core
        options.max_version = tls.maximumVersion?.core ?? AF_TLS_DEFAULT
        options.ciphers = try copy(tls.ciphers, "the cipher list")
        options.cipher_suites = try copy(tls.cipherSuites, "the list of cipher suites")
        options.logs_keys = tls.logsKeys
        var certificates: [af_client_certificate] = []
        for certificate in tls.clientCertificates { certificates.append(try core(certificate)) }
        options.client_certificates = copy(certificates)
        options.client_certificate_count = certificates.count
        return options
    }

    private func core(_ certificate: ClientCertificate) throws(SessionError) -> af_client_certificate {
        var core = af_client_certificate()
        core.host = try copy(certificate.host, "the host of a client certificate")
        core.includes_subdomains = certificate.includesSubdomains
        core.password = try copy(certificate.password, "the password of a client certificate")
        switch certificate.source {
        case .data(let bytes, let key):
            core.certificate = copy(bytes)
            if let key { core.key = copy(key) }
        case .files(let path, let keyPath):
            core.certificate_path = try copy(path, "the path of a client certificate")
            core.key_path = try copy(keyPath, "the path of a key")
        }
        return core
    }
}

extension TLSOptions.Version {
    fileprivate var core: af_tls_protocol {
        switch self {
        case .v1_2: AF_TLS_1_2
        case .v1_3: AF_TLS_1_3
        }
    }
}
