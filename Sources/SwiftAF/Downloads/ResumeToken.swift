import FoundationEssentials

/// The data for resuming an interrupted download, in this or another process, as long as its partial file exists.
///
/// A failed or cancelled download that keeps its partial file (``DownloadOptions/keepsPartialFile``) provides a token
/// in ``SessionError/resumeToken``. The token contains the URL with its query, so treat it as confidential if the URL
/// is.
public struct ResumeToken: Sendable {
    /// The requested URL, before redirects, without user information and fragment.
    public let url: String
    /// The absolute path of the complete file. The bytes received so far are in `PATH.part` next to it.
    public let filePath: String
    /// The number of bytes that had been received when the download was interrupted. 0 if the token was read from a
    /// `PATH.part.resume` whose process was killed: the size is written at the end of a download.
    public let bytesReceived: Int64
    /// The total size in bytes; nil if unknown.
    public let totalBytes: Int64?
    /// The token as a few lines of text, in the format of `PATH.part.resume`.
    public let text: String

    /// Parses a token.
    ///
    /// - Parameters:
    ///   - text: The value of ``text``.
    ///   - filePath: The path of the complete file; a relative one is resolved against the current directory.
    /// - Throws: ``SessionError/Code/invalidInput``, with a message that names the invalid part.
    public init(text: String, filePath: String) throws(SessionError) {
        if let fault = filePath.pathFault("the path of a resume token") {
            throw SessionError(.invalidInput, message: fault)
        }
        let info = try CoreResumeInfo(text)
        url = info.url
        self.filePath = filePath.utf8.first == UInt8(ascii: "/") ? filePath : Self.absolute(filePath)
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

/// Decoding an invalid token throws a `DecodingError`.
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
    /// The path, the sizes, and the URL without its query.
    public var description: String {
        let total = totalBytes.map(String.init) ?? "unknown"
        return "\(filePath): \(bytesReceived) of \(total) bytes [\(URLText(url).redacted)]"
    }

    public var customMirror: Mirror {
        Mirror(self, children: ["description": description])
    }
}
