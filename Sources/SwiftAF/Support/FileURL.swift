import FoundationEssentials

extension URL {
    /// Returns the path of a file URL; throws ``SessionError/Code/invalidInput`` for another URL.
    ///
    /// - Parameter purpose: What the file is for, as words in the error.
    func filePath(of purpose: String) throws(SessionError) -> String {
        guard isFileURL else {
            throw SessionError(.invalidInput, message: "the URL of a \(purpose) doesn't begin with file://")
        }
        return path(percentEncoded: false)
    }
}
