import Foundation
import FoundationNetworking
import SwiftAF

// Each form of call, nonisolated or with the compiler's default isolation.

func sendsWithoutValue(_ manager: HTTPSessionManager, user: User) async throws {
    try await manager.get("users/7")
    try await manager.head("users/7")
    try await manager.delete("users/7")
    try await manager.delete("users/7", progress: { print($0.fractionCompleted ?? 0) })
    try await manager.post("users", json: user)
    try await manager.put("users/7", json: user)
    try await manager.patch("users/7", parameters: ["name": user.name])
    try await manager.post("logout")
    try await manager.request(.delete, "users/7")
    try await manager.request(.options, "users")
    try await manager.request("PURGE", "cache")
}

func returnsCheckedResponse(_ manager: HTTPSessionManager) async throws {
    let response = try await manager.get("users/7")
    let status: Int = response.status
    let tag: String? = response.headers["ETag"]
    let body: Data = response.body
    let url: String = response.url
    let hops = response.metrics.hops.count
    let user = try response.value(as: User.self)
    let same: User = try response.value()
    let both: Response<User> = try response.decoded()
    print(status, tag ?? "", body, url, hops, user, same, both.value.name, both.status)
    print(try response.json()["name"] as Any, try response.text(), response.head.version)
    if try await manager.get("users/7").status == 200 { print("there") }
    let ignored = try await manager.delete("users/7").status
    print(ignored)
}

func takesURLs(_ manager: HTTPSessionManager, url: URL, text: String, part: Substring) async throws {
    let user: User = try await manager.get(url)
    try await manager.post(url, json: user)
    try await manager.delete(part)
    let request = try manager.makeRequest(.get, url, parameters: ["page": 2])
    print(try await manager.response(for: url).status, try await manager.response(for: text).status, request.url)
    for try await line in try await manager.stream(url).lines { print(line) }
    for try await line in try await manager.stream(text).lines { print(line) }
    try await manager.download(url, to: .folder("/tmp"))
    try await manager.download(
        manager.makeRequest(.get, url, parameters: ["page": 2], headers: ["A": "b"]), to: "/tmp/a")
    try await manager.prewarm(url)
    let socket = try await manager.webSocket(url)
    try await socket.close()
    manager.get(url, success: { _, json in print(json) }, failure: nil)
    print(HTTPRequest(url), HTTPRequest(.put, text), HTTPRequest(part))
}

func decodesValues(_ manager: HTTPSessionManager, id: Int) async throws {
    let user: User = try await manager.get("users/\(id)")
    let users = try await manager.get("users", parameters: ["page": id], as: [User].self)
    let created: User = try await manager.post("users", json: NewUser(name: "Ada"))
    let form: User = try await manager.post("users", parameters: ["name": "Ada", "born": 1815])
    let replaced: User = try await manager.put("users/7", json: user)
    let changed: User = try await manager.patch("users/7", json: ["name": "Grace"])
    let gone: User? = try await manager.delete("users/7")
    let nothing: Empty = try await manager.delete("users/7")
    let json: JSONValue = try await manager.get("users/7")
    let bytes: Data = try await manager.get("logo.png")
    let text: String = try await manager.get("motto.txt")
    let number: Int = try await manager.get("count")
    let plan: Plan = try await manager.get("plan")
    let reported: User = try await manager.request("REPORT", "users/7")
    print(user, users, created, form, replaced, changed, gone as Any, nothing, json["name"] as Any, bytes, text, number)
    print(plan, reported)
    let name = try await manager.get("users/7", as: User.self).name
    print(name, try await manager.get("users", as: [User].self).map(\.name))
    async let first: User = manager.get("users/1")
    async let second: User = manager.get("users/2")
    print(try await first, try await second)
}

func returnsAnyStatus(_ manager: HTTPSessionManager) async throws {
    let response = try await manager.response(.get, "users/7")
    if response.status == 404 { return }
    let user: User = try response.validated().value()
    let error: JSONValue = try response.value(validation: .any)
    let other = try await manager.response(for: HTTPRequest(.post, "users", body: .json(user)))
    print(error, other.status, try other.value(as: User.self, decoder: JSONDecoder()))
}

