import SwiftAF

/// The files whose texts go into each request of a run, such as those with secrets. Each is read once: a pipe has nothing
/// for a second request.
final class InputTexts: Sendable {
    private struct Content {
        let path: RawText
        let text: String
    }

    // A few at most; see `AskedPasswords`.
    private let contents = Locked<[Content]>([])

    /// Returns the text of a file, as it was when it was first asked for.
    ///
    /// - Parameter name: The name for error messages; nil for the path.
    func text(_ path: RawText, shown name: String? = nil) throws(Failure) -> String {
        if let known = contents.withLock({ $0.first { $0.path == path } }) { return known.text }
        let text = try InputFile.text(path, shown: name)
        contents.withLock { $0.append(Content(path: path, text: text)) }
        return text
    }

    /// Returns the text of a file as a value: without the line breaks at its end.
    func value(_ path: RawText) throws(Failure) -> String {
        let text = try text(path)
        return String(text[..<(text.lastIndex { !$0.isNewline }.map(text.index(after:)) ?? text.startIndex)])
    }
}
