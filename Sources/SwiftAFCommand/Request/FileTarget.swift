import SwiftAF

/// The file that a body goes to.
struct FileTarget: Sendable {
    enum Name: Sendable {
        case path(RawText)
        /// Content-Disposition names it; without that field this is the name, or why there is none.
        case answer(otherwise: Result<String, UsageError>)
    }

    let name: Name
    let options: DownloadOptions

    /// - Returns: Nil if the body does not go to a file.
    static func of(_ command: RequestCommand, _ options: Options) throws(UsageError) -> FileTarget? {
        guard command.isDownload else {
            return options.outputPath.map { FileTarget(name: .path($0), options: written) }
        }
        if let path = options.outputPath {
            return FileTarget(name: .path(path), options: downloadOptions(options))
        }
        guard options.usesContentDisposition else {
            let name = RawText(try FileName.of(url: command.url))
            return FileTarget(name: .path(name), options: downloadOptions(options))
        }
        let other = Result { () throws(UsageError) in try FileName.of(url: command.url) }
        // Which file is replaced must not be the server's choice.
        return FileTarget(name: .answer(otherwise: other), options: .keepsPartialFile)
    }

    private static func downloadOptions(_ options: Options) -> DownloadOptions {
        written.union(options.resumes ? [.keepsPartialFile, .resumes] : .keepsPartialFile)
    }

    /// How any file is written that the command line names.
    private static let written: DownloadOptions = [.replacesFile, .followsLinks, .keepsPermissions]

    /// What the report calls it: the path as it was given.
    func path(of response: DownloadResponse) -> String {
        if case .path(let path) = name { path.shown } else { response.filePath }
    }

    /// Downloads into the file.
    func download(
        _ request: HTTPRequest, with manager: HTTPSessionManager, progress: (@Sendable (TransferProgress) -> Void)?
    ) async throws(SessionError) -> DownloadResponse {
        switch name {
        case .path(let path):
            return try await manager.download(request, toBytes: path.bytes, options: options, progress: progress)
        case .answer(let otherwise):
            return try await manager.download(request, options: options, progress: progress) { response in
                let isNamed = response.headers.contains(HTTPHeaders.Name.contentDisposition)
                // An empty path is an error of its own, which `problem(behind:)` explains.
                return isNamed ? response.suggestedFileName : (try? otherwise.get()) ?? ""
            }
        }
    }

    /// Why there was no name for the body that came.
    func problem(behind error: SessionError) -> UsageError? {
        guard error.code == .invalidInput, error.response != nil, case .answer(.failure(let problem)) = name
        else { return nil }
        return problem
    }

    /// What brings the rest of a body that broke off.
    func advice(_ token: ResumeToken) -> String {
        let part = "\(token.filePath).part".printable
        let came = Format.bytes(token.bytesReceived)
        let amount = token.totalBytes.map { "\(came) of \(Format.bytes($0))" } ?? came
        let options =
            switch name {
            case .path: "--resume"
            case .answer: "-o \(token.filePath.printable) --resume"
            }
        return "\(amount) are kept in \(part); \(options) goes on from there"
    }
}
