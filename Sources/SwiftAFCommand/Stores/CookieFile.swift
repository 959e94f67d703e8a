import FoundationEssentials
import Glibc
import SwiftAF

/// Cookies in Netscape's format, as curl writes them.
enum CookieFile {
    /// Reads a jar, which is empty if there is no file, or with /dev/null. The storage has no file of its own, so that
    /// it never changes this one.
    static func read(_ path: RawText) throws(SessionError) -> CookieStorage {
        let storage = try CookieStorage()
        guard InputFile.exists(path), path != "/dev/null" else { return storage }
        let name: String
        do throws(Failure) {
            name = try InputFile.name(path)
        } catch {
            throw SessionError(.file, message: error.message)
        }
        for cookie in try CookieStorage(path: name).cookies() { try storage.setCookie(cookie) }
        return storage
    }

    /// Returns the cookies of a jar that was read already. The library reads only files, so it gets one that never has
    /// a name which others could find.
    static func storage(of content: Data) throws(SessionError) -> CookieStorage {
        let name = "/swiftaf-\(String(UInt64.random(in: .min ... .max), radix: 36))"
        let path = FileManager.default.temporaryDirectory.path + name
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw OutputFile.failure(RawText(path), errno) }
        defer { close(descriptor) }
        unlink(path)
        do throws(WriteError) {
            try DescriptorSink(descriptor: descriptor).write(content)
        } catch {
            throw SessionError(.file, message: "a temporary file can't be written")
        }
        return try read(RawText("/proc/self/fd/\(descriptor)"))
    }

    /// Whether a file may be replaced by cookies: all of its lines are blank, comments or cookies. A file without a
    /// cookie is a jar only if it has the title of one, or is empty.
    static func isJar(_ content: Data) -> Bool {
        guard !content.contains(0) else { return false }
        let lines = lines(of: content)
        let entries = lines.filter { !isComment($0) }
        guard entries.allSatisfy(isCookie) else { return false }
        return !entries.isEmpty || lines.isEmpty || lines.contains(where: isTitle)
    }

    /// Whether a file has a line that the library's jar ignores: it is neither blank, a comment nor a cookie, which may
    /// lack the tab before an empty value.
    static func hasOtherLine(_ content: Data) -> Bool {
        lines(of: content).contains { line in
            let fields = fields(of: line)
            return !isComment(line) && (fields.count < 6 || fields[0].isEmpty || !isExpiry(fields[4]))
        }
    }

    /// The lines that aren't blank.
    private static func lines(of content: Data) -> [Data] {
        content.split(separator: UInt8(ascii: "\n")).filter { line in line.contains { !" \t\r".utf8.contains($0) } }
    }

    /// Returns the number of the first line with a cookie that the library's jar doesn't hold: it would be lost when
    /// the jar is saved.
    static func unusableLine(_ content: Data) -> Int? {
        let lines = content.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        return lines.firstIndex { line in
            guard !isComment(line), isCookie(line) else { return false }
            let fields = fields(of: line)
            let isSecure = isTrue(fields[3])
            let name = fields[5].lowercased()
            // A semicolon would be sent as the start of another cookie. Prefixes: RFC 6265bis 4.1.3.
            let isSplit =
                [fields[2], fields[5], fields[6]].contains { $0.utf8.contains(UInt8(ascii: ";")) }
                || name.utf8.contains(UInt8(ascii: "="))
            let keepsPrefix =
                name.hasPrefix("__host-")
                ? isSecure && !isTrue(fields[1]) && fields[2] == "/" : !name.hasPrefix("__secure-") || isSecure
            return isSplit || !keepsPrefix
        }.map { $0 + 1 }
    }

    /// Whether a line is a comment. One that begins with curl's `#HttpOnly_` isn't: it is a cookie that scripts can't
    /// read.
    private static func isComment(_ line: Data) -> Bool {
        line.first == UInt8(ascii: "#") && !line.starts(with: "#HttpOnly_".utf8)
    }

    /// Whether a line is the title that curl, wget, browsers and this program write into the first line.
    private static func isTitle(_ line: Data) -> Bool {
        let text = String(decoding: line, as: UTF8.self).lowercased()
        return ["# netscape http cookie file", "# http cookie file"].contains { text.hasPrefix($0) }
    }

    /// The fields of a cookie: domain, whether it holds for subdomains, path, whether it needs TLS, the end in seconds,
    /// name and value. The value takes the rest of the line: it may hold tabs.
    private static func fields(of line: Data) -> [String] {
        line.split(separator: UInt8(ascii: "\t"), maxSplits: 6, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
    }

    private static func isCookie(_ line: Data) -> Bool {
        let fields = fields(of: line)
        guard fields.count == 7, !fields[0].isEmpty, isExpiry(fields[4]) else { return false }
        return [fields[1], fields[3]].allSatisfy { isTrue($0) || $0.lowercased() == "false" }
    }

    private static func isTrue(_ field: String) -> Bool { field.lowercased() == "true" }

    /// Whether a field is a time in seconds, perhaps with a fraction; or empty, as Python writes it for cookies of the
    /// session. A negative time is in the past: the library's jar drops the cookie like others that have expired.
    private static func isExpiry(_ field: String) -> Bool {
        let parts = field.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        let fraction = parts.dropFirst().first ?? ""
        // Int64 also reads a plus, and the library's jar doesn't.
        let isNumber = Int64(parts[0]) != nil && parts[0].utf8.first != UInt8(ascii: "+")
        return field.isEmpty || (isNumber && fraction.utf8.allSatisfy(ASCII.isDigit))
    }
}
