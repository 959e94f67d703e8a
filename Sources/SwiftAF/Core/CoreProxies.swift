internal import CAFCore

/// The proxies of a session in the core's form, as long as this object lives.
final class CoreProxies {
    let raw: af_proxies
    private let texts: [CoreText]

    /// - Throws: ``SessionError/Code/invalidInput`` for a text that contains NUL; the core judges the rest.
    init(_ configuration: ProxyConfiguration) throws(SessionError) {
        let values = [configuration.http, configuration.https, configuration.all, configuration.bypass]
        guard !values.contains(where: { $0?.utf8.contains(0) ?? false }) else {
            throw SessionError(.invalidInput, message: "a proxy or the list of hosts without one contains NUL")
        }
        let texts = values.map { $0.map(CoreText.init) }
        self.texts = texts.compactMap { $0 }
        var raw = af_proxies()
        raw.source =
            switch configuration.source {
            case .environment: .AF_PROXIES_ENVIRONMENT
            case .given: .AF_PROXIES_GIVEN
            case .none: .AF_PROXIES_NONE
            }
        raw.http = texts[0]?.start
        raw.https = texts[1]?.start
        raw.all = texts[2]?.start
        raw.bypass = texts[3]?.start
        self.raw = raw
    }
}

extension HTTPRequest.Proxy {
    /// The core's text for it.
    var coreText: String {
        switch self {
        case .none: ""
        case .url(let text): text.isEmpty ? "http://" : text
        }
    }
}
