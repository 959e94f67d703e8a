import Glibc
import SwiftAF

/// The file that a body is written to.
struct FileTarget: Sendable {
    enum Name: Sendable {
        case path(RawText)
        /// The file is named by Content-Disposition. Without that field, this is the name, or the reason why there is
        /// none.
        case response(otherwise: Result<String, UsageError>, folder: RawText?)
    }

    let name: Name
    var options: DownloadOptions
    /// The digest that the file must have before it gets its name.
    var checksum: FileDigest?
    /// Whether the file gets the time of the response.
    var keepsTime = false
    /// Whether the command has `-P`, for advice.
    var hasFolderOption = true
    /// Takes the name that a response chooses.
    var chosenName: ChosenName?

    /// - Returns: Nil if the body isn't written to a file.
    /// - Throws: If the path names a kind of file that an option can't be used with; ``OptionConflicts`` has the other
    ///   rules.
    static func of(_ command: RequestCommand, _ options: Options) throws(UsageError) -> FileTarget? {
        guard options.writesFile(of: command) else { return nil }
        var target = try named(command, options)
        try target.refuseMeaningless(options)
        if options.keepsExistingFile { target.options.insert(.keepsExistingFile) }
        target.checksum = options.checksum
        target.hasFolderOption = command.purpose != .upload
        target.keepsTime = options.comparesTimestamps
        return target
    }

    /// Refuses options that can't apply to a pipe, a device, or a descriptor of the process.
    private func refuseMeaningless(_ options: Options) throws(UsageError) {
        if options.checksum != nil || options.comparesTimestamps, case .path(let path) = name,
            !OutputFile.isReplaced(path)
        {
            throw UsageError("--checksum and --timestamps need a regular file")
        }
        guard let pipe else { return }
        guard !options.resumes else { throw UsageError("--resume needs a regular file") }
        guard OutputFile.descriptor(pipe) != STDOUT_FILENO || !options.printsJSON else {
            throw OptionConflicts.takenByJSON("-o \(pipe.shown.printable)")
        }
    }

    private static func named(_ command: RequestCommand, _ options: Options) throws(UsageError) -> FileTarget {
        guard command.purpose == .download else { return try onPath(command, options, written) }
        guard options.outputPath == nil, options.usesContentDisposition else {
            return try onPath(command, options, downloadOptions(options))
        }
        let other = Result { () throws(UsageError) in try FileName.of(url: command.url) }
        // The server must not choose which file is replaced.
        let kept: DownloadOptions = [.keepsExistingFile, .keepsPartialFile]
        return FileTarget(
            name: .response(otherwise: other, folder: options.folder),
            options: options.folder == nil ? kept : kept.union(.createsFolders))
    }

    /// The given path, or the name in the URL within the given folder, which is created if missing.
    private static func onPath(
        _ command: RequestCommand, _ options: Options, _ downloadOptions: DownloadOptions
    ) throws(UsageError) -> FileTarget {
        if let path = options.namedFile { return FileTarget(name: .path(path), options: downloadOptions) }
        let folder = options.namedFolder
        let made = folder == nil ? downloadOptions : downloadOptions.union(.createsFolders)
        return FileTarget(name: .path(within(folder, RawText(try FileName.of(url: command.url)))), options: made)
    }

    private static func within(_ folder: RawText?, _ name: RawText) -> RawText {
        guard let folder else { return name }
        let slash = folder.bytes.last == UInt8(ascii: "/") ? "" : "/"
        return RawText(folder.bytes + slash.utf8 + name.bytes)
    }

    private static func downloadOptions(_ options: Options) -> DownloadOptions {
        written.union(options.resumes ? .resumes : .keepsPartialFile)
    }

    /// The options for files named on the command line.
    private static let written: DownloadOptions = [.followsLinks, .keepsPermissions]

    /// The path, if it is a pipe or a descriptor of the process, which is written to while the body is received.
    var pipe: RawText? {
        guard case .path(let path) = name else { return nil }
        guard OutputFile.descriptor(path) == nil else { return path }
        return FileStatus(path)?.kind == .pipe ? path : nil
    }

    /// The error of an existing file that prevents writing, so that the response would be lost; nil if there is none,
    /// or if the response names the file. A file that appears later is noticed when the new file gets its name.
    var obstacle: SessionError? {
        if options.contains(.keepsExistingFile), let part = foreignPartialFiles.first {
            return OutputFile.failure(part, EEXIST)
        }
        guard case .path(let path) = name, pipe == nil, let status = FileStatus(path) else { return nil }
        switch status.kind {
        case .folder: return OutputFile.failure(path, EISDIR)
        // With `--timestamps`, the file may be up to date.
        case .regular where options.contains(.keepsExistingFile) && !keepsTime: return OutputFile.failure(path, EEXIST)
        default: return nil
        }
    }

