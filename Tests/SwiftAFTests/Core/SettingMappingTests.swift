import CAFCore
import FoundationEssentials
import Testing

@testable import SwiftAF

/// Each setting reaches the core: set alone, it changes exactly the fields of the core's struct that are listed here. The
/// lists name every property, so a new one needs a line.
@Suite struct SettingMappingTests {
    /// A property, a change of it, and the fields of the core that then differ from the default, with their values.
    private struct Row<Settings> {
        let name: String
        let fields: [String: String]
        let change: (inout Settings) -> Void

        init(_ name: String, _ fields: [String: String] = [:], _ change: @escaping (inout Settings) -> Void = { _ in })
        {
            self.name = name
            self.fields = fields
            self.change = change
        }
    }

    /// The fields of a C struct with their values, nested ones as `outer.inner`. Of a pointer to anything but a text,
    /// only whether there is one.
    private static func fields(_ value: Any, _ path: String = "", into all: inout [String: String]) {
        let mirror = Mirror(reflecting: value)
        if let slice = value as? afc_slice {
            all[path] = slice.text
        } else if mirror.displayStyle == .optional {
            guard let (_, content) = mirror.children.first else {
                all[path] = "nil"
                return
            }
            fields(content, path, into: &all)
        } else if let text = value as? UnsafePointer<CChar> {
            all[path] = String(cString: text)
        } else if mirror.children.count == 1, let (name, raw) = mirror.children.first, name == "rawValue" {
            all[path] = "\(raw)"
        } else if let number = number(of: value) {
            all[path] = "\(number)"
        } else if value is Bool || value is any BinaryInteger {
            all[path] = "\(value)"
        } else if mirror.displayStyle == .tuple
            || mirror.displayStyle == .struct && !"\(type(of: value))".contains("Pointer")
        {
            for (name, child) in mirror.children {
                fields(child, path.isEmpty ? name ?? "" : "\(path).\(name ?? "")", into: &all)
            }
        } else {
            if mirror.displayStyle == .enum { Issue.record("\(path): an enum that number(of:) doesn't know") }
            all[path] = "set"
        }
    }

    /// The number of an open C enum, which the mirror doesn't have; nil for anything else.
    private static func number(of value: Any) -> UInt32? {
        switch value {
        case let value as afc_cookie_policy: value.rawValue
        case let value as afc_ip_version: value.rawValue
        case let value as afc_proxy_source: value.rawValue
        default: nil
        }
    }

    /// Checks every row. `make` passes the core's struct for settings to a function.
    private func check<Settings, Core>(
        _ rows: [Row<Settings>], default settings: Settings, ignoring ignored: Set<String> = [],
        sourceLocation: SourceLocation = #_sourceLocation,
        _ make: (Settings, (Core) -> Void) throws -> Void
    ) rethrows {
        func fields(_ settings: Settings) throws -> [String: String] {
            var all: [String: String] = [:]
            try make(settings) { Self.fields($0, into: &all) }
            for name in ignored { all[name] = nil }
            return all
        }
        let defaults = try fields(settings)
        for row in rows {
            var changed = settings
            row.change(&changed)
            let difference = try fields(changed).filter { defaults[$0.key] != $0.value }
            #expect(difference == row.fields, "\(row.name)", sourceLocation: sourceLocation)
        }
    }

    /// The names of the stored properties, those of the structs named in `nested` as `outer.inner`.
    private func properties(of settings: Any, nested: Set<String> = []) -> Set<String> {
        var names: Set<String> = []
        for (name, value) in Mirror(reflecting: settings).children {
            guard let name else { continue }
            if nested.contains(name) {
                names.formUnion(properties(of: value).map { "\(name).\($0)" })
            } else {
                names.insert(name)
            }
        }
        return names
    }

    // MARK: Trust

