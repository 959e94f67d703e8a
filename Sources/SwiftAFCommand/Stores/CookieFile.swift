import FoundationEssentials
import SwiftAF

/// Cookies in Netscape's format, as curl writes them.
enum CookieFile {
    /// Reads a jar, which is empty if there is no file, or with /dev/null. The storage has no file of its own, so that it
    /// never changes this one.
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

    /// Whether a file may be replaced by cookies: it begins with the comment of a jar, or has a line with seven fields, or
    /// nothing but white space and comments.
    static func isJar(_ content: Data) -> Bool {
        let lines = content.split(separator: UInt8(ascii: "\n")).filter { line in
            line.contains { !" \t\r".utf8.contains($0) }
        }
        guard let first = lines.first else { return true }
        let title = String(decoding: first, as: UTF8.self).lowercased()
        if title.hasPrefix("#"), title.contains("cookie") { return true }
        let entries = lines.filter { $0.first != UInt8(ascii: "#") || $0.starts(with: "#HttpOnly_".utf8) }
        return entries.isEmpty || entries.contains { $0.count { $0 == UInt8(ascii: "\t") } >= 6 }
    }
}
