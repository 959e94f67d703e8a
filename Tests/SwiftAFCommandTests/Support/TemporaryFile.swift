import FoundationEssentials
import Glibc

/// A file, or only its free path, in a folder of its own that goes away with this object.
final class TemporaryFile {
    let folder: String
    let path: String

    init(_ content: Data? = nil) throws {
        var template = Array("/tmp/swiftaf-test-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw CocoaError(.fileWriteUnknown) }
        folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        path = folder + "/file"
        try content?.write(to: URL(filePath: path))
    }

    convenience init(_ text: String) throws {
        try self.init(Data(text.utf8))
    }

    deinit {
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// What the file holds now; nil if there is none.
    var content: Data? { try? Data(contentsOf: URL(filePath: path)) }

    /// The names in its folder.
    var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] }
}
