import FoundationEssentials
import Glibc
import SwiftAF

/// `--timestamps`: a file is downloaded only if the server's is newer, and gets the server's time.
enum Timestamps {
    /// Returns the value of If-Modified-Since for the file at a path; nil without a file.
    static func condition(for path: RawText) -> String? {
        var status = stat()
        guard path.withCString({ stat($0, &status) }) == 0 else { return nil }
        var seconds = status.st_mtim.tv_sec
        var parts = tm()
        guard gmtime_r(&seconds, &parts) != nil else { return nil }
        let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        func two(_ number: Int32) -> String { (number < 10 ? "0" : "") + String(number) }
        let date = "\(two(parts.tm_mday)) \(months[Int(parts.tm_mon)]) \(1900 + parts.tm_year)"
        return
            "\(days[Int(parts.tm_wday)]), \(date) \(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)) GMT"
    }

    /// Gives a file the time of the response's Last-Modified field, if there is one.
    static func apply(_ response: HTTPResponse, to path: RawText) {
        guard let text = response.headers.first(named: "Last-Modified"), let date = HTTPDate.parse(text) else { return }
        let time = timespec(tv_sec: Int(date.timeIntervalSince1970), tv_nsec: 0)
        _ = path.withCString { utimensat(AT_FDCWD, $0, [time, time], 0) }
    }
}
