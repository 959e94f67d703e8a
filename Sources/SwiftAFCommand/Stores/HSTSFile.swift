import FoundationEssentials
import Glibc
import SwiftAF

/// The hosts of `--hsts PATH`: read before the first request, and written when the run ends.
struct HSTSFile {
    let store: HSTSStore
    private let path: RawText
    private let former: HSTSLines

    /// Reads the hosts. If there is no file, there are none.
    init(_ path: RawText) throws(Failure) {
        self.path = path
        guard InputFile.exists(path) else {
            (store, former) = (try Self.store(nil), HSTSLines())
            return
        }
        let descriptor = try Failure.naming("--hsts") { () throws(Failure) in try InputFile.openRegular(path) }
        defer { close(descriptor) }
        // A store writes its file when it's released, without the lock. Under this name, it can't.
        let name = "/proc/self/fd/\(descriptor)"
        do throws(Failure) {
            // Also refuses a file that is too large to be read.
            store = try Self.store(name)
            let content = try InputFile.bytes(RawText(name), as: .store)
            guard HSTSLines.areHosts(content) else {
                throw Failure(
                    .input, .invalidInput, "\(name) isn't a file of HSTS hosts, and would be replaced by one")
            }
            former = HSTSLines(content)
        } catch {
            // A run that was stopped meanwhile, or whose time is over, had no invalid input.
            guard error.exit == .input || error.exit == .file else { throw error }
            let message = error.message.replacing(name, with: path.shown.printable)
            throw Failure(.input, .invalidInput, "--hsts: \(message)")
        }
    }

    private static func store(_ name: String?) throws(Failure) -> HSTSStore {
        do throws(SessionError) {
            return try HSTSStore(path: name)
        } catch {
            throw Failure(error)
        }
    }

    /// Writes the hosts. What other runs have changed meanwhile in the file stays, except the hosts that this run set
    /// or removed.
    func save() async throws(Failure) {
        try await FileLock.hold(for: path) { () throws(Failure) in
            var lines = HSTSLines(try content())
            do throws(SessionError) {
                lines.merge(from: former, to: HSTSLines(try store.exported()))
                try OutputFile.write(Data(lines.text.utf8), to: path, syncs: true)
            } catch {
                throw Failure(error)
            }
        }
    }

    private func content() throws(Failure) -> Data {
        guard InputFile.exists(path) else { return Data() }
        do throws(Failure) {
            return try InputFile.bytes(path, as: .store, stopsWithRun: false)
        } catch {
            throw Failure(.file, .file, error.message)
        }
    }
}

/// The lines of an HSTS file, as curl writes them: a host, with a dot before it if its subdomains are meant too, and
/// the time until which it's known.
struct HSTSLines {
    private var lines: [String: String] = [:]
    private var comment = ""

    init() {}

    init(_ content: Data) {
        for line in Self.lines(of: content) {
            let line = String(decoding: line, as: UTF8.self)
            if line.hasPrefix("#") {
                comment += line + "\n"
                continue
            }
            guard let end = line.firstIndex(of: " ") else { continue }
            let name = line[..<end].lowercased()
            lines[name.hasPrefix(".") ? String(name.dropFirst()) : name] = line
        }
    }

    /// Whether a file may be replaced by hosts: all of its lines are blank, comments or hosts, as this program and curl
    /// write them.
    static func areHosts(_ content: Data) -> Bool {
        guard !content.contains(0) else { return false }
        return lines(of: content).allSatisfy { line in
            line.first == UInt8(ascii: "#") || line.allSatisfy { " \t\r".utf8.contains($0) } || isHost(line)
        }
    }

    /// Returns the lines of a file without their ends, LF or CR LF.
    private static func lines(of content: Data) -> [Data] {
        content.split(separator: UInt8(ascii: "\n")).map { $0.last == UInt8(ascii: "\r") ? $0.dropLast() : $0 }
    }

    private static func isHost(_ line: Data) -> Bool {
        guard let space = line.firstIndex(of: UInt8(ascii: " ")) else { return false }
        let host = line[..<space].drop { $0 == UInt8(ascii: ".") }
        // The library keeps names in the form in which they are sent: in ASCII.
        let isName = host.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") }
        return !host.isEmpty && isName && isMoment(line[line.index(after: space)...])
    }

    private static func isMoment(_ text: Data) -> Bool {
        if text.elementsEqual("\"unlimited\"".utf8) { return true }
        let form = "\"YYYYMMDD HH:MM:SS\"".utf8
        let hasForm =
            text.count == form.count
            && zip(text, form).allSatisfy { byte, kind in
                UInt8(ascii: "A")...UInt8(ascii: "Z") ~= kind ? ASCII.isDigit(byte) : byte == kind
            }
        guard hasForm else { return false }
        let digits = text.filter(ASCII.isDigit).map { Int($0 - UInt8(ascii: "0")) }
        let pairs = stride(from: 4, to: digits.count, by: 2).map { digits[$0] * 10 + digits[$0 + 1] }
        return zip(pairs, [1...12, 1...31, 0...23, 0...59, 0...59]).allSatisfy { $1.contains($0) }
    }

    var text: String {
        let all = lines.sorted { $0.key < $1.key }.map { $0.value + "\n" }
        return comment + all.joined()
    }

    /// Applies the differences between two states, and takes the comment of the latter. A host that another run has
    /// changed meanwhile isn't removed: it may have been renewed after it had expired.
    mutating func merge(from former: HSTSLines, to latter: HSTSLines) {
        comment = latter.comment
        for (host, line) in former.lines where latter.lines[host] == nil && lines[host] == line { lines[host] = nil }
        for (host, line) in latter.lines where former.lines[host] != line { lines[host] = line }
    }
}