func takesParametersFromVariables(
    _ manager: HTTPSessionManager, name: String, age: Int, tags: [String], nick: String?, birthday: Date
) async throws {
    let parameters: Parameters = [
        "name": name, "age": age, "tags": tags, "nick": nick, "birthday": birthday, "plan": Plan.paid,
        "address": ["city": "London", "zip": nil, "lines": [1, "two", nil]], "none": nil,
    ]
    let counts = ["a": 1, "b": 2]
    let mixed: [String: Any?] = ["a": 1, "b": nil, "c": ["d": "e"]]
    let texts = ["a": "b"]
    let anything: [String: Any] = ["a": 1]
    let user = User(id: 1, name: name)
    try await manager.get("users", parameters: ["born": birthday, "order": Order.newest, "level": Level.high])
    try await manager.post("users", parameters: parameters)
    try await manager.post("users", parameters: ["name": name, "age": age, "tags": tags])
    try await manager.post("users", parameters: Parameters(counts))
    try await manager.post("users", parameters: Parameters(mixed))
    try await manager.post("users", parameters: Parameters(texts))
    try await manager.post("users", parameters: Parameters(anything))
    try await manager.post("users", json: Parameters(anything))
    try await manager.put("users/7", json: Parameters(mixed))
    try await manager.post("users", parameters: Parameters(encoding: user))
    try await manager.post(
        "users", parameters: ["name": Parameters(name), "age": Parameters(age), "nick": Parameters(nick)])
    var search: Parameters = ["q": name]
    search["limit"] = .integer(Int64(age))
    if let nick { search["nick"] = .string(nick) }
    search["tags"] = nil
    search["prefix"] = ["a": name.prefix(2)]
    try await manager.get("users", parameters: search)
    let found: [User] = try await manager.get("users", parameters: ["q": name, "limit": age, "ids": [1, 2, 3]])
    print(found)
}

func sendsBodies(_ manager: HTTPSessionManager, user: User, jpeg: Data, album: Int) async throws {
    try await manager.post("users", body: .json(user))
    try await manager.post("login", body: .form(["user": user.name, "remember": true]))
    try await manager.put("photo", body: .data(jpeg, contentType: "image/jpeg"))
    try await manager.post("notes", body: .text("hello"))
    try await manager.post("notes", body: .text("hello", contentType: "text/plain"))
    try await manager.post("users", body: .json(["name": user.name, "age": 36, "tags": ["a", "b"], "none": nil]))
    try await manager.post("users", body: .json(["name": "Ada", "n": 1]))
    try await manager.post("users", body: .json(["a": 1]))
    try await manager.post("numbers", body: .json([1, 2]))
    let photo: User = try await manager.post(
        "photos", parameters: ["album": album],
        body: .multipart { form in
            try form.append(jpeg, name: "image", fileName: "a.jpg", mediaType: "image/jpeg")
            try form.append(user.name, name: "title")
            try form.append(Data("[1]".utf8), name: "tags", mediaType: "application/json")
        })
    print(photo)
}

func sendsFiles(_ manager: HTTPSessionManager, file: URL, path: String) async throws {
    let film: User = try await manager.post(
        "films",
        body: .multipart { form in
            try form.append(file: file, name: "film", mediaType: "video/mp4")
            try form.append(file: path, name: "poster")
        },
        progress: { print($0.sent) })
    try await manager.put("films/7", body: .file(file), progress: { print($0.uploadFraction ?? 0) })
    try await manager.put("films/7", body: .file(path)) {
        $0.priority = 1
    } progress: {
        print($0.sent)
    }
    let report: Data = try await manager.get("report", progress: { print($0.received) })
    try await manager.request("PURGE", "cache", progress: { print($0) })
    print(film, report, try await manager.response(.post, "x", body: .file(file), progress: { print($0.sent) }).status)
}

func configuresOneCall(_ manager: HTTPSessionManager, limit: Duration) async throws {
    let user: User = try await manager.get("users/7", configure: { $0.timeouts.total = .seconds(5) })
    try await manager.post("users", json: user, configure: { $0.timeouts.total = limit })
    try await manager.get("users/7") { $0.priority = 1 }
    var request = try manager.makeRequest(.get, "search", parameters: ["q": user.name])
    request.proxy = .direct
    request.redirectPolicy = .doNotFollow
    print(try await manager.response(for: request).status)
}

