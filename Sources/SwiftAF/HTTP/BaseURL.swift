/// What relative URLs are resolved against (RFC 3986, section 5), with AFNetworking's rule for the last slash.
///
/// Text that isn't a valid URL is resolved, too; the result is checked when it is sent.
struct BaseURL: Sendable, Equatable {
    /// With a slash at its end if it has a path and did not end in one.
    let text: String

    init(_ text: String) {
        let needsSlash = !URLText(text).path.isEmpty && text.utf8.last != UInt8(ascii: "/")
        self.text = needsSlash ? text + "/" : text
    }

    /// The absolute URL of a reference: itself if it is absolute already.
    func resolve(_ reference: String) -> String {
        // The common case, without a copy.
        if reference.utf8.starts(with: "http://".utf8) || reference.utf8.starts(with: "https://".utf8) {
            return reference
        }
        return CoreURL.resolve(reference, against: text)
    }
}
