internal import CAFCore

/// The file that a body is written to.
struct CoreFile: Equatable, Sendable {
    /// Contains no NUL. Nil if the file is named when the response arrives.
    var path: String?
    /// The path as bytes, if it isn't UTF-8.
    var rawPath: [UInt8]?
    var options: DownloadOptions
    /// The token of a resumed download; its destination is ``path``.
    var token: ResumeToken?
    /// The digest that the file must have to get its name; valid.
    var digest: FileDigest?

    var textSize: Int {
        (rawPath.map { $0.count + 1 } ?? path.map { CStringArena.size(of: $0) } ?? 0)
            + (token.map { CStringArena.size(of: $0.text) } ?? 0)
            + (digest.map { CStringArena.size(of: $0.coreText) } ?? 0)
    }

    func sink(_ texts: inout CStringArena) -> afc_sink {
        var sink = afc_sink()
        sink.kind = AFC_SINK_FILE
        if let rawPath { sink.path = texts.put(rawPath) } else if let path { sink.path = texts.put(path) }
        if let token { sink.resume_token = texts.put(token.text) }
        if let digest { sink.digest = texts.put(digest.coreText) }
        sink.flags = options.coreFlags
        return sink
    }
}

extension DownloadOptions {
    var coreFlags: UInt32 {
        var flags: UInt32 = 0
        if contains(.keepsExistingFile) { flags |= UInt32(AFC_FILE_NO_REPLACE) }
        if contains(.createsFolders) { flags |= UInt32(AFC_FILE_MAKE_FOLDERS) }
        if contains(.keepsPartialFile) { flags |= UInt32(AFC_FILE_KEEP_PARTIAL) }
        if contains(.resumes) { flags |= UInt32(AFC_FILE_RESUME) }
        if contains(.syncsToDisk) { flags |= UInt32(AFC_FILE_SYNC) }
        if contains(.followsLinks) { flags |= UInt32(AFC_FILE_FOLLOW_LINKS) }
        if contains(.keepsPermissions) { flags |= UInt32(AFC_FILE_KEEP_MODE) }
        return flags
    }
}

/// The result of a transfer to a file.
struct CoreDownload: Sendable {
    var path: String
    var resumption: DownloadResponse.Resumption
    var offset: Int64
    var size: Int64
    /// The token for resuming; nil if nothing was kept that can be resumed.
    var token: ResumeToken?
    /// Whether the body was saved at the path, or was there already.
    var isComplete: Bool

    /// Nil if there is no file.
    ///
    /// - Parameter isSuccessful: Whether the response, as received, has a status of success. The body of another one
    ///   isn't saved.
    init?(_ download: afc_download, isSuccessful: Bool) {
        guard let path = download.path else { return nil }
        self.path = String(cString: path)
        resumption = DownloadResponse.Resumption(download.resumption)
        offset = download.offset
        size = download.size
        let text = download.resume_token.map { String(cString: $0) } ?? ""
        token = text.isEmpty ? nil : try? ResumeToken(text: text, filePath: self.path)
        isComplete = isSuccessful || resumption == .alreadyComplete
    }
}

extension DownloadResponse.Resumption {
    fileprivate init(_ resumption: afc_resumption) {
        self =
            switch resumption {
            case .AFC_RESUMPTION_RESUMED: .resumed
            case .AFC_RESUMPTION_RESTARTED: .restarted
            case .AFC_RESUMPTION_COMPLETE: .alreadyComplete
            default: .none
            }
    }
}
