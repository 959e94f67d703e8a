import FoundationEssentials

/// What is needed to go on with a download that broke off, in this or another process, as long as its partial file is
/// there.
///
/// A failed or cancelled download that keeps its partial file (``DownloadOptions/keepsPartialFile``) has one in
/// ``SessionError/resumeToken``. It holds the URL with its query, so keep it as you would keep that.
public struct ResumeToken: Sendable {
    /// What was asked for, before redirects, without user information and fragment.
    public let url: String
    /// Where the complete file goes: an absolute path. What has come of it is beside that, in `PATH.part`.
    public let filePath: String
    /// Bytes that were there when the download broke off.
    public let bytesReceived: Int64
    /// Bytes of the whole, nil if that is not known.
    public let totalBytes: Int64?
    /// What the core needs to know: a few lines, as they are in `PATH.part.resume`.
    public let text: String

    /// Reads a token.
    ///
    /// - Parameters:
    ///   - text: As ``text`` was.
    ///   - filePath: The destination; a relative one counts from the current folder.
    /// - Throws: ``SessionError/Code/invalidInput`` with what is damaged.
    public init(text: String, filePath: String) throws(SessionError) {
        guard !filePath.isEmpty, !filePath.utf8.contains(0) else {
            throw SessionError(.invalidInput, message: "the path of a resume token is empty or contains NUL")
        }
        let info = try CoreResumeInfo(text)
        url = info.url
        self.filePath = filePath.hasPrefix("/") ? filePath : Self.absolute(filePath)
        bytesReceived = info.received
        totalBytes = info.total
        self.text = text
    }

    private static func absolute(_ path: String) -> String {
        FileManager.default.currentDirectoryPath + "/" + path
    }
}

extension ResumeToken: Hashable {
    public static func == (left: ResumeToken, right: ResumeToken) -> Bool {
        left.text == right.text && left.filePath == right.filePath
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(text)
        hasher.combine(filePath)
    }
}

/// An unreadable one is a `DecodingError`.
extension ResumeToken: Codable {
    private enum CodingKeys: String, CodingKey {
        case text, filePath
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let text = try container.decode(String.self, forKey: .text)
        let filePath = try container.decode(String.self, forKey: .filePath)
        do throws(SessionError) {
            try self.init(text: text, filePath: filePath)
        } catch {
            throw DecodingError.dataCorrupted(
                .init(codingPath: container.codingPath, debugDescription: error.message, underlyingError: error))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(text, forKey: .text)
        try container.encode(filePath, forKey: .filePath)
    }
}

extension ResumeToken: CustomStringConvertible, CustomReflectable {
    /// Path, sizes, and the URL without its query.
    public var description: String {
        let total = totalBytes.map(String.init) ?? "unknown"
        return "\(filePath): \(bytesReceived) of \(total) bytes [\(URLText(url).redacted)]"
    }

    public var customMirror: Mirror {
        Mirror(self, children: ["description": description])
    }
}
