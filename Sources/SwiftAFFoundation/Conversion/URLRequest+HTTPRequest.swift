import Foundation
public import FoundationNetworking
public import SwiftAF

extension HTTPRequest {
    /// Converts a `URLRequest`.
    ///
    /// - `timeoutInterval` becomes ``Timeouts/idle``, unless it is Foundation's default of 60 s: then the session's
    ///   timeout applies.
    /// - An `InputStream` becomes a body that is read in chunks while it is sent, on its own queue and only once, so a
    ///   redirect that replays the body fails. Its length is taken from the Content-Length field.
    /// - Cache policy, cookies, service type and cellular access become ``hints``; those with their default value stay
    ///   unset. Pipelining isn't converted: Foundation has deprecated it.
    /// - Content-Length and Transfer-Encoding are omitted: they are computed from the body.
    ///
    /// A request without a URL gets an empty one, which is an error when it is sent.
    public init(_ request: URLRequest) {
        self.init(HTTPMethod(request.httpMethod ?? "GET"), request.url?.absoluteString ?? "")
        let fields = (request.allHTTPHeaderFields ?? [:]).sorted { $0.key < $1.key }
        headers = HTTPHeaders(fields.map { ($0.key, $0.value) })
        let length = headers.first(named: HTTPHeaders.Name.contentLength).flatMap { Int64($0) }
        headers.remove(named: HTTPHeaders.Name.contentLength)
        headers.remove(named: HTTPHeaders.Name.transferEncoding)
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
}

extension URLRequest {
    /// A request with the default value of every property.
    fileprivate static let initial = URLRequest(url: URL(fileURLWithPath: "/"))

    /// Converts an `HTTPRequest`. Of the timeouts, only the idle timeout is kept; of the other settings, only the
    /// hints. Repeated fields are joined with commas.
    ///
    /// - Throws: `SessionError` with code `invalidInput` if the URL isn't a valid `URL`; with `unsupported` if the body
    ///   is an async sequence or computed, which an `InputStream` can't provide; with `file` if the body is a file that
    ///   can't be opened.
    public init(_ request: HTTPRequest) throws(SessionError) {
        guard let url = request.parsedURL else {
            throw SessionError(.invalidInput, message: "the URL can't be parsed", url: request.url)
        }
        self.init(url: url)
        httpMethod = request.method.rawValue
        for (name, value) in request.headers.joined { setValue(value, forHTTPHeaderField: name) }
        if let idle = request.timeouts.idle { timeoutInterval = idle == .zero ? .infinity : idle.timeInterval }
        request.hints.apply(to: &self)
        try setBody(of: request)
    }

    private mutating func setBody(of request: HTTPRequest) throws(SessionError) {
        if let path = request.body.filePath {
            guard let stream = InputStream(fileAtPath: path) else {
                throw SessionError(.file, message: "the file of the body can't be opened", url: request.url)
            }
            httpBodyStream = stream
        } else if let data = request.body.data {
            httpBody = data
        } else if !request.body.isNone {
            throw SessionError(.unsupported, message: "the body can't become an InputStream", url: request.url)
        }
    }
}

extension HTTPHeaders {
    /// Each name once, with its values joined with commas, as Foundation stores them.
    var joined: [(name: String, value: String)] {
        var seen: Set<String> = []
        return fields.compactMap { field in
            guard seen.insert(field.name.lowercased()).inserted else { return nil }
            return (field.name, values(for: field.name).joined(separator: ", "))
        }
    }
}

extension Duration {
    /// Converts Foundation's seconds. No limit if they are NaN, not positive or too large.
    fileprivate init(limit seconds: TimeInterval) {
        self = seconds > 0 && seconds < 1e9 ? .seconds(seconds) : .zero
    }

    fileprivate var timeInterval: TimeInterval {
        let (seconds, attoseconds) = components
        return TimeInterval(seconds) + TimeInterval(attoseconds) / 1e18
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
