/// Scheme, host and port: what credentials belong to (RFC 9110, section 4.3.1).
struct Origin: Hashable, Sendable {
    let scheme: String
    let host: String
    let port: Int

    /// - Returns: Nil if the text is no URL of http or https with a host.
    init?(_ url: String) {
        let parts = URLText(url)
        guard let scheme = parts.scheme.map({ ASCII.lowercased($0) }), let host = parts.host, !host.isEmpty,
            let standard = ["http": 80, "https": 443][scheme]
        else { return nil }
        guard let port = parts.portText?.isEmpty ?? true ? standard : parts.port else { return nil }
        self.scheme = scheme
        self.host = ASCII.lowercased(host)
        self.port = port
    }
}
