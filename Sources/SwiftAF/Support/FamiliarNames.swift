public import FoundationEssentials

// Names that other libraries have for the same things. None of them can be used: the compiler says what to write
// instead, which Scripts/snippets/OtherNames.swift checks.

// `nil` and `.none` are the same for an optional setting, and mean the session's. With these names, the compiler warns.
extension RedirectPolicy {
    /// Not available: the name is ``doNotFollow``.
    @available(*, unavailable, renamed: "doNotFollow")
    @_documentation(visibility: internal)
    public static var none: RedirectPolicy { doNotFollow }

    /// Not available: the name is ``doNotFollow``.
    @available(*, unavailable, renamed: "doNotFollow")
    @_documentation(visibility: internal)
    public static var disallow: RedirectPolicy { doNotFollow }
}

extension ProxyConfiguration {
    /// Not available: the name is ``direct``.
    @available(*, unavailable, renamed: "direct")
    @_documentation(visibility: internal)
    public static var none: ProxyConfiguration { direct }
}

extension HTTPRequest.Proxy {
    /// Not available: the name is ``direct``.
    @available(*, unavailable, renamed: "direct")
    @_documentation(visibility: internal)
    public static var none: HTTPRequest.Proxy { direct }
}

extension Cookie.SameSite {
    /// Not available: the name is ``unrestricted``.
    @available(*, unavailable, renamed: "unrestricted")
    @_documentation(visibility: internal)
    public static var none: Cookie.SameSite { unrestricted }
}

// MARK: - Foundation's names

extension HTTPRequest {
    /// Not available: the name is ``method``.
    @available(*, unavailable, renamed: "method")
    @_documentation(visibility: internal)
    public var httpMethod: HTTPMethod {
        get { method }
        set { method = newValue }
    }

    /// Not available: set ``body``.
    @available(*, unavailable, message: "set body, such as body = .data(bytes)")
    @_documentation(visibility: internal)
    public var httpBody: Data? {
        get { body.data }
        set { body = newValue.map { .data($0) } ?? .none }
    }

    /// Not available: set ``Timeouts/idle``.
    @available(*, unavailable, message: "set timeouts, such as timeouts.idle = .seconds(60)")
    @_documentation(visibility: internal)
    public var timeoutInterval: Double {
        get { 0 }
        set { timeouts.idle = .seconds(newValue) }
    }

    /// Not available: set a field of ``headers``.
    @available(*, unavailable, message: "set headers[\"Name\"] = value")
    @_documentation(visibility: internal)
    public mutating func setValue(_ value: String?, forHTTPHeaderField name: String) {
        headers[name] = value
    }

    /// Not available: add a field to ``headers``.
    @available(*, unavailable, message: "call headers.add(name:value:)")
    @_documentation(visibility: internal)
    public mutating func addValue(_ value: String, forHTTPHeaderField name: String) {
        headers.add(name: name, value: value)
    }
}

extension HTTPRequest.CachePolicy {
    /// Not available: the name is ``reloadIgnoringLocalCacheData``.
    @available(*, unavailable, renamed: "reloadIgnoringLocalCacheData")
    @_documentation(visibility: internal)
    public static var reloadIgnoringCacheData: HTTPRequest.CachePolicy { reloadIgnoringLocalCacheData }
}

extension SessionConfiguration {
    /// Not available: set ``HTTPRequest/Timeouts/idle``.
    @available(*, unavailable, message: "set timeouts.idle, such as timeouts.idle = .seconds(60)")
    @_documentation(visibility: internal)
    public var timeoutIntervalForRequest: Double {
        get { 0 }
        set { timeouts.idle = .seconds(newValue) }
    }

    /// Not available: set ``HTTPRequest/Timeouts/total``.
    @available(*, unavailable, message: "set timeouts.total, such as timeouts.total = .seconds(600)")
    @_documentation(visibility: internal)
    public var timeoutIntervalForResource: Double {
        get { 0 }
        set { timeouts.total = .seconds(newValue) }
    }

    /// Not available: the name is ``headers``.
    @available(*, unavailable, renamed: "headers")
    @_documentation(visibility: internal)
    public var httpAdditionalHeaders: HTTPHeaders? {
        get { headers }
        set { headers = newValue ?? [:] }
    }

    /// Not available: the name is ``maximumConnectionsPerHost``.
    @available(*, unavailable, renamed: "maximumConnectionsPerHost")
    @_documentation(visibility: internal)
    public var httpMaximumConnectionsPerHost: Int? {
        get { maximumConnectionsPerHost }
        set { maximumConnectionsPerHost = newValue }
    }

