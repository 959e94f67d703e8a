import FoundationEssentials
import SwiftAF

/// A proxy that the program speaks TLS with, for the messages about connections that fail.
struct SecureProxy: Hashable, Sendable {
    /// Its URL with `http` in place of `https`, without a password.
    let plainURL: String
}

extension Options {
    /// Returns the proxy for a URL: that of `--proxy`, or of the environment; nil without one, or if its URL isn't https.
    func secureProxy(for url: String) -> SecureProxy? {
        let scheme = URLText(url).scheme?.lowercased() ?? ""
        guard let proxy = proxies.all ?? Self.proxyOfEnvironment(for: url, scheme),
            proxy.lowercased().hasPrefix("https://")
        else { return nil }
        let address = URLText(proxy).withoutUserInfo.dropFirst("https".count)
        return SecureProxy(plainURL: "http\(address)")
    }

    /// As the core chooses it (message/proxy.c), but for the hosts of no_proxy: the message is only advice.
    private static func proxyOfEnvironment(for url: String, _ scheme: String) -> String? {
        guard let host = CoreURL.host(of: url), host != "localhost", !IPAddress.isLoopback(host) else { return nil }
        let environment = ProcessInfo.processInfo.environment
        let names = scheme == "http" ? ["http_proxy"] : ["https_proxy", "HTTPS_PROXY"]
        return (names + ["all_proxy", "ALL_PROXY"]).compactMap { environment[$0] }.first { !$0.isEmpty }
    }
}
