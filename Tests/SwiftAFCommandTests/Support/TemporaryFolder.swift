import FoundationEssentials
import Glibc

@testable import SwiftAFCommand

/// A folder that goes away with this object.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        var template = Array("/tmp/swiftaf-test-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw CocoaError(.fileWriteUnknown) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// The names in it, as bytes.
    var names: Set<[UInt8]> {
        guard let folder = opendir(path) else { return [] }
        defer { closedir(folder) }
        var names: Set<[UInt8]> = []
        while let entry = readdir(folder) {
            let length = Int(entry.pointee.d_reclen)
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix(length).prefix { $0 != 0 }) }
            if ![[0x2E], [0x2E, 0x2E]].contains(name) { names.insert(name) }
        }
        return names
    }

    /// A path in it.
    func path(_ name: RawText) -> RawText {
        RawText(Array("\(path)/".utf8) + name.bytes)
    }

    func write(_ content: String, to name: RawText, mode: mode_t = 0o644) {
        let descriptor = path(name).withCString { open($0, O_WRONLY | O_CREAT | O_TRUNC, 0o600) }
        _ = Array(content.utf8).withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        fchmod(descriptor, mode)
        close(descriptor)
    }

    /// Returns the content of a file; nil if the file is missing.
    func content(of name: RawText) -> String? {
        let descriptor = path(name).withCString { open($0, O_RDONLY) }
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        let count = read(descriptor, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }

    func mode(of name: RawText) -> mode_t {
        var facts = stat()
        return path(name).withCString { lstat($0, &facts) } == 0 ? facts.st_mode : 0
    }

    func isLink(_ name: RawText) -> Bool { mode(of: name) & S_IFMT == S_IFLNK }
}