func sendsFieldsThatMayBeNil(_ manager: HTTPSessionManager, tag: String?) async throws {
    let response = try await manager.response(.get, "users/7", headers: ["If-None-Match": tag, "Accept": "text/html"])
    let request = HTTPRequest(.get, "users/7", headers: ["If-None-Match": tag])
    print(response.status, request)
}

func sharesSettings(_ manager: HTTPSessionManager, token: String) {
    manager.headers.authorization = .bearer(token)
    manager.headers["X-Client"] = "consumer"
    manager.headers[.contentType] = "text/plain"
    let name = "X-Client"
    manager.headers[name] = manager.headers.first(named: name) ?? manager.headers[HTTPHeaders.Name.userAgent]
    manager.headers.add(name: .accept, value: "text/html")
    manager.headers.add(name: "Accept", value: "text/plain")
    manager.headers.add(name: name, value: token)
    manager.headers.add(HTTPHeaders.Field(name: .eTag, value: "1"))
    manager.headers.set(name: .referer, value: "http://h/")
    manager.headers.remove(named: .accept)
    manager.headers.remove(named: name)
    manager.headers.suppressDefault(.userAgent)
    print(manager.headers.values(named: .accept), manager.headers.values(named: "Accept"))
    print(manager.headers.contains(named: .accept), manager.headers.contains(named: name))
    print(manager.headers.fields.contains { $0.isNamed(.cookie) || $0.isNamed("Cookie") || $0.isNamed(name) })
    let trace: HTTPHeaders.Name = "X-Trace"
    manager.headers[trace] = nil
    let fields = ["X-Token": token]
    manager.headers.merge(HTTPHeaders(fields))
    manager.headers = HTTPHeaders(["X-Token": token, "X-Other": "a"])
    manager.headers.suppressDefault("Accept-Language")
    manager.updateHeaders { $0["X-Client"] = "consumer" }
    manager.timeouts.total = .seconds(30)
    manager.validation.acceptableStatusCodes = [200, 404]
    manager.validation.acceptableContentTypes = ["*/*"]
    manager.decoder = JSONCoder(keys: .snakeCase, dates: .iso8601)
    manager.encoder = JSONCoder(keys: .snakeCase)
    manager.decoder = JSONDecoder()
    manager.encoder = JSONEncoder()
    manager.requestSerializer = JSONRequestSerializer()
    manager.requestSerializer = JSONRequestSerializer(encoder: JSONEncoder())
    manager.responseSerializer = DataResponseSerializer()
    manager.downloadDestination = .folder("/tmp")
}

func downloads(_ manager: HTTPSessionManager, url: String, link: URL, path: String) async throws {
    try await manager.download(url, to: "/tmp/report.pdf")
    try await manager.download(url, to: path)
    try await manager.download(url, to: .path(path))
    try await manager.download(link, to: "\(path)/report.pdf")
    try await manager.download("reports/7", to: .named { "/tmp/" + $0.suggestedFileName })
    try await manager.download(HTTPRequest(.post, "export"), to: .folder("/tmp"), options: .createsFolders)
    let response = try await manager.download(url)
    print(response.filePath, response.status, response.headers, response.url, response.head.version)
    let task = manager.downloadTask(for: url, to: .path(path)) { head, path, error in
        print(head?.status ?? 0, path ?? "", error?.status ?? 0)
    }
    task.resume()
    try await manager.download(url, to: URL(filePath: path))
    manager.downloadTask(for: url, to: URL(filePath: path)) { _, path, _ in print(path ?? "") }.resume()
    print(response.fileURL, DownloadItem(url, to: URL(filePath: path)), DownloadItem(url, to: path))
    let digests: [FileDigest] = [.sha256(url), .sha512(url.dropFirst())]
    for digest in digests { try await manager.download(url, to: .path(path).verified(by: digest)) }
    let items = [url, "b"].map { DownloadItem($0, to: .folder(path)) }
    for await result in manager.downloads(of: items) { print(try result.get().fileSize) }
    for await result in manager.downloads(of: items, progress: { print($0.ended, $0.count, $0.fractionCompleted) }) {
        print(result.index)
    }
}

