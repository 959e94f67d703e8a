/// Options of a download to a file.
public struct DownloadOptions: OptionSet, Hashable, Sendable {
    public let rawValue: Int

    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// Fails with ``SessionError/Code/file`` if the file exists, and leaves it unchanged. Without this option, an
    /// existing file is replaced atomically once the new one is complete.
    public static let keepsExistingFile = DownloadOptions(rawValue: 1 << 0)
    /// Creates missing folders.
    public static let createsFolders = DownloadOptions(rawValue: 1 << 1)
    /// Keeps the bytes received so far if the download fails, is cancelled, or its process dies: the bytes in
    /// `PATH.part` and the data for resuming in `PATH.part.resume`. Only for a `GET` whose response has a strong
    /// validator (RFC 9110 8.8: an ETag that isn't weak, or a Last-Modified at least a minute older than Date);
    /// otherwise nothing is kept. With another method or a body, this option and ``resumes`` are ignored.
    public static let keepsPartialFile = DownloadOptions(rawValue: 1 << 2)
    /// Resumes `PATH.part` if it was created for this URL and the server still has the same version; otherwise starts
    /// over. Includes ``keepsPartialFile``. A file that is named by its response
    /// (``DownloadDestination/folder(_:)-(String)``, ``DownloadDestination/named(_:)``) is always downloaded from the
    /// start, because the request is sent before there is a name.
    public static let resumes = DownloadOptions(rawValue: 1 << 3 | keepsPartialFile.rawValue)
    /// Syncs the file and its folder to the disk before the download ends, so that the file survives a power failure.
    /// If a ``ResponseDecision`` turns a transfer over HTTP/2 into a download, other transfers of the session wait
    /// while its file is synced.
    public static let syncsToDisk = DownloadOptions(rawValue: 1 << 4)
    /// If the path is a symbolic link, replaces its target and keeps the link; without this option the link itself is
    /// replaced. If the file is a mount point, which can't be replaced, it is overwritten at the end: an error or a
    /// cancellation meanwhile leaves it with the beginning of the new content only. Without this option, the download
    /// to a mount point fails.
    public static let followsLinks = DownloadOptions(rawValue: 1 << 5)
    /// Gives the new file the permissions of the file that it replaces, and the owner and group if the process may set
    /// them. Without this option, it has the permissions of a newly created file.
    public static let keepsPermissions = DownloadOptions(rawValue: 1 << 6)
}
