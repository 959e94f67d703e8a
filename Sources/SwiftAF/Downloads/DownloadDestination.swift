public import FoundationEssentials

/// Where a download is saved.
///
/// ```swift
/// try await manager.download("reports/7", to: "/tmp/report.pdf")
/// try await manager.download("reports/7", to: .folder("/tmp"))
/// try await manager.download("reports/7", to: .named { "/tmp/\($0.status)-" + $0.suggestedFileName })
/// try await manager.download(token.url, to: .resuming(token))
/// try await manager.download("disk.img", to: .path("/tmp/disk.img").verified(by: .sha256("9f86d081…")))
/// ```
///
/// An empty path or one that contains NUL fails with ``SessionError/Code/invalidInput``. A relative path is resolved
/// against the current directory.
public struct DownloadDestination: Sendable {
    enum Choice: Sendable {
        case path(String)
        case named(@Sendable (HTTPResponse) -> String)
        case resuming(ResumeToken)
        case managerDefault
        case invalid(SessionError)
    }

    let choice: Choice
    /// The digest that the file must have.
    private(set) var digest: FileDigest?

    /// A file at a path.
    public static func path(_ path: String) -> DownloadDestination {
        DownloadDestination(choice: .path(path))
    }

    /// The file of a file URL. With another URL the download fails with ``SessionError/Code/invalidInput``.
    public static func path(_ url: URL) -> DownloadDestination {
        do {
            return .path(try url.filePath(of: "destination"))
        } catch {
            return DownloadDestination(choice: .invalid(error))
        }
    }

    /// A file in a folder, named by ``HTTPResponse/suggestedFileName``, which is safe within any folder.
    public static func folder(_ path: String) -> DownloadDestination {
        guard !path.isEmpty else {
            return DownloadDestination(
                choice: .invalid(SessionError(.invalidInput, message: "the path of the folder is empty")))
        }
        return .named { head in (path.hasSuffix("/") ? path : path + "/") + head.suggestedFileName }
    }

    /// A file in the folder of a file URL, named by ``HTTPResponse/suggestedFileName``. With another URL the download
    /// fails with ``SessionError/Code/invalidInput``.
    public static func folder(_ url: URL) -> DownloadDestination {
        do {
            return .folder(try url.filePath(of: "folder"))
        } catch {
            return DownloadDestination(choice: .invalid(error))
        }
    }

    /// A file whose path a closure returns when the head of a response with status 200 to 299 has arrived, before
    /// anything is written.
    ///
    /// - Parameter name: Called once, on the network thread: it must not block, because other transfers of the
    ///   session wait meanwhile.
    public static func named(_ name: @escaping @Sendable (HTTPResponse) -> String) -> DownloadDestination {
        DownloadDestination(choice: .named(name))
    }

    /// The original file of an interrupted download of any manager, also of another process. The URL must be
    /// ``ResumeToken/url``. Starts over if the partial file is gone or the server has another version. Implies
    /// ``DownloadOptions/resumes`` and ``DownloadOptions/keepsPartialFile``.
    ///
    /// - Parameter token: The token from ``SessionError/resumeToken``. It contains no headers, so credentials of the
    ///   request must be passed again.
    public static func resuming(_ token: ResumeToken) -> DownloadDestination {
        DownloadDestination(choice: .resuming(token))
    }

    /// Returns the same destination, which accepts only a file with this digest.
    ///
    /// ```swift
    /// try await manager.download("disk.img", to: .path("/tmp/disk.img").verified(by: .sha256("9f86d081…")))
    /// ```
    ///
    /// The digest is that of the whole file as it is saved: after content codings such as gzip were decoded, and with
    /// the bytes that a resumed download had received before. It replaces a digest that the response declares.
    ///
    /// If the file has another digest, the download fails with ``SessionError/Code/protocol`` and
    /// ``SessionError/Reason/digest``, and the message names both digests. A file that was at the path before is
    /// unchanged; otherwise, nothing is left there. The partial file is removed, so ``SessionError/resumeToken`` is nil
    /// and the next download starts over. What the HTTP cache has stored for the request is removed, too. A download
    /// that fails for another reason can be resumed as without a digest.
    public func verified(by digest: FileDigest) -> DownloadDestination {
        var verified = self
        verified.digest = digest
        return verified
    }

    /// The ``HTTPSessionManager/downloadDestination`` of the manager when the download is started; without one, the
    /// download fails with ``SessionError/Code/invalidInput``.
    public static let managerDefault = DownloadDestination(choice: .managerDefault)
}