func showsNoCancellation(_ manager: HTTPSessionManager) async -> String? {
    do {
        let user: User = try await manager.get("users/7")
        try Task.checkCancellation()
        return user.name
    } catch let error where error.isCancellation {
        return nil
    } catch {
        return "\(error)"
    }
}

func readsErrors(_ manager: HTTPSessionManager) async {
    do throws(SessionError) {
        try await manager.delete("users/7")
    } catch {
        print(error.status ?? 0, error.code, error.body ?? Data())
    }
    do {
        try await manager.delete("users/7")
        try Task.checkCancellation()
    } catch {
        print(error.asSessionError?.status ?? 0)
    }
    do {
        try await manager.delete("users/7")
    } catch SessionError.Code.timeout {
        print("late")
    } catch {
        print(error)
    }
    Task {
        do {
            let user: User = try await manager.get("users/7")
            print(user)
        } catch {
            print(error.asSessionError?.status ?? 0)
        }
    }
    let names = try? await withThrowingTaskGroup(of: User.self) { group in
        for id in 0..<3 { group.addTask { try await manager.get("users/\(id)") } }
        var names: [String] = []
        for try await user in group { names.append(user.name) }
        return names
    }
    print(names ?? [])
}

func usesClosures(_ manager: HTTPSessionManager, user: User, jpeg: Data) {
    manager.get("users", success: { task, json in print(task.id, json[0]?["name"] as Any) }, failure: { print($1) })
    manager.get("users/7", with: .value(User.self), success: { _, user in print(user.name) }, failure: nil)
    manager.get("motto.txt", with: .string, success: { _, text in print(text.count) }, failure: nil)
    manager.get("logo.png", with: .data, success: { print($1.count) }, failure: { task, error in print(error) })
    manager.get("users") { task, json in
        print(json)
    } failure: { task, error in
        print(task?.id ?? 0, error)
    }
    manager.head("users", success: { print($1.status) }, failure: nil)
    manager.post("users", parameters: ["name": user.name], success: { print($1) }, failure: nil)
    manager.post("users", json: user, with: .value(User.self), success: { print($1.id) }, failure: nil)
    manager.put("users/7", json: user, success: { _, _ in }, failure: nil)
    manager.patch("users/7", parameters: ["name": user.name], success: { _, _ in }, failure: nil)
    manager.delete("users/7", configure: { $0.timeouts.total = .seconds(5) }, success: { _, _ in }, failure: nil)
    manager.post(
        "photos", parameters: ["album": 7], body: .multipart { try $0.append(jpeg, name: "image") },
        progress: { print($0.sent) }, success: { print($1) }, failure: nil)
    let task = manager.request("REPORT", "users", success: { print($1) }, failure: nil)
    task?.cancel()
}

func decidesAboutRetriesAndBodies(_ manager: HTTPSessionManager) async throws {
    let user = try await manager.get("users/7", as: User.self, configure: { $0.allowsRetries = false })
    var request = HTTPRequest("log")
    request.allowsRetries = false
    request.responseHandler = { $0.status == 200 ? .write(toDescriptor: 1) : .allow }
    let written = try await manager.response(for: request)
    print(user, written.status)
}

func exchangesMessages(_ manager: HTTPSessionManager, user: User) async throws {
    let socket = try await manager.webSocket("wss://example.org/chat", protocols: ["v2", "v1"])
    try await socket.send("text")
    try await socket.send(Data([1, 2]))
    try await socket.send(.binary(Data()))
    try await socket.send(json: user)
    let answer = try await socket.receive()
    let sender: User? = try await socket.receive()
    print(answer?.data.count ?? 0, sender?.name ?? "", try await socket.receive(as: User.self) == user)
    let time: Duration = try await socket.ping()
    for try await message in socket {
        switch message {
        case .text(let text): print(text)
        case .binary(let data): print(data.count)
        }
        print(try message.value(as: User.self).name)
    }
    print(time, socket.closeCode ?? .abnormal, socket.closeReason, socket.subprotocol ?? "", socket.response.status)
    var options = WebSocket.Options()
    options.pingInterval = .seconds(30)
    let second = try await manager.webSocket("chat", parameters: ["room": 7], headers: ["X-A": "b"], options: options)
    let third = try await manager.webSocket(HTTPRequest("chat"), options: options)
    async let first: Void = second.send("one")
    async let other: Void = third.send("two")
    _ = try await (first, other)
    try await second.close(.goingAway, reason: "moved")
    third.cancel()
}

