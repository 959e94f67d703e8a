import FoundationEssentials
import Glibc
import SwiftAF

extension Options {
    /// Returns the configuration of the session.
    ///
    /// - Parameter urls: The URLs of the command. The client certificate is sent to their hosts only, and not to one
    ///   that a redirect names.
    /// - Throws: If a file can't be read. The session itself would report that only after its creation.
    func configuration(
        for urls: [String], _ environment: @autoclosure () -> [String: String]
    ) throws(Failure) -> SessionConfiguration {
        var configuration = SessionConfiguration()
        // Also for CONNECT. The library's default contains the system's version, for which a file would have to be
        // read.
        configuration.userAgent = Versions.userAgent
        // No limit of the ratio: a body in memory has a limit of its size, and one that is streamed needs none.
        configuration.limits.maximumDecodingRatio = .max
        configuration.proxies = proxies
        configuration.network = network
        try refuseMissingInterface()
        configuration.network.unixSocket = try unixSocket.map { path throws(Failure) in
            try InputFile.name(path, opening: .anything)
        }
        configuration.securityPolicy.allowsInvalidCertificates = allowsInvalidCertificates
        configuration.securityPolicy.validatesDomainName = validatesHostName
        if let path = anchorsPath {
            // The content is passed, not the path: a pipe can be read only once.
            let certificates = try Self.certificates(at: path, of: "--cacert")
            let anchors = TrustAnchors.pem(certificates)
            configuration.securityPolicy.anchors = anchors
            configuration.proxySecurityPolicy.anchors = anchors
        }
        configuration.securityPolicy.pinning.keys = pins
        for path in pinnedCertificatePaths {
            configuration.securityPolicy.pinning.certificates.insert(try Self.certificates(at: path, of: "--pin-cert"))
        }
        if !pins.isEmpty { configuration.securityPolicy.pinningMode = .publicKey }
        if !pinnedCertificatePaths.isEmpty { configuration.securityPolicy.pinningMode = .certificate }
        var certificates: [Data] = []
        if let certificate {
            let content = try Failure.naming("--cert") { () throws(Failure) in
                try InputFile.bytes(certificate.path, as: .certificates)
            }
            let key = try keyPath.map { path throws(Failure) in
                try Failure.naming("--key") { () throws(Failure) in try InputFile.bytes(path, as: .certificates) }
            }
            certificates = [content, key].compactMap { $0 }
            let password = try self.password(of: certificate.password, environment())
            configuration.tls.clientCertificates = Set(urls.compactMap { CoreURL.host(of: $0) }).sorted().map {
                ClientCertificate(content, key: key, password: password, host: $0)
            }
        }
        if let minimumTLS { configuration.tls.minimumVersion = minimumTLS }
        if let ciphers { configuration.tls.ciphers = ciphers }
        if cache.isUsed {
            configuration.cache = try cache.open(environment())
            configuration.cachePartition = try CachePartition(self, certificates: certificates).name()
        }
        return configuration
    }

    /// Returns the content of a file of certificates, which must not be empty.
    private static func certificates(at path: RawText, of option: String) throws(Failure) -> Data {
        try Failure.naming(option) { () throws(Failure) in
            let content = try InputFile.bytes(path, as: .certificates)
            guard content.isEmpty else { return content }
            throw Failure(.input, .invalidInput, "\(path.shown.printable) has no certificates")
        }
    }

    /// The parts of `-E PATH` or `-E PATH:PASSWORD`. As in curl, `\:` and `\\` in the path stand for a colon and a
    /// backslash; but a file that has the whole value as its name comes first.
    var certificate: (path: RawText, password: RawText?)? {
        guard let value = certificatePath else { return nil }
        guard !InputFile.exists(value) else { return (value, nil) }
        let colon = UInt8(ascii: ":")
        let backslash = UInt8(ascii: "\\")
        var path: [UInt8] = []
        var rest = value.bytes[...]
        while let byte = rest.popFirst() {
            if byte == colon { return (RawText(path), rest.isEmpty ? nil : RawText(rest)) }
            let isEscape = byte == backslash && (rest.first == colon || rest.first == backslash)
            path.append(isEscape ? rest.removeFirst() : byte)
        }
        return (RawText(path), nil)
    }

    /// Returns the password of the client certificate's key, which is given with the certificate or by an option.
    private func password(of certificate: RawText?, _ environment: [String: String]) throws(Failure) -> String? {
        guard let certificate else { return try keyPassword?.value(of: "--key-password", environment: environment) }
        let secret: Secret
        do throws(UsageError) {
            guard keyPassword == nil else {
                throw UsageError("-E PATH:PASSWORD can't be used with --key-password")
            }
            secret = try Secret(try certificate.text(of: "the password of -E"))
        } catch {
            throw Failure(error)
        }
        return try secret.value(of: "-E", environment: environment)
    }

    /// Refuses pins for what is sent without TLS, unless HSTS makes it https: they would protect nothing.
    func refusePins(for urls: [String], hsts: HSTSStore?) throws(Failure) {
        guard !pins.isEmpty || !pinnedCertificatePaths.isEmpty else { return }
        for url in urls where URLText(url).scheme?.lowercased() == "http" {
            guard let host = CoreURL.host(of: url), hsts?.contains(host) != true else { continue }
            throw Failure(
                UsageError(
                    "--pin and --pin-cert need https: http://\(host.printable) is sent without TLS, so nothing could be pinned"
                ))
        }
    }

    /// Refuses a name that no interface has: libcurl looks for it only when it connects.
    private func refuseMissingInterface() throws(Failure) {
        guard let interface = network.interface, !interface.hasPrefix("host!") else { return }
        let isNamed = interface.hasPrefix("if!")
        let name = isNamed ? String(interface.dropFirst(3)) : interface
        guard if_nametoindex(name) == 0, isNamed || !IPAddress.isAddress(name) else { return }
        throw Failure(
            .input, .invalidInput,
            "--interface: '\(name.printable)' is neither an interface of this machine nor an address")
    }
}

extension NetworkOptions.HostOverride {
    /// Parses the value of `--resolve`: HOST:PORT:ADDR[,ADDR…], with IPv6 addresses in brackets or without.
    init(argument: String) throws(UsageError) {
        // Split as bytes: a delimiter with a combining mark behind it would be another `Character`.
        let parts = argument.utf8.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, !parts[0].isEmpty, !parts[2].isEmpty,
            let port = Argument.number(Substring(parts[1])).flatMap(UInt16.init(exactly:))
        else {
            throw .invalid(argument, of: "--resolve", expected: "HOST:PORT:ADDRESS")
        }
        let addresses = parts[2].split(separator: UInt8(ascii: ",")).map { address in
            let isBracketed = address.first == UInt8(ascii: "[") && address.last == UInt8(ascii: "]")
            return String(Substring(isBracketed ? address.dropFirst().dropLast() : address))
        }
        let host = String(Substring(parts[0]))
        // `*` stands for every name, and the library refuses an invalid host.
        let name = host.utf8.contains { $0 >= 0x80 } ? CoreURL.host(of: "https://\(host)/") : nil
        self.init(host: name ?? host, port: port, addresses: addresses)
    }
}
