import FoundationEssentials

/// A folder that only one test knows; deleted with the last reference.
final class TestFolder: Sendable {
    let path: String

    init() throws {
        let name = "swiftaf-\(UInt64.random(in: 0 ... .max))"
        path = FileManager.default.temporaryDirectory.appendingPathComponent(name).path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    func file(_ name: String) -> String { "\(path)/\(name)" }

    /// Writes a file, and returns its path.
    func file(_ name: String, _ content: Data) throws -> String {
        try content.write(to: URL(filePath: file(name)))
        return file(name)
    }

    func file(_ name: String, text: String) throws -> String {
        try file(name, Data(text.utf8))
    }

    func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: URL(filePath: file(name)))
    }

    func read(_ name: String) throws -> Data {
        try Data(contentsOf: URL(filePath: file(name)))
    }

    /// In alphabetical order.
    var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
    }
}
