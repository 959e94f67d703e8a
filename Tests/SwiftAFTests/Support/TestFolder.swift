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