    private let pinRows: [Row<SecurityPolicy.Pinning>] = [
        Row("chosenMode", ["mode": "2"]) { $0.mode = .certificate },
        Row("certificates", ["mode": "1", "certificates": "-----BEGIN C\n"]) {
            $0.certificates = [Data("-----BEGIN C".utf8)]
        },
        Row("keys", ["mode": "1", "pins": "set", "pin_count": "2"]) { $0.keys = ["a", "b"] },
        Row("match", ["match": "1"]) { $0.match = .leaf },
        Row("match", ["match": "2"]) { $0.match = .all },
        Row("expires", ["expires_s": "9"]) { $0.expires = Date(timeIntervalSince1970: 9) },
        Row("onlyReports", ["report_only": "true"]) { $0.onlyReports = true },
    ]

    /// Passes the core's options of a policy, and releases what they retain.
    private func withOptions(_ policy: SecurityPolicy, _ use: (afc_trust_options) -> Void) throws {
        let arena = CoreArena()
        let options = try arena.options(policy)
        use(options)
        if let release = options.handler.release { release(options.handler.context) }
        withExtendedLifetime(arena) {}
    }

    @Test func eachSettingOfASecurityPolicyReachesTheCore() throws {
        let rows: [Row<SecurityPolicy>] = [
            Row("anchors", ["anchors": "A"]) { $0.anchors = .pem(Data("A".utf8)) },
            Row("keepsSystemAnchors", ["keep_system_anchors": "true"]) { $0.keepsSystemAnchors = true },
            Row("intermediates", ["intermediates": "-----BEGIN I\n"]) {
                $0.intermediates = [Data("-----BEGIN I".utf8)]
            },
            Row("revocationLists", ["crls": "-----BEGIN R\n-----BEGIN S\n"]) {
                $0.revocationLists = [Data("-----BEGIN R".utf8), Data("-----BEGIN S".utf8)]
            },
            Row("checksRevocationOfAuthorities", ["check_authorities": "true"]) {
                $0.checksRevocationOfAuthorities = true
            },
            Row("ocsp", ["ocsp": "1"]) { $0.ocsp = .checked },
            Row("ocsp", ["ocsp": "2"]) { $0.ocsp = .required },
            Row("securityLevel", ["security_level": "3"]) { $0.securityLevel = 3 },
            Row("verificationDate", ["time_s": "7"]) { $0.verificationDate = Date(timeIntervalSince1970: 7) },
            Row("pinning", ["everywhere.mode": "1", "everywhere.pins": "set", "everywhere.pin_count": "1"]) {
                $0.pinning.keys = ["a"]
            },
            Row("allowsInvalidCertificates", ["everywhere.allow_invalid_certificates": "true"]) {
                $0.allowsInvalidCertificates = true
            },
            Row("validatesDomainName", ["everywhere.skip_host_check": "true"]) { $0.validatesDomainName = false },
            Row("rules", ["rules": "set", "rule_count": "2"]) {
                $0.rules = [SecurityPolicy.HostRule("a"), SecurityPolicy.HostRule("b")]
            },
            Row("handler", ["handler.context": "set", "handler.decide": "set", "handler.release": "set"]) {
                $0.handler = TrustHandler { _ in .keep }
            },
        ]
        #expect(Set(rows.map(\.name)) == properties(of: SecurityPolicy()))
        try check(rows, default: SecurityPolicy(), withOptions)
    }

    @Test func eachSettingOfPinsReachesTheCore() throws {
        #expect(Set(pinRows.map(\.name)) == properties(of: SecurityPolicy.Pinning()))
        try check(pinRows, default: SecurityPolicy.Pinning()) { pinning, use in
            var policy = SecurityPolicy()
            policy.pinning = pinning
            try withOptions(policy) { use($0.everywhere) }
        }
    }

    @Test func eachSettingOfARuleReachesTheCore() throws {
        let rows: [Row<SecurityPolicy.HostRule>] = [
            Row("host", ["host": "g"]) { $0.host = "g" },
            Row("includesSubdomains", ["include_subdomains": "true"]) { $0.includesSubdomains = true },
            Row("pinning", ["mode": "1", "pins": "set", "pin_count": "1"]) { $0.pinning.keys = ["a"] },
            Row("allowsInvalidCertificates", ["allow_invalid_certificates": "true"]) {
                $0.allowsInvalidCertificates = true
            },
            Row("validatesDomainName", ["skip_host_check": "true"]) { $0.validatesDomainName = false },
        ]
        #expect(Set(rows.map(\.name)) == properties(of: SecurityPolicy.HostRule("h")))
        try check(rows, default: SecurityPolicy.HostRule("h")) { rule, use in
            var policy = SecurityPolicy()
            policy.rules = [rule]
            try withOptions(policy) { options in
                if let rule = options.rules { use(rule.pointee) }
            }
        }
    }

