/// An origin: scheme, host and port (RFC 9110, section 4.3.1). Credentials belong to an origin.
package struct Origin: Hashable, Sendable {
    /// The normalised form, such as `https://example.org:8443`.
    package let text: String

    /// - Returns: Nil if the URL isn't valid for a request.
    package init?(_ url: String) {
        guard let text = CoreURL.origin(of: url) else { return nil }
        self.text = text
    }
}
