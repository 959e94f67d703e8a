import SwiftAF

/// Saves the body of a response that is a success though its status isn't 2xx, because of `--accept-status` or
/// `--no-redirects`: the library saves only those with 2xx.
final class AcceptedResponse: Sendable {
    let path: RawText
    private let options: DownloadOptions
    private let isAccepted: @Sendable (HTTPResponse) -> Bool
    private let file = Locked<NewFile?>(nil)

    init(path: RawText, options: DownloadOptions, isAccepted: @escaping @Sendable (HTTPResponse) -> Bool) {
        self.path = path
        self.options = options
        self.isAccepted = isAccepted
    }

    /// Decides where the body goes. Called for each attempt.
    @Sendable func decide(_ response: HTTPResponse) -> ResponseDecision {
        abandon()
        // A 304 has no body, and its file stays.
        guard !response.isSuccessful, response.status != 304, isAccepted(response) else {
            return .allow
        }
        if options.contains(.createsFolders) { OutputFile.makeFolders(of: path, mode: 0o777) }
        do throws(SessionError) {
            let new = try NewFile(path, mode: 0o666)
            file.withLock { $0 = new }
            return .write(toDescriptor: new.descriptor)
        } catch {
            return .fail(error)
        }
    }

    /// Gives the file its name and returns its size in bytes; nil if nothing was saved.
    func finish() throws(SessionError) -> Int? {
        guard let new = take() else { return nil }
        let size = new.size
        try new.finish(keepsExisting: options.contains(.keepsExistingFile))
        return size
    }

    func abandon() {
        take()?.abandon()
    }

    private func take() -> NewFile? {
        file.withLock { file in
            defer { file = nil }
            return file
        }
    }
}
