import FoundationEssentials
import Glibc
import SwiftAF

/// `--timestamps`: a file is downloaded only if the server's is newer, and gets the server's time.
enum Timestamps {
    /// Lets the server send only what is newer than the file at a path. A server may ignore that (RFC 9110, section
    /// 13.1.3); the response's own time then decides, before its body is read.
    static func compare(_ request: inout HTTPRequest, with path: RawText) {
        guard let fileTime = FileStatus(path)?.facts.st_mtim.tv_sec else { return }
        if let date = HTTPDate.text(of: fileTime) { request.headers.fillGap(name: "If-Modified-Since", value: date) }
        request.responseHandler = { response in
            guard response.isSuccessful, let time = time(of: response), time <= fileTime else {
                return .allow
            }
            return .fail(SessionError(.status))
        }
    }

    /// Gives a file the time of the response's Last-Modified field, if there is one.
    static func apply(_ response: HTTPResponse, to path: RawText) {
        guard let seconds = time(of: response) else { return }
        let time = timespec(tv_sec: seconds, tv_nsec: 0)
        _ = path.withCString { utimensat(AT_FDCWD, $0, [time, time], 0) }
    }

    /// The seconds since 1970 of the Last-Modified field; nil without a valid one.
    ///
    /// A server must not send a time later than that of the response (RFC 9110, section 8.8.2.1). Such a time becomes
    /// that of the response, or the current one: a file from the future would count as up to date for ever.
    private static func time(of response: HTTPResponse) -> Int? {
        guard let modified = date("Last-Modified", of: response) else { return nil }
        let sent = date("Date", of: response) ?? .now
        return Int(min(modified, sent, .now).timeIntervalSince1970)
    }

    private static func date(_ field: HTTPHeaders.Name, of response: HTTPResponse) -> Date? {
        response.headers.first(named: field).flatMap { HTTPDate.parse($0) }
    }
}
