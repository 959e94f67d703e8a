public import FoundationEssentials

/// A download of a batch.
public struct DownloadItem: Sendable {
    let spec: DownloadSpec

    /// The request, as it was given.
    public var request: HTTPRequest { spec.request }

    /// The path of the file, as it was given; nil if the response or the manager names the file.
    public var filePath: String? { spec.file.path }

    /// Creates a download; see `download(_:to:options:progress:)`.
    public init<Source: RequestConvertible>(
        _ source: Source, to destination: DownloadDestination = .managerDefault,
        options: DownloadOptions = []
    ) {
        spec = DownloadSpec(source, destination, options)
    }

    /// Creates a download to the file at a path.
    public init<Source: RequestConvertible>(_ source: Source, to path: String, options: DownloadOptions = []) {
        spec = DownloadSpec(source, .path(path), options)
    }

    /// Creates a download to the file of a file URL.
    public init<Source: RequestConvertible>(_ source: Source, to file: URL, options: DownloadOptions = []) {
        spec = DownloadSpec(source, .path(file), options)
    }
}

extension DownloadItem: CustomStringConvertible {
    /// Method, URL without user information and query, and path.
    public var description: String { "\(request)" + (filePath.map { " to \($0)" } ?? "") }
}

/// The result of a download of a batch.
public struct DownloadResult: Sendable {
    /// The index of the item in the batch.
    public let index: Int
    /// The response, or the error.
    public let result: Result<DownloadResponse, SessionError>

    /// Creates a result, for tests.
    public init(index: Int, result: Result<DownloadResponse, SessionError>) {
        self.index = index
        self.result = result
    }

    /// Returns the response of a successful download; otherwise throws its error.
    public func get() throws(SessionError) -> DownloadResponse {
        try result.get()
    }
}
