/// How a file is downloaded.
public struct DownloadOptions: OptionSet, Hashable, Sendable {
    public let rawValue: Int

    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// A file that exists is replaced, at the moment when the new one is complete. Without this it is an error, and
    /// left as it is.
    public static let replacesFile = DownloadOptions(rawValue: 1 << 0)
    /// Folders that are missing are made.
    public static let createsFolders = DownloadOptions(rawValue: 1 << 1)
    /// What has come is kept when the download fails, is cancelled, or its process dies: in `PATH.part`, with what is
    /// needed to go on in `PATH.part.resume`. Only for a `GET` whose answer has a strong validator (an ETag that is not
    /// weak, or a Last-Modified that is old enough); nothing is kept otherwise.
    public static let keepsPartialFile = DownloadOptions(rawValue: 1 << 2)
    /// Goes on with `PATH.part`, if it is of this URL and the server still has the same version; all comes anew
    /// otherwise.
    public static let resumes = DownloadOptions(rawValue: 1 << 3)
    /// The download ends when file and folder are on the disk. Other transfers of the session wait for the disk too.
    public static let synchronizes = DownloadOptions(rawValue: 1 << 4)
    /// If the path is a symbolic link, the file that it leads to is replaced, and the link stays. Without this the link
    /// is replaced.
    public static let followsLinks = DownloadOptions(rawValue: 1 << 5)
    /// A file that is replaced keeps its permissions instead of those of a new one.
    public static let keepsPermissions = DownloadOptions(rawValue: 1 << 6)
}
