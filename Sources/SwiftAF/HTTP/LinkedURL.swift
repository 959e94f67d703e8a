extension HTTPResponse {
    /// Returns the absolute URL of a link in the `Link` fields (RFC 8288), such as that of the next page.
    ///
    /// ```swift
    /// var page = try await manager.get("users")
    /// while let next = page.url(linkedAs: "next") { page = try await manager.get(next) }
    /// ```
    ///
    /// - Parameter relation: The relation, such as `next`, in any case. If several links have it, the first one counts.
    /// - Returns: The URL, resolved like ``url(resolving:)``; nil without such a link. A link with an `anchor` isn't
    ///   about this response, and what follows an invalid one isn't read.
    public func url(linkedAs relation: String) -> String? {
        guard let fields = headers["Link"] else { return nil }
        var scanner = FieldScanner(fields)
        while let link = scanner.link() {
            if !link.hasAnchor, link.has(relation) { return url(resolving: link.reference) }
        }
        return nil
    }
}

extension Response {
    /// Returns the absolute URL of a link in the `Link` fields, such as `next`: ``HTTPResponse/url(linkedAs:)``.
    public func url(linkedAs relation: String) -> String? { head.url(linkedAs: relation) }
}

/// A link of the field `Link`.
private struct FieldLink {
    let reference: String
    var relations: String?
    var hasAnchor = false

    func has(_ relation: String) -> Bool {
        relations?.split(separator: " ").contains { ASCII.equalIgnoringCase(relation, $0) } == true
    }
}

extension FieldScanner {
    /// Reads the next link of a list, as RFC 8288, appendix B.2, says; nil at the end, or if it is invalid.
    fileprivate mutating func link() -> FieldLink? {
        repeat { skipBlanks() } while skip(",")
        guard skip("<") else { return nil }
        var link = FieldLink(reference: String(text(upTo: ">")))
        guard skip(">") else { return nil }
        skipBlanks()
        while skip(";") {
            guard addParameter(to: &link) else { return nil }
            skipBlanks()
        }
        return isAtEnd || skip(",") ? link : nil
    }

    /// Reads a parameter. Only the first `rel` counts.
    ///
    /// - Returns: Whether its value is valid.
    private mutating func addParameter(to link: inout FieldLink) -> Bool {
        let name = text(upTo: "=;,")
        var value = ""
        if skip("=") {
            skipBlanks()
            if isAtQuote {
                guard let quoted = self.value() else { return false }
                value = quoted
            } else {
                value = String(text(upTo: ";,"))
            }
        }
        if ASCII.equalIgnoringCase("rel", name) { link.relations = link.relations ?? value }
        if ASCII.equalIgnoringCase("anchor", name) { link.hasAnchor = true }
        return true
    }
}
