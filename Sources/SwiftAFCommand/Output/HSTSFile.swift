import FoundationEssentials
import Glibc
import SwiftAF

/// The hosts of `--hsts PATH`: read before the first request, and written when the run ends.
struct HSTSFile {
    let store: HSTSStore
    private let path: RawText
    private let former: HSTSLines

    /// Reads the hosts; there are none without a file.
    init(_ path: RawText) throws(Failure) {
        self.path = path
        guard InputFile.exists(path) else {
            (store, former) = (try Self.store(nil), HSTSLines())
            return
        }
        let descriptor = try InputFile.openRegular(path)
        defer { close(descriptor) }
        // A store writes its file when it's released, without the lock. It can't write to this name.
        let name = "/proc/self/fd/\(descriptor)"
        store = try Self.store(name)
        former = HSTSLines(try InputFile.bytes(RawText(name)))
    }

    private static func store(_ name: String?) throws(Failure) -> HSTSStore {
        do throws(SessionError) {
            return try HSTSStore(path: name)
        } catch {
            throw Failure(error)
        }
    }

    /// Writes the hosts. What other runs have changed meanwhile in the file stays, except the hosts that this run set or
    /// removed.
    func save() async throws(Failure) {
        try await FileLock.hold(for: path) { () throws(Failure) in
            let latter = HSTSLines(try storedText())
            var lines = HSTSLines(try content())
            lines.merge(from: former, to: latter)
            do throws(SessionError) {
                try OutputFile.write(Data(lines.text.utf8), to: path)
            } catch {
                throw Failure(error)
            }
        }
    }

    private func content() throws(Failure) -> Data {
        guard InputFile.exists(path) else { return Data() }
        do throws(Failure) {
            return try InputFile.bytes(path)
        } catch {
            throw Failure(.file, .file, error.message)
        }
    }

    /// The hosts of the store in the format of the file. The store writes nothing but files, so they go through one, in the
    /// same folder.
    private func storedText() throws(Failure) -> Data {
        let folder = OutputFile.folder(path).withCString { open($0, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        guard folder >= 0 else { throw Failure(OutputFile.failure(path, errno)) }
        defer { close(folder) }
        let name = "/proc/self/fd/\(folder)/.swiftaf-hsts-\(UInt64.random(in: .min ... .max))"
        defer { unlink(name) }
        do throws(SessionError) {
            try store.save(to: name)
        } catch {
            guard let number = error.systemError else { throw Failure(error) }
            throw Failure(OutputFile.failure(path, number))
        }
        return try InputFile.bytes(RawText(name))
    }
}

/// The lines of an HSTS file, as curl writes them: a host, with a dot before it if its subdomains are meant too, and the
/// time until which it's known.
struct HSTSLines {
    private var lines: [String: String] = [:]

    init() {}

    init(_ content: Data) {
        for line in content.split(separator: UInt8(ascii: "\n")) where line.first != UInt8(ascii: "#") {
            let line = String(decoding: line, as: UTF8.self)
            guard let end = line.firstIndex(of: " ") else { continue }
            let name = line[..<end].lowercased()
            lines[name.hasPrefix(".") ? String(name.dropFirst()) : name] = line
        }
    }

    var text: String {
        let all = lines.sorted { $0.key < $1.key }.map { $0.value + "\n" }
        return "# Hosts that require https; with a dot, also their subdomains\n" + all.joined()
    }

    /// Applies what differs between two states. A host that another run has changed meanwhile isn't removed: it may have
    /// been renewed after it had expired.
    mutating func merge(from former: HSTSLines, to latter: HSTSLines) {
        for (host, line) in former.lines where latter.lines[host] == nil && lines[host] == line { lines[host] = nil }
        for (host, line) in latter.lines where former.lines[host] != line { lines[host] = line }
    }
}