    /// Whether Content-Disposition names the file.
    var isNamedByResponse: Bool {
        if case .response = name { true } else { false }
    }

    /// Whether its content or its time decides whether it is written.
    var isChecked: Bool { checksum != nil || keepsTime }

    /// Whether the file is the purpose of the command.
    var isDownload: Bool { options.contains(.keepsPartialFile) }

    /// Returns the path for the report, as it was given.
    func path(of response: DownloadResponse) -> String {
        if case .path(let path) = name { path.shown } else { response.filePath }
    }

    /// Downloads to the file.
    func download(
        _ request: HTTPRequest, with manager: HTTPSessionManager, progress: (@Sendable (TransferProgress) -> Void)?
    ) async throws(SessionError) -> DownloadResponse {
        switch name {
        case .path(let path):
            let response = try await manager.download(
                request, toBytes: path.bytes, digest: checksum, options: options, progress: progress)
            if keepsTime { Timestamps.apply(response.head, to: path) }
            return response
        case .response(let otherwise, let folder):
            let destination = DownloadDestination.named { [chosenName] response in
                let isNamed = response.headers.contains(named: .contentDisposition)
                // An empty path fails with `invalidInput`; `problem(behind:)` explains it.
                let name = isNamed ? response.suggestedFileName : (try? otherwise.get()) ?? ""
                guard !name.isEmpty else { return "" }
                let path = Self.within(folder, RawText(name))
                return chosenName?.take(path) == false ? "" : path.shown
            }
            return try await manager.download(request, to: destination, options: options, progress: progress)
        }
    }

    /// Returns why the response has no file name; nil if the error has another cause.
    func problem(behind error: SessionError) -> Failure? {
        guard error.code == .invalidInput, error.response != nil, case .response(let otherwise, _) = name else {
            return nil
        }
        if let refusal = chosenName?.refusal {
            return Failure(.file, .file, "\(refusal.message); -o PATH names another file")
        }
        guard case .failure(let problem) = otherwise else { return nil }
        return Failure(problem)
    }

    /// The partial file that `--resume` finds, or nil.
    var partialFile: RawText? {
        guard options.contains(.resumes), case .path(let path) = name else { return nil }
        let part = PartialFile(of: path).path
        return InputFile.exists(part) ? part : nil
    }

    /// Files with the names of the partial file and its token that aren't left by a download. This download replaces
    /// them, unless `--no-clobber` keeps them.
    var foreignPartialFiles: [RawText] {
        guard isDownload, case .path(let path) = name, OutputFile.isReplaced(path) else { return [] }
        let (part, token) = (PartialFile(of: path).path, PartialFile(of: path).token)
        guard InputFile.exists(token) else { return Self.hasContent(part) ? [part] : [] }
        guard Self.hasContent(token), !Self.isToken(token) else { return [] }
        return Self.hasContent(part) ? [part, token] : [token]
    }

    /// Whether it is a regular file that isn't empty.
    private static func hasContent(_ path: RawText) -> Bool {
        guard let status = FileStatus(path, followsLinks: false) else { return false }
        return status.kind == .regular && status.size > 0
    }

    /// Returns whether a file begins like a resume token. False for a file that can't be read.
    private static func isToken(_ path: RawText) -> Bool {
        var bytes = [UInt8](repeating: 0, count: ResumeToken.markSize)
        let descriptor = path.withCString { open($0, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) }
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return read(descriptor, &bytes, bytes.count) == bytes.count && ResumeToken.isToken(bytes)
    }

    /// Returns how to resume an interrupted download.
    func advice(_ token: ResumeToken) -> String {
        let part = PartialFile(beside: RawText(token.filePath)).path.shown.printable
        let received = Format.bytes(token.bytesReceived)
        let amount = token.totalBytes.map { "\(received) of \(Format.bytes($0))" } ?? received
        let options =
            switch name {
            case .path where keepsTime: "--resume in place of --timestamps"
            case .path: "--resume"
            case .response: "-o \(token.filePath.printable) --resume"
            }
        return "\(amount) are kept in \(part); \(options) continues the download"
    }
}

extension Options {
    /// The file of `-o`; nil without one, and if the URL names it.
    var namedFile: RawText? { writesIntoOutputPath ? nil : outputPath }

    /// The folder of files that URLs name, which is created if missing; nil for the current one.
    var namedFolder: RawText? { writesIntoOutputPath ? outputPath : folder }

    /// Whether `-o` names a folder.
    private var writesIntoOutputPath: Bool { outputPath?.bytes.last == UInt8(ascii: "/") }
}
