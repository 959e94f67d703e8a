import FoundationEssentials

extension URL {
    /// The path of a file URL.
    ///
    /// - Parameter purpose: What the file is for, in the error of another URL.
    func filePath(of purpose: String) throws(SessionError) -> String {
        guard isFileURL else {
            throw SessionError(.invalidInput, message: "the URL of a \(purpose) doesn't begin with file://")
        }
        return path(percentEncoded: false)
    }
}