    /// Not available: the name is ``cookieStorage``.
    @available(*, unavailable, renamed: "cookieStorage")
    @_documentation(visibility: internal)
    public var httpCookieStorage: CookieStorage? {
        get { cookieStorage }
        set { cookieStorage = newValue }
    }

    /// Not available: the name is ``cache``.
    @available(*, unavailable, renamed: "cache")
    @_documentation(visibility: internal)
    public var urlCache: HTTPCache? {
        get { cache }
        set { cache = newValue }
    }

    /// Not available: ``default`` keeps nothing either.
    @available(*, unavailable, renamed: "default", message: "the default keeps no cookies, credentials or responses")
    @_documentation(visibility: internal)
    public static var ephemeral: SessionConfiguration { .default }
}

extension HTTPResponse {
    /// Not available: the name is ``status``.
    @available(*, unavailable, renamed: "status")
    @_documentation(visibility: internal)
    public var statusCode: Int { status }
}

extension Response {
    /// Not available: the name is ``status``.
    @available(*, unavailable, renamed: "status")
    @_documentation(visibility: internal)
    public var statusCode: Int { status }

    /// Not available: the name is ``body``.
    @available(*, unavailable, renamed: "body")
    @_documentation(visibility: internal)
    public var data: Data { body }
}

extension Response<Data> {
    /// Not available: the name is ``value(as:validation:decoder:)``.
    @available(*, unavailable, renamed: "value(as:)")
    @_documentation(visibility: internal)
    public func decode<Decoded: Decodable>(_ type: Decoded.Type) throws(SessionError) -> Decoded {
        try value(as: type)
    }
}

// What `get(url, as: Response<User>.self)` and `let user: Response<User> = try await manager.get(url)` would need.
@available(*, unavailable, message: "write try await manager.get(url).decoded()")
@_documentation(visibility: internal)
extension Response: Decodable where Value: Decodable {
    public init(from decoder: any Decoder) throws {
        throw DecodingError.dataCorrupted(
            DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "a response isn't a value"))
    }
}

extension StreamedResponse {
    /// Not available: the name is ``status``.
    @available(*, unavailable, renamed: "status")
    @_documentation(visibility: internal)
    public var statusCode: Int { status }

    /// Not available: the name is ``bytes``.
    @available(*, unavailable, renamed: "bytes")
    @_documentation(visibility: internal)
    public var body: Bytes { bytes }
}

extension DownloadResponse {
    /// Not available: the name is ``status``.
    @available(*, unavailable, renamed: "status")
    @_documentation(visibility: internal)
    public var statusCode: Int { status }
}

extension SessionError {
    /// Not available: the name is ``status``.
    @available(*, unavailable, renamed: "status")
    @_documentation(visibility: internal)
    public var statusCode: Int? { status }

    /// Not available: the name is ``status``.
    @available(*, unavailable, renamed: "status")
    @_documentation(visibility: internal)
    public var responseCode: Int? { status }
}

extension JSONCoder.KeyStyle {
    /// Not available: the name is ``snakeCase``.
    @available(*, unavailable, renamed: "snakeCase")
    @_documentation(visibility: internal)
    public static var convertFromSnakeCase: JSONCoder.KeyStyle { snakeCase }

    /// Not available: the name is ``snakeCase``.
    @available(*, unavailable, renamed: "snakeCase")
    @_documentation(visibility: internal)
    public static var convertToSnakeCase: JSONCoder.KeyStyle { snakeCase }
}

// MARK: - AFNetworking's names

extension HTTPSessionManager {
    /// Not available: call ``invalidate(cancellingTasks:)``.
    @available(*, unavailable, message: "call invalidate(cancellingTasks:); instead of resetting, make another manager")
    @_documentation(visibility: internal)
    public func invalidateSessionCancelingTasks(_ cancelsTasks: Bool, resetSession: Bool) {
        invalidate(cancellingTasks: cancelsTasks)
    }
}

extension RequestSerializer {
    /// Not available: set a field of ``HTTPSessionManager/headers``.
    @available(*, unavailable, message: "set manager.headers[\"Name\"] = value")
    @_documentation(visibility: internal)
    public func setValue(_ value: String?, forHTTPHeaderField name: String) {}

    /// Not available: set ``HTTPSessionManager/timeouts``.
    @available(*, unavailable, message: "set manager.timeouts, such as manager.timeouts.idle = .seconds(60)")
    @_documentation(visibility: internal)
    public var timeoutInterval: Double {
        get { 0 }
        nonmutating set {}
    }
}

