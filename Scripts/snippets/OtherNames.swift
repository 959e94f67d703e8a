// Names of other libraries, and what the compiler says about each: Scripts/checks/snippets compares it with the comment
// in the line before.

import AFTestServer
import FoundationEssentials
import SwiftAF

func ofURLSession(request: HTTPRequest, response: Response<Data>, stream: StreamedResponse) {
    var request = request
    // 'httpMethod' has been renamed to 'method'
    request.httpMethod = .post
    // 'httpBody' is unavailable: set body, such as body = .data(bytes)
    request.httpBody = Data()
    // 'timeoutInterval' is unavailable: set timeouts, such as timeouts.idle = .seconds(60)
    request.timeoutInterval = 60
    // 'setValue(_:forHTTPHeaderField:)' is unavailable: set headers["Name"] = value
    request.setValue("a", forHTTPHeaderField: "X-A")
    // 'addValue(_:forHTTPHeaderField:)' is unavailable: call headers.add(name:value:)
    request.addValue("a", forHTTPHeaderField: "X-A")
    // 'reloadIgnoringCacheData' has been renamed to 'reloadIgnoringLocalCacheData'
    request.cachePolicy = .some(.reloadIgnoringCacheData)

    // 'ephemeral' has been renamed to 'default': the default keeps no cookies, credentials or responses
    var configuration = SessionConfiguration.ephemeral
    // 'timeoutIntervalForRequest' is unavailable: set timeouts.idle, such as timeouts.idle = .seconds(60)
    configuration.timeoutIntervalForRequest = 60
    // 'timeoutIntervalForResource' is unavailable: set timeouts.total, such as timeouts.total = .seconds(600)
    configuration.timeoutIntervalForResource = 600
    // 'httpAdditionalHeaders' has been renamed to 'headers'
    configuration.httpAdditionalHeaders = ["X-A": "a"]
    // 'httpMaximumConnectionsPerHost' has been renamed to 'maximumConnectionsPerHost'
    configuration.httpMaximumConnectionsPerHost = 2
    // 'httpCookieStorage' has been renamed to 'cookieStorage'
    configuration.httpCookieStorage = nil
    // 'urlCache' has been renamed to 'cache'
    configuration.urlCache = nil

    // 'statusCode' has been renamed to 'status'
    _ = response.statusCode
    // 'statusCode' has been renamed to 'status'
    _ = response.head.statusCode
    // 'statusCode' has been renamed to 'status'
    _ = stream.statusCode
    // 'data' has been renamed to 'body'
    _ = response.data
    // 'decode' has been renamed to 'value(as:)'
    _ = try? response.decode(String.self)
    // 'etag' has been renamed to 'eTag'
    _ = response.headers[.etag]
    // 'convertFromSnakeCase' has been renamed to 'snakeCase'
    _ = JSONCoder(keys: .convertFromSnakeCase)
    // 'convertToSnakeCase' has been renamed to 'snakeCase'
    _ = JSONCoder(keys: .convertToSnakeCase)
}

func valueWithItsHead(manager: HTTPSessionManager) async throws {
    // conformance of 'Response<Value>' to 'Decodable' is unavailable: write try await manager.get(url).decoded()
    let names: Response<[String]> = try await manager.get("names")
    // conformance of 'Response<Value>' to 'Decodable' is unavailable: write try await manager.get(url).decoded()
    _ = try await manager.get("names", as: Response<[String]>.self)
    print(names)
}

