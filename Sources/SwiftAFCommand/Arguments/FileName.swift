import SwiftAF

/// Derives the name of a file from a URL.
enum FileName {
    /// Returns the last segment of the path, percent-decoded. It is always a single path component that isn't hidden
    /// and doesn't lead to another directory.
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
