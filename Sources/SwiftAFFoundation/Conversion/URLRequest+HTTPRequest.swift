import Foundation
public import FoundationNetworking
import Glibc
public import SwiftAF

extension HTTPRequest {
    /// Converts a `URLRequest`.
    ///
    /// - `timeoutInterval` becomes ``Timeouts/idle``, unless it is Foundation's default of 60 s: then the session's
    ///   timeout applies. A year or more is no limit.
    /// - An `InputStream` becomes a body that is read in chunks while it is sent, and only once: a redirect that
    ///   replays the body, and another request with a stream that was opened before, fail with
    ///   ``SessionError/Code/bodyNotReplayable``. Its length is taken from the Content-Length field. It is read on one
    ///   of at most 64 threads of the process. Cancelling the request doesn't interrupt a read that blocks, such as
    ///   that of a pipe without a writer: its thread is occupied until the read returns. While all 64 are occupied,
    ///   further streams wait, or fail if all reads belong to cancelled requests. The idle time limit doesn't count
    ///   while a stream is read or waits.
    /// - Cache policy, cookies, service type and cellular access become ``hints``; those with their default value stay
    ///   unset. Pipelining isn't converted: Foundation has deprecated it.
    /// - Content-Length and Transfer-Encoding are omitted: they are computed from the body.
    ///
    /// A request without a URL gets an empty one, which is an error when it is sent.
    public init(_ request: URLRequest) {
        self.init(HTTPMethod(request.httpMethod ?? "GET"), request.url?.absoluteString ?? "")
        let fields = (request.allHTTPHeaderFields ?? [:]).sorted { $0.key < $1.key }
        headers = HTTPHeaders(fields.map { ($0.key, $0.value) })
        let length = headers.first(named: .contentLength).flatMap(Self.length)
        headers.remove(named: .contentLength)
        headers.remove(named: .transferEncoding)
        if let data = request.httpBody {
            body = .data(data)
        } else if let stream = request.httpBodyStream {
            body = .stream(once: InputStreamChunks(stream), length: length)
        }
        if request.timeoutInterval != URLRequest.initial.timeoutInterval {
            timeouts.idle = Duration(limit: request.timeoutInterval)
        }
        hints = Hints(request)
    }

    /// Parses the value of a Content-Length field (RFC 9110 8.6). Nil unless it is 1*DIGIT, such as for a signed
    /// number.
    private static func length(_ value: String) -> Int64? {
        ASCII.isNumber(value) ? Int64(value) : nil
    }
}

/// `response(for:)`, `stream`, `download` and other calls take a `URLRequest`, converted by `HTTPRequest(_:)`.
extension URLRequest: RequestConvertible {
    /// Returns the converted request.
    public static func request(of request: URLRequest) -> HTTPRequest { HTTPRequest(request) }
}

extension URLRequest {
    /// A request with the default value of every property.
    fileprivate static let initial = URLRequest(url: URL(fileURLWithPath: "/"))

    /// Converts an `HTTPRequest`. Of the timeouts, only the idle timeout is kept (no limit becomes a year); of the
    /// other settings, only the hints. Repeated fields are joined with commas, those named Cookie with semicolons. The
    /// body's content type becomes a field, and a JSON body is encoded with a `JSONCoder`, unless it has an encoder of
    /// its own.
    ///
    /// - Throws: `SessionError` with code `invalidInput` if the URL isn't a valid `URL`; with `unsupported` if the body
    ///   is an async sequence or computed, which an `InputStream` can't provide; with `file` if the body is a folder,
    ///   or a file that doesn't exist or can't be read.
    public init(_ request: HTTPRequest) throws(SessionError) {
        guard let url = request.parsedURL else {
            throw SessionError(.invalidInput, message: "the URL can't be parsed", url: request.url)
        }
        var request = request
        try request.encodeJSON(with: JSONCoder())
        self.init(url: url)
        httpMethod = request.method.rawValue
        for (name, value) in request.headers.joined { setValue(value, forHTTPHeaderField: name) }
        if let idle = request.timeouts.idle { timeoutInterval = idle.timeoutInterval }
        request.hints.apply(to: &self)
        try setBody(of: request)
    }