    @Test func eachSettingOfTLSReachesTheCore() throws {
        let rows: [Row<TLSOptions>] = [
            Row("minimumVersion", ["min_version": "\(0x0304)"]) { $0.minimumVersion = .v1_3 },
            Row("maximumVersion", ["max_version": "\(0x0303)"]) { $0.maximumVersion = .v1_2 },
            Row("ciphers", ["ciphers": "AES128-SHA"]) { $0.ciphers = "AES128-SHA" },
            Row("cipherSuites", ["cipher_suites": "TLS_AES_128_GCM_SHA256"]) {
                $0.cipherSuites = "TLS_AES_128_GCM_SHA256"
            },
            Row("clientCertificates", ["client_certificates": "set", "client_certificate_count": "1"]) {
                $0.clientCertificates = [ClientCertificate(path: "c")]
            },
            Row(
                "clientCertificateHandler",
                ["certificate_handler.context": "set", "certificate_handler.choose": "set"]
            ) { $0.clientCertificateHandler = ClientCertificateHandler { _ in .decline } },
            Row("writesKeyLog", ["write_key_log": "true"]) { $0.writesKeyLog = true },
        ]
        #expect(Set(rows.map(\.name)) == properties(of: TLSOptions()))
        try check(rows, default: TLSOptions()) { tls, use in
            let arena = CoreArena()
            use(try arena.options(tls))
            withExtendedLifetime((arena, tls)) {}
        }
    }

    @Test(arguments: [
        (
            ClientCertificate(Data("C".utf8), key: Data("K".utf8), password: "p", host: "h"),
            ["certificate": "C", "key": "K", "password": "p", "host": "h"]
        ),
        (
            ClientCertificate(path: "c", keyPath: "k", password: "p", host: "h"),
            ["certificate_path": "c", "key_path": "k", "password": "p", "host": "h"]
        ),
    ])
    func eachSettingOfAClientCertificateReachesTheCore(certificate: ClientCertificate, fields: [String: String]) throws
    {
        let rows: [Row<ClientCertificate?>] = [
            Row("with all", fields) { $0 = certificate },
            Row("for subdomains", ["include_subdomains": "true"].merging(fields) { $1 }) {
                $0 = certificate
                $0?.includesSubdomains = true
            },
        ]
        try check(rows, default: nil) { certificate, use in
            var tls = TLSOptions()
            tls.clientCertificates = certificate.map { [$0] } ?? []
            let arena = CoreArena()
            use(try arena.options(tls).client_certificates?.pointee ?? afc_client_certificate())
            withExtendedLifetime(arena) {}
        }
    }

    // MARK: Sessions

