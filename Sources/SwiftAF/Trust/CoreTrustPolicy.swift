internal import CAFCore
import FoundationEssentials

/// Owns a reference to an immutable trust policy of the core.
final class CoreTrustPolicy: @unchecked Sendable {
    let raw: OpaquePointer

    /// - Throws: ``SessionError/Code/invalidInput`` for invalid certificates, revocation lists, pins or hosts,
    ///   ``SessionError/Code/file`` for an unreadable file of anchors.
    init(_ policy: SecurityPolicy) throws(SessionError) {
        var raw: OpaquePointer?
        try CoreArena.call { (arena, failure) throws(SessionError) in
            var options = try arena.options(policy)
            return afc_trust_policy_new(&raw, &options, &failure)
        }
        guard let raw else { throw SessionError(.outOfMemory) }
        self.raw = raw
    }

    deinit {
        afc_trust_policy_release(raw)
    }
}

extension SecurityPolicy {
    /// The implementation of ``evaluate(_:host:)``.
    func coreReport(on chain: [Data], host: String?) throws(SessionError) -> TrustReport {
        let policy = try CoreTrustPolicy(self)
        let arena = CoreArena()
        let name = try arena.copy(host, "the host")
        let slices = chain.map { arena.copy($0) }
        var failure = afc_failure()
        var report: UnsafeMutablePointer<afc_trust_report>?
        let status = withExtendedLifetime((policy, arena)) {
            afc_trust_evaluate(&report, policy.raw, slices, slices.count, name, &failure)
        }
        defer { afc_trust_report_free(report) }
        if status == .AFC_OK, let report { return TrustReport(report.pointee) }
        var error = SessionError(failure)
        error.trust = report.map { TrustReport($0.pointee) }
        throw error
    }

    /// Implements ``certificates(inFolder:)``. Returns all certificates as one PEM text.
    static func pemOfCertificates(at path: String) throws(SessionError) -> String {
        String(decoding: try Data(certificatesAt: path), as: UTF8.self)
    }
}

extension CoreArena {
    /// Returns the core's options, which are valid as long as the arena. They hold a reference to the handler, which
    /// the core's policy releases.
    func options(_ policy: SecurityPolicy) throws(SessionError) -> afc_trust_options {
        var options = afc_trust_options()
        options.size = MemoryLayout<afc_trust_options>.stride
        options.anchors = try policy.anchors.bytes().map { copy($0) } ?? afc_slice()
        options.keep_system_anchors = policy.keepsSystemAnchors
        options.intermediates = copy(
            try Data(joining: policy.intermediates, as: "CERTIFICATE", "the intermediates"))
        if !policy.revocationLists.isEmpty {
            // Not set if there are none: for the core, bytes of size 0 are an empty file, which it refuses.
            options.crls = copy(try Data(joining: policy.revocationLists, as: "X509 CRL", "the revocation lists"))
        }
        options.check_authorities = policy.checksRevocationOfAuthorities
        options.ocsp =
            switch policy.ocsp {
            case .ignored: AFC_OCSP_IGNORE
            case .checked: AFC_OCSP_CHECK
            case .required: AFC_OCSP_REQUIRE
            }
        if let level = policy.securityLevel {
            guard 1...5 ~= level else {
                throw SessionError(.invalidInput, message: "invalid security level \(level): expected 1 to 5")
            }
            options.security_level = Int32(level)
        }
        options.time_s = policy.verificationDate.map { max(1, Int64(unixTime: $0)) } ?? 0
        options.everywhere = try rule(
            policy.pinning, policy.allowsInvalidCertificates, policy.validatesDomainName)
        var rules: [afc_trust_rule] = []
        for rule in policy.rules {
            var core = try self.rule(rule.pinning, rule.allowsInvalidCertificates, rule.validatesDomainName)
            core.host = try copy(rule.host, "the host of a rule")
            core.include_subdomains = rule.includesSubdomains
            rules.append(core)
        }
        options.rules = copy(rules)
        options.rule_count = rules.count
        if let handler = policy.handler { options.handler = handler.coreHandler }
        return options
    }