    private mutating func setBody(of request: HTTPRequest) throws(SessionError) {
        if let path = request.body.filePath {
            // Checked because on Linux a stream can be created for any path, and fails only when it is read.
            let failure = Self.failureToRead(path)
            guard failure == nil, let stream = InputStream(fileAtPath: path) else {
                var error = SessionError(.file, message: "the file of the body can't be opened", url: request.url)
                error.systemError = failure
                throw error
            }
            httpBodyStream = stream
        } else if let data = request.body.data {
            httpBody = data
        } else if !request.body.isNone {
            throw SessionError(.unsupported, message: "the body can't become an InputStream", url: request.url)
        }
    }

    /// Returns an `errno` if the path isn't a readable file; nil if it is. The file isn't opened, because opening a
    /// pipe would wait for its writer.
    private static func failureToRead(_ path: String) -> Int32? {
        var file = stat()
        guard stat(path, &file) == 0, access(path, R_OK) == 0 else { return errno }
        return file.st_mode & S_IFMT == S_IFDIR ? EISDIR : nil
    }
}

extension HTTPHeaders {
    /// The fields as Foundation stores them: each name once, with its values joined.
    var joined: [(name: String, value: String)] {
        var seen: Set<String> = []
        return fields.compactMap { field in
            guard seen.insert(ASCII.lowercased(field.name)).inserted else { return nil }
            return (field.name, values(named: field.name).joined(separator: Self.separator(of: field.name)))
        }
    }

    /// Returns the separator of joined values: a comma (RFC 9110 5.3), but a semicolon for Cookie, whose values may
    /// contain commas (RFC 9113 8.2.3).
    private static func separator(of name: String) -> String {
        ASCII.equalIgnoringCase(name, "cookie") ? "; " : ", "
    }
}

extension Duration {
    /// The seconds of a year, used for no limit. Not `TimeInterval.infinity`, because Foundation for Linux converts
    /// milliseconds to an `Int`, which would trap.
    private static let year: TimeInterval = 31_536_000

    /// Converts Foundation's seconds. No limit if they are NaN, not positive, or a year or more.
    fileprivate init(limit seconds: TimeInterval) {
        self = seconds > 0 && seconds < Self.year ? .seconds(seconds) : .zero
    }

    /// The duration in Foundation's seconds: at most a year; zero, which means no limit, becomes a year, too.
    fileprivate var timeoutInterval: TimeInterval {
        self > .zero ? min(Self.year, fractionalSeconds) : Self.year
    }
}

extension HTTPRequest.Hints {
    fileprivate init(_ request: URLRequest) {
        let initial = URLRequest.initial
        self.init()
        if request.cachePolicy != initial.cachePolicy { cachePolicy = Self.cachePolicies[request.cachePolicy] }
        if request.networkServiceType != initial.networkServiceType {
            networkServiceType = Self.serviceTypes[request.networkServiceType]
        }
        if request.httpShouldHandleCookies != initial.httpShouldHandleCookies {
            handlesCookies = request.httpShouldHandleCookies
        }
        if request.allowsCellularAccess != initial.allowsCellularAccess {
            allowsCellularAccess = request.allowsCellularAccess
        }
    }

    fileprivate func apply(to request: inout URLRequest) {
        if let policy = Self.cachePolicies.first(where: { $0.value == cachePolicy }) {
            request.cachePolicy = policy.key
        }
        if let type = Self.serviceTypes.first(where: { $0.value == networkServiceType }) {
            request.networkServiceType = type.key
        }
        if let handlesCookies { request.httpShouldHandleCookies = handlesCookies }
        if let allowsCellularAccess { request.allowsCellularAccess = allowsCellularAccess }
    }

    private static let cachePolicies: [URLRequest.CachePolicy: HTTPRequest.CachePolicy] = [
        .useProtocolCachePolicy: .useProtocolCachePolicy,
        .reloadIgnoringLocalCacheData: .reloadIgnoringLocalCacheData,
        .reloadIgnoringLocalAndRemoteCacheData: .reloadIgnoringLocalAndRemoteCacheData,
        .returnCacheDataElseLoad: .returnCacheDataElseLoad,
        .returnCacheDataDontLoad: .returnCacheDataDontLoad,
        .reloadRevalidatingCacheData: .reloadRevalidatingCacheData,
    ]

    private static let serviceTypes: [URLRequest.NetworkServiceType: HTTPRequest.NetworkServiceType] = [
        .default: .default, .voip: .voip, .video: .video, .background: .background, .voice: .voice,
        .networkServiceTypeCallSignaling: .callSignaling,
    ]
}
