/// The files that the library keeps beside the destination of a download until it is complete.
struct PartialFile {
    /// What was received so far.
    let path: RawText
    /// What is needed to continue it.
    let token: RawText
    /// The token while it is written.
    let newToken: RawText

    /// - Parameter destination: The path of the download, which may be a link.
    init(of destination: RawText) {
        self.init(beside: OutputFile.target(destination))
    }

    /// - Parameter target: The file that a download replaces.
    init(beside target: RawText) {
        func beside(_ ending: String) -> RawText { RawText(target.bytes + ending.utf8) }
        (path, token, newToken) = (beside(".part"), beside(".part.resume"), beside(".part.resume.new"))
    }

    var all: [RawText] { [path, token, newToken] }
}