    private func rule(
        _ pinning: SecurityPolicy.Pinning, _ allowsInvalid: Bool, _ validatesName: Bool
    ) throws(SessionError) -> afc_trust_rule {
        var rule = afc_trust_rule()
        rule.mode =
            switch pinning.mode {
            case .none: AFC_PINNING_NONE
            case .publicKey: AFC_PINNING_PUBLIC_KEY
            case .certificate: AFC_PINNING_CERTIFICATE
            }
        rule.match =
            switch pinning.match {
            case .any: AFC_PIN_MATCH_ANY
            case .leaf: AFC_PIN_MATCH_LEAF
            case .all: AFC_PIN_MATCH_ALL
            }
        // Sorted, because the order of a set differs in each process, and the core's fingerprint of the policy must be
        // the same in all of them.
        let certificates = pinning.certificates.sorted { $0.lexicographicallyPrecedes($1) }
        rule.certificates = copy(try Data(joining: certificates, as: "CERTIFICATE", "the pinned certificates"))
        var pins: [UnsafePointer<CChar>?] = []
        for key in pinning.keys.sorted() { pins.append(try copy(key, "a pin")) }
        rule.pins = copy(pins)
        rule.pin_count = pins.count
        rule.expires_s = pinning.expires.map { max(1, Int64(unixTime: $0)) } ?? 0
        rule.report_only = pinning.onlyReports
        rule.allow_invalid_certificates = allowsInvalid
        rule.skip_host_check = !validatesName
        return rule
    }
}

extension TrustHandler {
    /// The handler as a core value, with a reference to it that the core's policy releases.
    fileprivate var coreHandler: afc_trust_handler {
        afc_trust_handler(
            context: Unmanaged.passRetained(self).toOpaque(),
            decide: { context, report in
                guard let context, let report else { return AFC_TRUST_DECISION_KEEP }
                let handler = Unmanaged<TrustHandler>.fromOpaque(context).takeUnretainedValue()
                switch handler.decide(TrustReport(report.pointee)) {
                case .keep: return AFC_TRUST_DECISION_KEEP
                case .accept: return AFC_TRUST_DECISION_ACCEPT
                case .refuse: return AFC_TRUST_DECISION_REFUSE
                }
            },
            release: { context in
                if let context { Unmanaged<TrustHandler>.fromOpaque(context).release() }
            })
    }
}

extension TrustAnchors {
    /// Returns the certificates; nil for the system's.
    fileprivate func bytes() throws(SessionError) -> Data? {
        switch self {
        case .system:
            return nil
        case .pem(let data):
            guard !data.isEmpty else {
                throw SessionError(.invalidInput, message: "there are no certificates to trust")
            }
            return data
        case .file(let path):
            let data = try Data(certificatesAt: path)
            guard !data.isEmpty else { throw SessionError(.file, message: "\(path) has no certificates") }
            return data
        }
    }
}

extension Data {
    /// Returns the certificates of a file, or of a folder's `.cer` files, as PEM.
    fileprivate init(certificatesAt path: String) throws(SessionError) {
        var bytes = afc_bytes()
        try CoreArena.call { (arena, failure) throws(SessionError) in
            afc_certificates_read(&bytes, try arena.copy(path, "a path"), &failure)
        }
        defer { afc_free(bytes.bytes) }
        self.init(UnsafeRawBufferPointer(start: bytes.bytes, count: bytes.size))
    }

    /// Converts pieces, each DER or PEM, to one PEM text. A piece that isn't PEM becomes a PEM block, because OpenSSL
    /// ignores text between blocks; the core refuses a block that isn't DER of exactly one item.
    fileprivate init(joining pieces: [Data], as label: String, _ name: String) throws(SessionError) {
        self.init()
        for piece in pieces {
            guard !piece.isEmpty else {
                throw SessionError(.invalidInput, message: "empty data among \(name): expected DER or PEM")
            }
            if piece.isPEM {
                append(piece)
                append(UInt8(ascii: "\n"))
            } else {
                let lines = piece.base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
                append(contentsOf: "-----BEGIN \(label)-----\n\(lines)\n-----END \(label)-----\n".utf8)
            }
        }
    }

    /// Whether the data is PEM. The same rule as the core's `afc__is_der()`: DER of a certificate or a revocation list
    /// begins with a SEQUENCE (0x30) whose length has several bytes.
    private var isPEM: Bool {
        let isDER = first == 0x30 && dropFirst().first.map { 0x80...0x84 ~= $0 } == true
        return !isDER && firstRange(of: Data("-----BEGIN ".utf8)) != nil
    }
}