func decidesAboutHandshakes(_ manager: HTTPSessionManager, user: User) async throws {
    manager.redirectHandler = { proposal in
        guard proposal.crossesOrigin else { return .follow }
        var next = proposal.request
        next.url = "wss://example.org/chat"
        return .replace(next)
    }
    manager.authenticationChallengeHandler = { challenge in
        challenge.previousFailureCount == 0
            ? .useCredential(Credential(user: user.name, password: "secret")) : .cancel
    }
    let socket = try await manager.webSocket("chat") { request in
        request.informationalHandler = { print($0.status) }
    }
    try await socket.close()
}

func followsMessages(_ manager: HTTPSessionManager, user: User) async throws {
    for try await message in manager.messages(from: "wss://example.org/feed") { print(message) }
    for try await message in manager.messages(from: URL(string: "wss://example.org/feed")!) { print(message) }
    var options = WebSocketMessages.Options()
    options.maximumRetries = nil
    let greeted = manager.messages(from: "feed", options: options) { socket in
        try await socket.send(json: user)
    }
    for try await message in greeted { print(try message.value(as: User.self)) }
}

/// Own serializers need no typealias.
nonisolated struct LineSerializer: ValidatingResponseSerializer {
    var validation = ResponseValidation.default

    func parse(_ body: Data, of response: HTTPResponse) throws -> [String] {
        String(decoding: body, as: UTF8.self).split(separator: "\n").map(String.init)
    }
}

func usesOwnSerializer(_ manager: HTTPSessionManager) async throws {
    let lines = try await manager.get("lines").serialized(by: LineSerializer())
    print(lines.first ?? "")
    manager.get("lines", with: LineSerializer(), success: { print($1.count) }, failure: nil)
}

/// `Cookie` and Foundation's `HTTPCookie` go together.
func usesCookies(_ storage: CookieStorage, url: String) throws {
    var cookie = Cookie(name: "a", value: "b", domain: "example.org")
    cookie.sameSite = .unrestricted
    try storage.setCookie(cookie)
    print(try storage.cookies(for: url).count, HTTPCookie(properties: [:]) as Any)
}

func readsEvents(_ manager: HTTPSessionManager) async throws {
    var options = ServerSentEvents.Options()
    options.retriedStatusCodes = [502, 503, 504]
    for try await event in manager.events(from: "users", options: options) {
        let user: User = try event.value()
        print(user, try event.value(as: User.self).name)
    }
}

func readsAnswersOnce(_ manager: HTTPSessionManager, question: String) async throws {
    let request = HTTPRequest(.post, "v1/answers", body: .json(["question": question, "stream": true]))
    for try await event in manager.events(from: request) { print(event.data) }
    var options = ServerSentEvents.Options()
    options.reconnects = .always
    for try await event in manager.events(from: request, options: options) { print(event.id) }
}

func usesTheCache(_ manager: HTTPSessionManager) async throws {
    let user: User = try await manager.get("users/7") { $0.cachePolicy = .returnCacheDataElseLoad }
    print(user, try await manager.get("users/7").cacheStatus.isFromCache)
    let other: User = try await manager.get("users/8") {
        $0.cachePolicy = .bypassCache
        $0.collapsesRequests = true
    }
    var configuration = SessionConfiguration()
    configuration.collapsesRequests = true
    print(other, HTTPSessionManager(configuration: configuration))
}

func followsLinks(_ manager: HTTPSessionManager, isPaged: Bool) async throws {
    let pages = ["page": 1]
    let first = try await manager.get("users", parameters: isPaged ? Parameters(pages) : nil)
    let second: [User] = try await manager.get(first.url(resolving: "?page=2"))
    print(second, first.head.url(resolving: "/users/7"))
}

func decodesFailures(_ manager: HTTPSessionManager) async throws {
    do {
        try await manager.delete("users/7")
    } catch {
        if let delay = error.response?.retryAfter { print(delay) }
        let user: User = try error.decodeBody()
        print(user, try error.decodeBody(as: User.self), (try? error.decodeBody(as: User.self))?.name ?? "")
    }
}

