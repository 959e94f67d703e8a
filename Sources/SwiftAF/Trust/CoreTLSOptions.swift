internal import CAFCore
import FoundationEssentials

extension CoreArena {
    /// Returns the core's options, which are valid as long as the arena.
    func options(_ tls: TLSOptions) throws(SessionError) -> afc_tls_options {
        var options = afc_tls_options()
        options.min_version = tls.minimumVersion.core
        options.max_version = tls.maximumVersion?.core ?? AFC_TLS_DEFAULT
        options.ciphers = try copy(tls.ciphers, "the cipher list")
        options.cipher_suites = try copy(tls.cipherSuites, "the list of cipher suites")
        options.write_key_log = tls.writesKeyLog
        var certificates: [afc_client_certificate] = []
        for certificate in tls.clientCertificates { certificates.append(try core(certificate)) }
        options.client_certificates = copy(certificates)
        options.client_certificate_count = certificates.count
        if let handler = tls.clientCertificateHandler { options.certificate_handler = handler.coreHandler }
        return options
    }

    fileprivate func core(_ certificate: ClientCertificate) throws(SessionError) -> afc_client_certificate {
        var core = afc_client_certificate()
        core.host = try copy(certificate.host, "the host of a client certificate")
        core.include_subdomains = certificate.includesSubdomains
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

extension ClientCertificateHandler {
    /// The handler as a core value, without a reference to it: the session keeps the handler alive.
    fileprivate var coreHandler: afc_certificate_handler {
        afc_certificate_handler(
            context: Unmanaged.passUnretained(self).toOpaque(),
            choose: { context, request in
                guard let context, let request else { return .AFC_EINTERNAL }
                let handler = Unmanaged<ClientCertificateHandler>.fromOpaque(context).takeUnretainedValue()
                switch handler.decide(ClientCertificateRequest(request)) {
                case .performDefaultHandling:
                    return .AFC_OK
                case .show(let certificate):
                    // Passed to the core before the arena is freed.
                    let arena = CoreArena()
                    guard var core = try? arena.core(certificate) else { return .AFC_EINVAL }
                    return withExtendedLifetime(arena) { afc_certificate_request_show(request, &core, nil) }
                case .decline:
                    afc_certificate_request_decline(request)
                    return .AFC_OK
                case .cancel:
                    return .AFC_ECANCELED
                }
            })
    }
}

extension ClientCertificateRequest {
    fileprivate init(_ request: OpaquePointer) {
        let count = afc_certificate_request_get_authority_count(request)
        self.init(
            host: String(cString: afc_certificate_request_get_host(request)),
            authorities: (0..<count).compactMap { index in
                var text: UnsafeMutablePointer<CChar>?
                guard afc_certificate_request_copy_authority(&text, request, index) == .AFC_OK, let text else {
                    return nil
                }
                defer { afc_free(text) }
                return String(cString: text)
            })
    }
}

extension TLSOptions.Version {
    fileprivate var core: afc_tls_protocol {
        switch self {
        case .v1_2: AFC_TLS_1_2
        case .v1_3: AFC_TLS_1_3
        }
    }
}
