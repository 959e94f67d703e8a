import FoundationEssentials
import SwiftAF

/// Cookies in Netscape's format, as curl writes them: with those that have no date, because the commands of a script
/// are one session.
enum CookieFile {
    static func text(of cookies: [Cookie]) -> String {
        "# Netscape HTTP Cookie File\n" + cookies.map(line).joined()
    }

    private static func line(_ cookie: Cookie) -> String {
        let name = cookie.domain.hasPrefix(".") ? String(cookie.domain.dropFirst()) : cookie.domain
        let domain = (cookie.isHTTPOnly ? "#HttpOnly_" : "") + (cookie.isHostOnly ? name : ".\(name)")
        // 0 has no date.
        let seconds = cookie.expiresDate.map { min(max(1, $0.timeIntervalSince1970), 1e15) } ?? 0
        let fields = [
            domain, cookie.isHostOnly ? "FALSE" : "TRUE", cookie.path, cookie.isSecure ? "TRUE" : "FALSE",
            String(Int64(seconds)), cookie.name, cookie.value,
        ]
        return fields.joined(separator: "\t") + "\n"
    }
}