extension Optional where Wrapped == any ResponseSerializer {
    /// Not available: set ``ResponseValidation/acceptableContentTypes`` of ``HTTPSessionManager/validation``.
    @available(*, unavailable, message: "set manager.validation.acceptableContentTypes")
    @_documentation(visibility: internal)
    public var acceptableContentTypes: Set<String>? {
        get { nil }
        nonmutating set {}
    }
}

extension SecurityPolicy {
    /// Not available: the name is ``allowsInvalidCertificates``.
    @available(*, unavailable, renamed: "allowsInvalidCertificates")
    @_documentation(visibility: internal)
    public var allowInvalidCertificates: Bool {
        get { allowsInvalidCertificates }
        set { allowsInvalidCertificates = newValue }
    }
}

// MARK: - Alamofire's and AsyncHTTPClient's names

extension HTTPSessionManager {
    /// Not available: the name is ``cancelAll()``.
    @available(*, unavailable, renamed: "cancelAll()")
    @_documentation(visibility: internal)
    public func cancelAllRequests() { cancelAll() }
}

extension HTTPHeaders {
    /// Not available: the name is ``set(name:value:isSecret:)``.
    @available(*, unavailable, renamed: "set(name:value:)")
    @_documentation(visibility: internal)
    public mutating func update(name: String, value: String) { set(name: name, value: value) }

    /// Not available: the name is ``set(name:value:isSecret:)``.
    @available(*, unavailable, renamed: "set(name:value:)")
    @_documentation(visibility: internal)
    public mutating func replaceOrAdd(name: String, value: String) { set(name: name, value: value) }

    /// Not available: the name is ``first(named:)-(String)``.
    @available(*, unavailable, renamed: "first(named:)")
    @_documentation(visibility: internal)
    public func value(for name: String) -> String? { first(named: name) }

    /// Not available: the name is ``first(named:)-(String)``.
    @available(*, unavailable, renamed: "first(named:)")
    @_documentation(visibility: internal)
    public func first(name: String) -> String? { first(named: name) }
}

extension HTTPHeaders.Name {
    /// Not available: the name is ``eTag``.
    @available(*, unavailable, renamed: "eTag")
    @_documentation(visibility: internal)
    public static var etag: HTTPHeaders.Name { eTag }
}

extension HTTPBody {
    /// Not available: the name is ``data(_:contentType:)``.
    @available(*, unavailable, renamed: "data(_:)")
    @_documentation(visibility: internal)
    public static func bytes(_ bytes: Data) -> HTTPBody { .data(bytes) }

    /// Not available: the name is ``text(_:contentType:)``.
    @available(*, unavailable, renamed: "text(_:)")
    @_documentation(visibility: internal)
    public static func string(_ string: String) -> HTTPBody { .text(string) }
}

extension MultipartFormData {
    /// Not available: the name is ``append(_:name:fileName:mediaType:headers:)``.
    @available(*, unavailable, renamed: "append(_:name:fileName:mediaType:)")
    @_documentation(visibility: internal)
    public mutating func append(_ data: Data, name: String, fileName: String, mimeType: String) throws(SessionError) {
        try append(data, name: name, fileName: fileName, mediaType: mimeType)
    }

    /// Not available: the name is ``append(_:name:fileName:mediaType:headers:)``.
    @available(*, unavailable, renamed: "append(_:name:fileName:mediaType:)")
    @_documentation(visibility: internal)
    public mutating func append(
        _ data: Data, withName name: String, fileName: String, mimeType: String
    ) throws(SessionError) {
        try append(data, name: name, fileName: fileName, mediaType: mimeType)
    }
}

extension DownloadOptions {
    /// Not available: the name is ``resumes``.
    @available(*, unavailable, renamed: "resumes")
    @_documentation(visibility: internal)
    public static var resume: DownloadOptions { resumes }

    /// Not available: the name is ``createsFolders``.
    @available(*, unavailable, renamed: "createsFolders")
    @_documentation(visibility: internal)
    public static var createIntermediateDirectories: DownloadOptions { createsFolders }
}

extension RetryPolicy {
    /// Not available: the name is ``init(maximumRetries:baseDelay:)``.
    @available(*, unavailable, renamed: "init(maximumRetries:)")
    @_documentation(visibility: internal)
    public init(retryLimit: Int) { self.init(maximumRetries: retryLimit) }
}
