/// Scheme, host and port: what credentials belong to (RFC 9110, section 4.3.1).
struct Origin: Hashable, Sendable {
    /// In the one form that equal origins have, such as `https://example.org:8443`.
    private let text: String

    /// - Returns: Nil if a request wouldn't accept the URL.
    init?(_ url: String) {
        guard let text = CoreURL.origin(of: url) else { return nil }
        self.text = text
    }
}
