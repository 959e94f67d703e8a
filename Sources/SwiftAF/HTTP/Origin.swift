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

extension HTTPRequest {
    /// Removes the secret fields and the credential of the request that this one was made from, if it goes to another
    /// origin. What was added since then stays.
    mutating func dropSecrets(of original: HTTPRequest) {
        guard url != original.url, Origin(url) != Origin(original.url) else { return }
        headers.removeSecrets(of: original.headers)
        if credential == original.credential { credential = nil }
    }
}