    @Test func eachSettingOfASessionReachesTheCore() throws {
        let (cookies, hsts, cache) = (try CookieStorage(), try HSTSStore(), try HTTPCache())
        let ofSession: [Row<SessionConfiguration>] = [
            Row("maximumConnectionsPerHost", ["max_connections_per_host": "3"]) { $0.maximumConnectionsPerHost = 3 },
            Row("maximumConnectionsPerHost", ["max_connections_per_host": "0"]) { $0.maximumConnectionsPerHost = nil },
            Row("maximumConnections", ["max_connections": "4"]) { $0.maximumConnections = 4 },
            Row("maximumIdleConnections", ["max_idle_connections": "5"]) { $0.maximumIdleConnections = 5 },
            Row("idleConnectionLifetime", ["max_idle_s": "2"]) { $0.idleConnectionLifetime = .milliseconds(1001) },
            Row("maximumConnectionAge", ["max_connection_age_s": "7"]) { $0.maximumConnectionAge = .seconds(7) },
            Row("maximumRequestsPerConnection", ["max_requests_per_connection": "8"]) {
                $0.maximumRequestsPerConnection = 8
            },
            Row("userAgent", ["user_agent": "me/1"]) { $0.userAgent = "me/1" },
            Row("proxies", ["proxies.source": "\(afc_proxy_source.AFC_PROXIES_NONE.rawValue)"]) {
                $0.proxies = .direct
            },
            Row("network", ["network.interface": "eth0"]) { $0.network.interface = "eth0" },
            Row("cookieStorage", ["cookies": "set"]) { $0.cookieStorage = cookies },
            Row("cookieAcceptPolicy", ["cookie_policy": "\(afc_cookie_policy.AFC_COOKIES_NEVER.rawValue)"]) {
                $0.cookieAcceptPolicy = .never
            },
            Row("hsts", ["hsts": "set"]) { $0.hsts = hsts },
            Row("cache", ["http_cache": "set"]) { $0.cache = cache },
            Row("cachePartition", ["cache_partition": "p"]) { $0.cachePartition = "p" },
            Row("tls", ["tls.write_key_log": "true"]) { $0.tls.writesKeyLog = true },
        ]
        let ofRequests: [Row<SessionConfiguration>] = [
            Row("timeouts.connect", ["timeouts.connect_ms": "1"]) { $0.timeouts.connect = .milliseconds(1) },
            Row("timeouts.idle", ["timeouts.idle_ms": "2"]) { $0.timeouts.idle = .milliseconds(2) },
            Row("timeouts.total", ["timeouts.total_ms": "3"]) { $0.timeouts.total = .milliseconds(3) },
            Row("limits.maximumBodySize", ["memory_limit": "4"]) { $0.limits.maximumBodySize = 4 },
            Row("limits.maximumHeaderBytes", ["limits.head_bytes": "5"]) { $0.limits.maximumHeaderBytes = 5 },
            Row("limits.maximumHeaderCount", ["limits.head_count": "6"]) { $0.limits.maximumHeaderCount = 6 },
            Row("limits.maximumInformationalResponses", ["limits.informational": "7"]) {
                $0.limits.maximumInformationalResponses = 7
            },
            Row("limits.maximumDecodingRatio", ["limits.decoding_ratio": "8"]) { $0.limits.maximumDecodingRatio = 8 },
            Row("rateLimit.sendBytesPerSecond", ["max_send_bytes_per_s": "9"]) { $0.rateLimit.sendBytesPerSecond = 9 },
            Row("rateLimit.receiveBytesPerSecond", ["max_receive_bytes_per_s": "10"]) {
                $0.rateLimit.receiveBytesPerSecond = 10
            },
            Row("continueExpectation", ["expect": "1"]) { $0.continueExpectation = .always },
            Row("continueExpectation", ["expect": "2"]) { $0.continueExpectation = .never },
            Row("waitsForConnectivity", ["wait_for_network": "true"]) { $0.waitsForConnectivity = true },
            Row("redirectPolicy.maximumCount", ["limits.redirects": "2"]) { $0.redirectPolicy.maximumCount = 2 },
            Row("redirectPolicy.followsRedirects", ["limits.redirects": "-1"]) {
                $0.redirectPolicy.followsRedirects = false
            },
            Row("redirectPolicy.allowsInsecureDowngrade", ["allow_downgrade": "true"]) {
                $0.redirectPolicy.allowsInsecureDowngrade = true
            },
            Row("httpVersion", ["version": "1"]) { $0.httpVersion = .http1_1 },
            Row("decompressesBodies", ["keep_encoding": "true"]) { $0.decompressesBodies = false },
            Row("collapsesRequests", ["flags": "\(AFC_REQUEST_COLLAPSE)"]) { $0.collapsesRequests = true },
        ]
        // The policies have tests above. The others become fields of a request's head, or are stored for challenges.
        let elsewhere = ["securityPolicy", "proxySecurityPolicy", "headers", "credential", "proxyCredential"]
        #expect(
            Set((ofSession + ofRequests).map(\.name) + elsewhere)
                == properties(
                    of: SessionConfiguration(), nested: ["timeouts", "limits", "rateLimit", "redirectPolicy"]))
        try check(ofSession, default: SessionConfiguration()) { configuration, use in
            let arena = CoreArena()
            use(try CoreSession.options(configuration, arena))
            withExtendedLifetime((arena, configuration)) {}
        }
        try check(ofRequests, default: SessionConfiguration()) { configuration, use in
            request(HTTPRequest("http://h/"), in: try CoreSession(configuration)).withRequest(body: nil) {
                use($0.pointee)
            }
        }
    }

    @Test func eachSettingOfTheNetworkReachesTheCore() throws {
        let rows: [Row<NetworkOptions>] = [
            Row("hostOverrides", ["overrides": "set", "override_count": "1"]) {
                $0.hostOverrides = [NetworkOptions.HostOverride(host: "h", port: 1, addresses: ["::1"])]
            },
            Row("dnsServers", ["dns_servers": "::1,::2"]) { $0.dnsServers = ["::1", "::2"] },
            Row("dnsOverHTTPS", ["doh_url": "https://d/"]) { $0.dnsOverHTTPS = "https://d/" },
            Row("ipVersion", ["ip_version": "\(afc_ip_version.AFC_IP_V4.rawValue)"]) { $0.ipVersion = .v4 },
            Row("ipVersion", ["ip_version": "\(afc_ip_version.AFC_IP_V6.rawValue)"]) { $0.ipVersion = .v6 },
            Row("happyEyeballsDelay", ["happy_eyeballs_ms": "3"]) { $0.happyEyeballsDelay = .milliseconds(3) },
            Row("happyEyeballsDelay", ["happy_eyeballs_ms": "1"]) { $0.happyEyeballsDelay = .zero },
            Row("interface", ["interface": "eth0"]) { $0.interface = "eth0" },
            Row("unixSocket", ["unix_socket": "/s"]) { $0.unixSocket = "/s" },
            Row("allowsOnlyPublicAddresses", ["require_public_addresses": "true"]) {
                $0.allowsOnlyPublicAddresses = true
            },
        ]
        #expect(Set(rows.map(\.name)) == properties(of: NetworkOptions()))
        try check(rows, default: NetworkOptions()) { network, use in
            let arena = CoreArena()
            use(try arena.options(network))
            withExtendedLifetime(arena) {}
        }
    }

    // MARK: Requests

    private func request(_ request: HTTPRequest, in session: CoreSession) -> CoreRequest {
        CoreRequest(request, session: session, sink: .memory, handlers: TransferHandlers())
    }

    @Test func eachSettingOfARequestReachesTheCore() throws {
        let rows: [Row<HTTPRequest>] = [
            Row("timeouts.connect", ["timeouts.connect_ms": "1"]) { $0.timeouts.connect = .milliseconds(1) },
            Row("timeouts.idle", ["timeouts.idle_ms": "2"]) { $0.timeouts.idle = .milliseconds(2) },
            Row("timeouts.total", ["timeouts.total_ms": "3"]) { $0.timeouts.total = .milliseconds(3) },
            Row("limits.maximumBodySize", ["limits.body_bytes": "4"]) { $0.limits.maximumBodySize = 4 },
            Row("limits.maximumHeaderBytes", ["limits.head_bytes": "5"]) { $0.limits.maximumHeaderBytes = 5 },
            Row("limits.maximumHeaderCount", ["limits.head_count": "6"]) { $0.limits.maximumHeaderCount = 6 },
            Row("redirectPolicy", ["limits.redirects": "-1"]) { $0.redirectPolicy = .doNotFollow },
            Row("httpVersion", ["version": "3"]) { $0.httpVersion = .http2PriorKnowledge },
            Row("decompressesBody", ["keep_encoding": "true"]) { $0.decompressesBody = false },
            Row("collapsesRequests", ["flags": "\(AFC_REQUEST_COLLAPSE)"]) { $0.collapsesRequests = true },
            Row("priority", ["priority": "255"]) { $0.priority = 1 },
            Row("rateLimit.sendBytesPerSecond", ["max_send_bytes_per_s": "9"]) { $0.rateLimit.sendBytesPerSecond = 9 },
            Row("rateLimit.receiveBytesPerSecond", ["max_receive_bytes_per_s": "10"]) {
                $0.rateLimit.receiveBytesPerSecond = 10
            },
            Row("continueExpectation", ["expect": "2"]) { $0.continueExpectation = .never },
            Row("waitsForConnectivity", ["wait_for_network": "true"]) { $0.waitsForConnectivity = true },
            Row("proxy", ["proxy": "http://p"]) { $0.proxy = .url("http://p") },
            Row("proxy", ["proxy": ""]) { $0.proxy = .direct },
            Row("unixSocket", ["unix_socket": "/s"]) { $0.unixSocket = "/s" },
            Row("mergesCookies", ["flags": "\(AFC_REQUEST_MERGE_COOKIES)"]) { $0.mergesCookies = true },
            Row("mainDocumentURL", ["main_document_url": "http://m/"]) { $0.mainDocumentURL = "http://m/" },
            Row("credential", ["credentials": "set"]) { $0.credential = Credential(user: "u", password: "p") },
            Row("proxyCredential", ["proxy_credentials": "set"]) {
                $0.proxyCredential = Credential(user: "u", password: "p")
            },
            Row("hints.cachePolicy", ["cache_policy": "\(AFC_HTTP_CACHE_ONLY.rawValue)"]) {
                $0.cachePolicy = .returnCacheDataDontLoad
            },
            Row("hints.handlesCookies", ["ignore_cookies": "true"]) { $0.handlesCookies = false },
            // These have no effect on Linux.
            Row("hints.usesPipelining") { $0.hints.usesPipelining = true },
            Row("hints.networkServiceType") { $0.hints.networkServiceType = .video },
            Row("hints.allowsCellularAccess") { $0.hints.allowsCellularAccess = false },
        ]
        // What Swift does itself.
        let elsewhere = ["responseHandler", "interceptors", "allowsRetries", "informationalHandler", "reportsTrust"]
        #expect(
            Set(rows.map(\.name) + elsewhere)
                == properties(of: HTTPRequest.Settings.Values(), nested: ["timeouts", "limits", "rateLimit", "hints"]))
        let session = try CoreSession(SessionConfiguration())
        check(rows, default: HTTPRequest("http://h/")) { settings, use in
            request(settings, in: session).withRequest(body: nil) { use($0.pointee) }
        }
    }

    // MARK: WebSockets

    @Test func eachOptionOfAWebSocketReachesTheCore() throws {
        let rows: [Row<WebSocket.Options>] = [
            Row("maximumMessageSize", ["limits.message_bytes": "1"]) { $0.maximumMessageSize = 1 },
            Row("maximumFragments", ["limits.fragments": "2"]) { $0.maximumFragments = 2 },
            Row("sendQueueSize", ["limits.queue_bytes": "3"]) { $0.sendQueueSize = 3 },
            Row("openTimeout", ["open_timeout_ms": "4"]) { $0.openTimeout = .milliseconds(4) },
            Row("openTimeout", ["open_timeout_ms": "0"]) { $0.openTimeout = nil },
            Row("closeTimeout", ["close_timeout_ms": "5"]) { $0.closeTimeout = .milliseconds(5) },
            Row("pingInterval", ["ping_interval_ms": "6"]) { $0.pingInterval = .milliseconds(6) },
            Row("pongTimeout", ["pong_timeout_ms": "7"]) { $0.pongTimeout = .milliseconds(7) },
            Row("compressionThreshold", ["compression_threshold": "8"]) { $0.compressionThreshold = 8 },
        ]
        // The buffer is Swift's, and the codec is added where the socket is opened.
        let elsewhere = ["receiveBufferSize", "compression"]
        #expect(Set(rows.map(\.name) + elsewhere) == properties(of: WebSocket.Options()))
        let handshake = request(HTTPRequest("http://h/"), in: try CoreSession(SessionConfiguration()))
        try check(rows, default: WebSocket.Options()) { options, use in
            let arena = CoreArena()
            use(try CoreWebSocket(handshake, [], options).coreOptions(arena))
            withExtendedLifetime(arena) {}
        }
        let arena = CoreArena()
        let core = try CoreWebSocket(handshake, ["a", "b"], WebSocket.Options()).coreOptions(arena)
        let names = (0..<core.protocol_count).map { String(cString: core.protocols[$0]!) }
        #expect(names == ["a", "b"])
        withExtendedLifetime(arena) {}
    }
}
