import FoundationEssentials

/// A file, or only its free path, in a folder of its own that goes away with this object.
final class TemporaryFile {
    private let owner: TemporaryFolder
    let path: String

    init(_ content: Data? = nil) throws {
        owner = try TemporaryFolder()
        path = owner.path + "/file"
        try content?.write(to: URL(filePath: path))
    }

    convenience init(_ text: String) throws {
        try self.init(Data(text.utf8))
    }

    var folder: String { owner.path }

    /// What the file holds now; nil without one.
    var content: Data? { try? Data(contentsOf: URL(filePath: path)) }

    /// The names in its folder.
    var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] }
}
