import SwiftAF

/// The name that a URL gives a file.
enum FileName {
    /// The last segment of the path, decoded: one component that hides nothing and leads nowhere else.
    static func of(url: String) throws(UsageError) -> String {
        do {
            return try CoreURL.fileName(of: url)
        } catch {
            let segment = URLText(url).lastSegment
            let shown = segment.isEmpty ? "" : " ('\(String(segment).printable)')"
            throw UsageError("\(error.message)\(shown); -o names the file")
        }
    }
}
