internal import CAFCore

/// The file that a body is written to.
struct CoreFile: Equatable, Sendable {
    /// The path, without NUL. Nil if the file is named when the response arrives.
    var path: String?
    /// The path as bytes, used instead of ``path`` if it isn't nil, because a path needn't be valid UTF-8.
    var rawPath: [UInt8]?
    var options: DownloadOptions
    /// The token of the download to resume, whose destination is ``path``; nil if there is none.
    var token: ResumeToken?
    /// The digest that the whole file must have; nil if any is accepted. It is verified before the file gets its name:
    /// with another digest, the download fails.
    var digest: FileDigest?

    /// The number of bytes that `sink(_:)` puts into its arena.
    var textSize: Int {
        (rawPath.map { $0.count + 1 } ?? path.map { CStringArena.size(of: $0) } ?? 0)
            + (token.map { CStringArena.size(of: $0.text) } ?? 0)
            + (digest.map { CStringArena.size(of: $0.coreText) } ?? 0)
    }

    /// Returns the file as a core value, with its strings in `texts`.
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
    /// The token for resuming; nil if no partial file was kept.
    var token: ResumeToken?
    /// Whether the body was saved at the path, or was there already.
    var isComplete: Bool

    /// Copies the core's value; nil if the transfer had no file.
    ///
    /// - Parameter isSuccessful: Whether the status of the response is 200 to 299. Bodies of other responses aren't
    ///   saved.
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
