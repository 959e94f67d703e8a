import SwiftAF

/// Derives the name of a file from a URL.
enum FileName {
    /// Returns the last segment of the path, percent-decoded. It is always a single path component that isn't hidden
    /// and doesn't lead to another directory.
    ///
    /// - Parameter isOneOfSeveral: Whether the error has to say which URL it is about, and that `-o` can't help.
    static func of(url: String, isOneOfSeveral: Bool = false) throws(UsageError) -> String {
        do {
            return try CoreURL.fileName(of: url)
        } catch {
            // What isn't a URL may have its password anywhere.
            let isURL = Origin(url) != nil
            let segment = isURL ? URLText(url).lastSegment : ""
            let shown = segment.isEmpty ? "" : " ('\(String(segment).printable)')"
            let message = "\(error.message)\(shown)"
            guard !isOneOfSeveral else {
                let subject = isURL ? URLText(url).withoutUserInfo.printable : "a URL is invalid"
                throw UsageError("\(subject): \(message); -o names the file of one URL")
            }
            throw UsageError("\(message); -o names the file")
        }
    }
}
