/// A base for resolving relative URLs (RFC 3986 5), with AFNetworking's rule for the trailing slash.
///
/// Text that isn't a valid URL is resolved as well; the result is checked when the request is sent.
struct BaseURL: Sendable, Equatable {
    /// The text; if it has a path, it ends with a slash, which is added if necessary.
    let text: String

    /// The reason why the text can't be a base; nil if it can.
    let fault: String?

    /// The scheme and authority of the text, such as `https://example.org`, as they are written.
    private let root: String
    private let origin: Origin?

    init(_ text: String) {
        let url = URLText(text)
        let path = url.path
        let slash = UInt8(ascii: "/")
        let needsSlash = !path.isEmpty && text.utf8.last != slash && path.utf8.last != slash
        self.text = needsSlash ? text[..<path.endIndex] + "/" + text[path.endIndex...] : text
        root = String(text[..<path.startIndex])
        origin = Origin(text)
        let isValid = ["http", "https"].contains(url.scheme.map { ASCII.lowercased($0) })
        fault =
            isValid
            ? nil
            : "the base URL \"\(ASCII.printable(url.redacted, limit: 200))\" doesn't begin with http:// or https://"
    }

    /// Returns the absolute URL of a reference; an absolute reference is returned unchanged.
    func resolve(_ reference: String) -> String {
        // The fast path for absolute URLs, without a copy.
        if reference.utf8.starts(with: "http://".utf8) || reference.utf8.starts(with: "https://".utf8) {
            return reference
        }
        return CoreURL.resolve(reference, against: text)
    }

    /// Returns whether an absolute URL has the same origin as the base.
    func isOfOrigin(_ url: String) -> Bool {
        // The fast path, because this is called for each request: URLs that were resolved against the base begin with
        // its root.
        let start = url.utf8.prefix(root.utf8.count)
        if start.elementsEqual(root.utf8), !start.isEmpty {
            let next = url.utf8[start.endIndex...].first
            if next == nil || next == UInt8(ascii: "/") || next == UInt8(ascii: "?") { return true }
        }
        return Origin(url) == origin
    }
}
