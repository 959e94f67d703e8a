/// What relative URLs are relative to: RFC 3986, section 5, on text, with AFNetworking's rule for the last slash.
///
/// Texts that are no proper URLs are resolved as far as they go; what comes out is checked when it is sent.
struct BaseURL: Sendable, Equatable {
    /// With a slash at its end if it has a path and did not end in one.
    let text: String
    private let origin: String
    private let path: Substring
    private let query: Substring?

    init(_ text: String) {
        let needsSlash = !URLText(text).path.isEmpty && text.utf8.last != UInt8(ascii: "/")
        self.text = needsSlash ? text + "/" : text
        let parts = URLText(self.text)
        path = parts.path
        query = parts.query
        origin = String(self.text.utf8.prefix(self.text.utf8.count - Self.tailSize(parts))) ?? ""
    }

    /// The absolute URL of a reference: itself if it is absolute already.
    func resolve(_ reference: String) -> String {
        if Self.isHTTP(reference) { return reference }
        let parts = URLText(reference)
        if parts.scheme != nil { return reference }
        if parts.host != nil { return "\(scheme):\(reference)" }
        let tail = Self.suffix(parts)
        guard !parts.path.isEmpty else {
            let query = parts.query == nil ? self.query.map { "?\($0)" } ?? "" : ""
            return "\(origin)\(path)\(query)\(tail)"
        }
        let isRooted = parts.path.utf8.first == UInt8(ascii: "/")
        let merged = isRooted ? String(parts.path) : directory + parts.path
        return "\(origin)\(Self.removingDotSegments(merged))\(tail)"
    }

    private var scheme: Substring { URLText(text).scheme ?? "" }

    /// The base's path up to and including its last slash.
    private var directory: String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "/" }
        return String(path[...slash])
    }

    /// Bytes of path, query and fragment.
    private static func tailSize(_ parts: URLText) -> Int {
        parts.path.utf8.count + suffix(parts).utf8.count
    }

    /// Query and fragment with their marks.
    private static func suffix(_ parts: URLText) -> String {
        (parts.query.map { "?\($0)" } ?? "") + (parts.fragment.map { "#\($0)" } ?? "")
    }

    /// The common case, told without taking the text apart.
    private static func isHTTP(_ text: String) -> Bool {
        text.utf8.starts(with: "http://".utf8) || text.utf8.starts(with: "https://".utf8)
    }

    /// RFC 3986, section 5.2.4, for paths that start with a slash.
    static func removingDotSegments(_ path: String) -> String {
        guard path.utf8.contains(UInt8(ascii: ".")) else { return path }
        var kept: [Substring] = []
        let segments = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        for (index, segment) in zip(segments.indices, segments) {
            let isLast = index == segments.endIndex - 1
            switch segment {
            case ".":
                if isLast { kept.append("") }
            case "..":
                _ = kept.popLast()
                if isLast { kept.append("") }
            default:
                kept.append(segment)
            }
        }
        return "/" + kept.joined(separator: "/")
    }
}