func configuresProxies() -> SessionConfiguration {
    var configuration = SessionConfiguration()
    configuration.proxies = .url("http://proxy.example.org:3128", bypass: "localhost")
    configuration.proxies = .url("http://proxy.example.org:3128")
    configuration.proxyCredential = Credential(user: "ada", password: "secret")
    return configuration
}

func mocks(_ manager: HTTPSessionManager, seconds: Int) {
    manager.interceptors = [
        Interceptor(intercept: { _, _ in Response(head: HTTPResponse(status: 204)) }),
        BearerAuthenticator(for: "https://example.org") { _ in BearerToken("a", expiresIn: .seconds(seconds)) },
    ]
}

func configuresTrust() -> SecurityPolicy {
    var policy = SecurityPolicy()
    policy.pinning = .init(keys: ["sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="])
    return policy
}

func runsOnTheNetworkThread(_ manager: HTTPSessionManager) async throws {
    let user: User = try await withTaskExecutorPreference(manager.taskExecutor) {
        try await manager.get("users/7")
    }
    let names = try await withTaskExecutorPreference(manager.taskExecutor) {
        try await withThrowingTaskGroup(of: User.self) { group in
            for id in 1...20 { group.addTask { try await manager.get("users/\(id)") } }
            var names: [String] = []
            for try await user in group { names.append(user.name) }
            return names
        }
    }
    let task = Task(executorPreference: manager.taskExecutor) { try await manager.get("users/7").status }
    manager.completionExecutor = .executor(manager.taskExecutor)
    print(user, names, try await task.value)
}

@MainActor
func streamsFromMainActor(_ manager: HTTPSessionManager) async throws {
    let limit = Duration.seconds(90)
    let log = try await manager.stream("log", configure: { $0.timeouts.total = limit })
    for try await line in try await log.validated().lines { print(line) }
}

func streamsFromLiterals(_ manager: HTTPSessionManager, name: String) async throws {
    let log = try await manager.stream("log")
    for try await chunk in log { print(chunk.count) }
    for try await line in try await manager.stream("logs/\(name)").validated().lines { print(line) }
    let upstream = try await manager.stream("report")
    try await manager.put("copy", body: .stream(once: upstream.bytes, length: upstream.head.contentLength))
    print(upstream.head.isDecoded ? "decoded" : "as it was sent")
    let page = try await manager.stream("log", parameters: ["page": 2], headers: ["Accept": "text/plain"])
    let slow = try await manager.stream("logs/\(name)", configure: { $0.timeouts.total = .seconds(90) })
    print(page.status, slow.status)
    let response = try await manager.response(for: "users/7")
    print(response.status, response.headers.values(named: "Link"))
}

func bodiesWithTheirTypes(_ manager: HTTPSessionManager, limit: Int) async throws {
    try await manager.post("notes", body: .text("hello"))
    try await manager.put("films/7", body: .file("/tmp/film.mkv"))
    let user: User = try await manager.post("search", json: ["tags": Set(["a"]), "limit": limit])
    print(user.name)
}

func validatesStreams(_ manager: HTTPSessionManager) async throws {
    for try await line in try await manager.stream("log").validated().lines { print(line) }
    for try await chunk in try await manager.stream("log").validated(by: .any) { print(chunk.count) }
    let table = try await manager.stream("table")
    let head = try await table.lines.first { @Sendable in !$0.isEmpty }
    for try await row in table.lines { print(head ?? "", row) }
    let log = try await manager.stream("log")
    try await log.validated()
    do {
        print(try await log.validated().collect(upTo: 1000).count)
    } catch {
        print(error.code, error.body?.count ?? 0)
    }
}

// MARK: File URLs

func saveToFileURLs(_ folder: URL) async throws {
    let cookies = try CookieStorage(path: folder.appending(path: "cookies.txt"))
    try cookies.save(to: folder.appending(path: "copy.txt"))
    try cookies.save()
    let hosts = try HSTSStore(path: folder.appending(path: "hsts.txt"))
    try hosts.save(to: folder.appending(path: "copy.txt"))
    try hosts.save(to: "/tmp/hsts.txt")
    let form = HTTPRequest(.post, "photos", body: .multipart { try $0.append("1", name: "a") })
    print(try await form.writeMultipart(to: folder.appending(path: "form")))
}