/// Each `.none` of an optional setting would be its `nil`, which means that of the session.
func none(request: HTTPRequest, configuration: SessionConfiguration, cookie: Cookie) {
    var (request, configuration, cookie) = (request, configuration, cookie)
    // assuming you mean 'Optional<RedirectPolicy>.none'; did you mean 'RedirectPolicy.none' instead?
    request.redirectPolicy = .none
    // assuming you mean 'Optional<HTTPRequest.Proxy>.none'; did you mean 'HTTPRequest.Proxy.none' instead?
    request.proxy = .none
    // assuming you mean 'Optional<Cookie.SameSite>.none'; did you mean 'Cookie.SameSite.none' instead?
    cookie.sameSite = .none
    // 'none' has been renamed to 'doNotFollow'
    configuration.redirectPolicy = .none
    // 'none' has been renamed to 'direct'
    configuration.proxies = .none
    // 'none' has been renamed to 'unrestricted'
    cookie.sameSite = Cookie.SameSite.none
    // 'none' has been renamed to 'direct'
    request.proxy = HTTPRequest.Proxy.none
    // 'disallow' has been renamed to 'doNotFollow'
    configuration.redirectPolicy = .disallow
}

func ofAFNetworking(manager: HTTPSessionManager) {
    // 'setValue(_:forHTTPHeaderField:)' is unavailable: set manager.headers["Name"] = value
    manager.requestSerializer.setValue("a", forHTTPHeaderField: "X-A")
    // 'timeoutInterval' is unavailable: set manager.timeouts, such as manager.timeouts.idle = .seconds(60)
    manager.requestSerializer.timeoutInterval = 60
    // 'acceptableContentTypes' is unavailable: set manager.validation.acceptableContentTypes
    manager.responseSerializer.acceptableContentTypes = ["text/html"]
    // 'allowInvalidCertificates' has been renamed to 'allowsInvalidCertificates'
    manager.securityPolicy.allowInvalidCertificates = true
    // 'invalidateSessionCancelingTasks(_:resetSession:)' is unavailable: call invalidate(cancellingTasks:)
    manager.invalidateSessionCancelingTasks(true, resetSession: false)
}

func ofOtherClients(manager: HTTPSessionManager, form: MultipartFormData, error: SessionError) throws {
    // 'cancelAllRequests()' has been renamed to 'cancelAll()'
    manager.cancelAllRequests()
    // 'update(name:value:)' has been renamed to 'set(name:value:)'
    manager.headers.update(name: "X-A", value: "a")
    // 'replaceOrAdd(name:value:)' has been renamed to 'set(name:value:)'
    manager.headers.replaceOrAdd(name: "X-A", value: "a")
    // 'value(for:)' has been renamed to 'first(named:)'
    _ = manager.headers.value(for: "X-A")
    // 'first(name:)' has been renamed to 'first(named:)'
    _ = manager.headers.first(name: "X-A")
    // 'responseCode' has been renamed to 'status'
    _ = error.responseCode
    // 'statusCode' has been renamed to 'status'
    _ = error.statusCode
    // 'bytes' has been renamed to 'data(_:)'
    _ = HTTPBody.bytes(Data())
    // 'string' has been renamed to 'text(_:)'
    _ = HTTPBody.string("a")
    // 'init(retryLimit:)' has been renamed to 'init(maximumRetries:)'
    _ = RetryPolicy(retryLimit: 3)
    // 'resume' has been renamed to 'resumes'
    let options: DownloadOptions = [.resume]
    // 'createIntermediateDirectories' has been renamed to 'createsFolders'
    _ = options.union(.createIntermediateDirectories)

    var form = form
    // 'append(_:name:fileName:mimeType:)' has been renamed to 'append(_:name:fileName:mediaType:)'
    try form.append(Data(), name: "a", fileName: "a.jpg", mimeType: "image/jpeg")
    // 'append(_:withName:fileName:mimeType:)' has been renamed to 'append(_:name:fileName:mediaType:)'
    try form.append(Data(), withName: "a", fileName: "a.jpg", mimeType: "image/jpeg")
}

func ofTestServers(server: TestServer, fields: [String: Int]) {
    // 'json(_:status:headers:)' has been renamed to 'json(encoding:)'
    server.route("GET /a", .json(["a": 1]))
    // 'json(_:status:headers:)' has been renamed to 'json(encoding:)'
    server.route("GET /a", .json(fields, status: 201))
    // 'baseURL' has been renamed to 'url()'
    _ = server.baseURL
}
