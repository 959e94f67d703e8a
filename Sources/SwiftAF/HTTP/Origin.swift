/// An origin: scheme, host and port (RFC 9110 4.3.1). Credentials belong to an origin.
package struct Origin: Hashable, Sendable {
    /// The normalised form, such as `https://example.org:8443`.
    package let text: String

    /// - Returns: The origin of a URL; nil if the URL isn't valid for a request.
    package init?(_ url: String) {
        guard let text = CoreURL.origin(of: url) else { return nil }
        self.text = text
    }
}

extension HTTPRequest {
    /// If this request has another origin than the one that it was made from, removes the secret fields and the
    /// credential of the latter. Secrets that were added since then stay, because they are meant for this origin; so do
    /// fields that one of the interceptors would send there. Fields that were marked as secret in the original are
    /// marked again, also for later redirects.
    mutating func dropSecrets(of original: HTTPRequest, _ interceptors: [any RequestInterceptor] = []) {
        for name in headers.namesWithoutMark(of: original.headers) { headers.markSecret(name) }
        guard url != original.url else { return }
        let origin = Origin(url)
        guard origin != Origin(original.url) else { return }
        headers.removeSecrets(of: original.headers) { field in
            guard let origin else { return false }
            return interceptors.contains { ($0 as? any CredentialInterceptor)?.mayKeep(field, for: origin) == true }
        }
        if credential == original.credential { credential = nil }
    }
}
