import AFTestServer
import FoundationEssentials
import SwiftAF
import Testing

/// What the forms of calls send and return. That they compile from everywhere is tested by Tests/Consumer.
@Suite(.timeLimit(.minutes(10)))
struct CallTests {
    private struct User: Codable, Equatable, Sendable {
        var firstName: String
        var born: Int
    }

    private let server: TestServer
    private let manager: HTTPSessionManager

    init() throws {
        server = try TestServer()
        manager = HTTPSessionManager(baseURL: server.urlString("/"))
        server.route("/user", .json(#"{"firstName":"Ada","born":1815}"#))
        server.route("/empty", .respond(204))
        server.route("/missing", .respond(404, headers: ["Content-Type": "application/json"], body: Data("[4]".utf8)))
    }

    @Test func callsWithoutValueReturnCheckedResponse() async throws {
        let response = try await manager.get("user")
        #expect(response.status == 200 && response.head.status == 200 && response.url == server.urlString("/user"))
        #expect(response.headers["Content-Type"] == "application/json" && response.metrics.hops.count == 1)
        #expect(response.body == response.value && response.body.count == 31)
        #expect(try response.value() == User(firstName: "Ada", born: 1815))
        #expect(try response.decoded(as: User.self).value.born == 1815)
        #expect(try response.json()["born"] == 1815)
        let snake = JSONCoder(keys: .snakeCase)
        let coded = Response(head: HTTPResponse(status: 404), body: Data(#"{"first_name":"Ada","born":1815}"#.utf8))
        #expect(try coded.decoded(as: User.self, validation: .any, decoder: snake).value.firstName == "Ada")
        try await manager.delete("empty")
        try await manager.request(.options, "empty")
        try await manager.head("user")
        #expect(try await sessionError { try await manager.get("missing") }.status == 404)
        #expect(try await sessionError { try await manager.head("missing") }.status == 404)
        #expect(try await sessionError { try await manager.put("missing", json: 1) }.code == .status)
        #expect(server.requests.map(\.method) == ["GET", "DELETE", "OPTIONS", "HEAD", "GET", "HEAD", "PUT"])
    }

    @Test func awaitedCallsReportProgress() async throws {
        let folder = try TestFolder()
        try folder.write(String(repeating: "x", count: 100_000), to: "body")
        let url = URL(filePath: folder.file("body"))
        let sent = Recorder<TransferProgress>()
        let _: User = try await manager.post("user", body: .file(url), progress: { sent.record($0) })
        #expect(sent.values.last?.sent == 100_000 && sent.values.last?.sentTotal == 100_000)
        let both = Recorder<TransferProgress>()
        try await manager.put("user", body: .file(url)) {
            $0.priority = 1
        } progress: {
            both.record($0)
        }
        #expect(both.values.last?.sent == 100_000 && both.values.last?.received == 31)
        let received = Recorder<TransferProgress>()
        _ = try await manager.get("user", progress: { received.record($0) })
        #expect(received.values.last?.received == 31)
    }

    @Test func failuresAreDecodedByTheManagersDecoder() async throws {
        struct Refusal: Codable, Equatable, Sendable { var errorCode: Int }
        manager.decoder = JSONCoder(keys: .snakeCase)
        server.route("/refused", .json(#"{"error_code":17}"#, status: 422))
        let refusal = Refusal(errorCode: 17)
        let typed = try await sessionError { try await manager.get("refused", as: User.self) }
        #expect(try typed.decodeBody() == refusal)
        let plain = try await sessionError { try await manager.get("refused") }
        #expect(try plain.decodeBody(as: Refusal.self) == refusal)
        let response = try await manager.response(.get, "refused")
        let checked = try await sessionError { try response.value(as: User.self) }
        #expect(try checked.decodeBody(as: Refusal.self) == refusal)
        let folder = try TestFolder()
        let file = try await sessionError { try await manager.download("refused", to: folder.file("x")) }
        #expect(try file.decodeBody(as: Refusal.self) == refusal)
        #expect(throws: SessionError.self) { try plain.decodeBody(as: Refusal.self, decoder: JSONCoder()) }
        manager.completionQueue = .global()
        let failures = Recorder<SessionError>()
        manager.get("refused", success: { _, _ in }, failure: { failures.record($1) })
        let failed = try #require(await failures.wait().first)
        #expect(try failed.decodeBody(as: Refusal.self) == refusal)
    }

    @Test func aResponseMissingInTheCacheIsNamedSo() async throws {
        var configuration = SessionConfiguration()
        configuration.cache = try HTTPCache()
        let cached = HTTPSessionManager(baseURL: server.urlString("/"), configuration: configuration)
        let error = try await sessionError {
            try await cached.get("user") { $0.cachePolicy = .returnCacheDataDontLoad }
        }
        #expect(error.status == 504 && error.response?.cacheStatus == .missing)
        #expect(error.message.hasPrefix("the cache has no response"))
        #expect(server.requests.isEmpty)
    }

    @Test func oneProxyIsUsedForAllHosts() async throws {
        var configuration = SessionConfiguration()
        configuration.proxies = .url(server.urlString("/"), bypass: "127.0.0.1")
        let proxied = HTTPSessionManager(configuration: configuration)
        let echo = try await proxied.get("http://example.invalid/x").json()
        #expect(echo["target"]?.string == "http://example.invalid/x")
        try await proxied.get(server.urlString("/user"))
        #expect(server.requests.last?.target == "/user")
    }

    @Test func relativeURLsWithoutABaseAreRefusedByName() async throws {
        let lone = HTTPSessionManager()
        for url in ["users/7", "example.org/", ""] {
            let error = try await sessionError { try await lone.get(url) }
            #expect(error.code == .invalidInput)
            #expect(error.message == "the URL has no scheme, and the manager has no base URL")
        }
        #expect(try await sessionError { try await lone.get("http://a b/") }.message.contains("not allowed"))
    }

    @Test func URLsThatAreNoFilesAreRefused() async throws {
        let remote = try #require(URL(string: "http://example.org/file"))
        let body = try await sessionError { try await manager.put("user", body: .file(remote)) }
        #expect(body.code == .invalidInput && body.message == "the URL of a body doesn't begin with file://")
        let file = try await sessionError { try await manager.download("user", to: remote) }
        #expect(file.code == .invalidInput && file.message == "the URL of a destination doesn't begin with file://")
        #expect(server.requests.isEmpty)
        let folder = try TestFolder()
        let url = URL(filePath: folder.file("a b%"))
        #expect(try await manager.download("user", to: url).fileURL == url)
    }

    @Test func responsesOfAnyStatusCheckWhatTheyDecode() async throws {
        let response = try await manager.response(.get, "missing")
        #expect(response.status == 404)
        #expect(throws: SessionError.self) { try response.validated() }
        #expect(throws: SessionError.self) { try response.value(as: [Int].self) }
        #expect(try response.value(as: [Int].self, validation: .any) == [4])
        #expect(try response.validated(by: ResponseValidation(acceptableStatusCodes: [404])).text() == "[4]")
        let raw = try await manager.response(for: HTTPRequest("missing"))
        #expect(try raw.text(validation: .any) == "[4]" && raw.json(validation: .any) == [4])
        #expect(throws: SessionError.self) { try raw.json() }
        let error = #expect(throws: SessionError.self) { try raw.text() }
        #expect(error?.code == .status && error?.body == Data("[4]".utf8))
    }

    @Test(arguments: [
        ("example.org", "doesn't begin with http:// or https://"), ("ftp://h/", "doesn't begin with http"),
        ("http://", "host"), ("http://a b/", "not allowed in the host"), ("http://h:99999/", "port"),
    ])
    func checkFindsAnInvalidBaseURL(url: String, problem: String) throws {
        let error = #expect(throws: SessionError.self) { try HTTPSessionManager(baseURL: url).checkConfiguration() }
        #expect(error?.code == .invalidInput && error?.message.contains(problem) == true, "\(error?.message ?? "")")
    }

    @Test func checkFindsAnInvalidConfiguration() throws {
        var configuration = SessionConfiguration()
        try HTTPSessionManager(configuration: configuration).checkConfiguration()
        try manager.checkConfiguration()
        configuration.userAgent = "a\nb"
        let manager = HTTPSessionManager(configuration: configuration)
        #expect(throws: SessionError.self) { try manager.checkConfiguration() }
        self.manager.invalidate(cancellingTasks: true)
        let closed = #expect(throws: SessionError.self) { try self.manager.checkConfiguration() }
        #expect(closed?.code == .closed)
    }

    @Test func validationThatAcceptsEverythingAcceptsEveryType() async throws {
        server.route("GET /page", .respond(404, headers: ["Content-Type": "text/html"], body: Data("1".utf8)))
        server.route("GET /bare", .respond(404, body: Data("2".utf8)))
        let refused = try await sessionError { try await manager.get("page", as: Int.self) }
        #expect(refused.code == .status)
        manager.validation = .any
        #expect(try await manager.get("page", as: Int.self) == 1)
        #expect(try await manager.get("bare", as: Int.self) == 2)
    }

    @Test func cancelledTaskThrowsCancellation() async throws {
        server.route("/slow", .waitForPeerClose)
        let manager = manager
        let task = Task { try await manager.get("slow", as: User.self).born }
        task.cancel()
        let error = try await sessionError { try await task.value }
        #expect(error.code == .cancelled && error.isCancellation)
    }

    @Test func wrongSettingOfDecoderIsNamed() async throws {
        struct Note: Decodable { var createdAt: Date }
        server.route("GET /notes", .json(#"[{"created_at":"2024-02-29T12:00:00Z"}]"#))
        let names = try await sessionError { try await manager.get("notes", as: [Note].self) }
        #expect(names.message.contains(#"no member "createdAt" at $[0], but "created_at""#), "\(names.message)")
        #expect(names.message.contains("JSONCoder(keys: .snakeCase)"))
        manager.decoder = JSONCoder(keys: .snakeCase)
        let dates = try await sessionError { try await manager.get("notes", as: [Note].self) }
        #expect(dates.message.contains("expected Date at $[0].createdAt, found a date in a string"), "\(dates.message)")
        #expect(dates.message.contains("JSONCoder(dates: .iso8601)"))
        manager.decoder = JSONCoder(keys: .snakeCase, dates: .iso8601)
        #expect(try await manager.get("notes", as: [Note].self).count == 1)
    }

    @Test func malformedJSONIsReportedWithItsPlace() async throws {
        server.route("GET /broken", .json("{\n  \"firstName\": \"Ada\",\n}"))
        let error = try await sessionError { try await manager.get("broken", as: User.self) }
        #expect(error.code == .serialization && error.message.contains("line 3, column 1"), "\(error.message)")
        #expect(!error.message.contains("Ada"))
    }

    @Test func emptyResponsesHaveValues() async throws {
        let nothing: User? = try await manager.delete("empty")
        #expect(nothing == nil)
        let empty: Empty = try await manager.post("empty")
        #expect(empty == Empty())
        #expect(try await manager.get("user", as: Empty.self) == Empty())
        server.route("POST /logout", .text("OK"))
        #expect(try await manager.post("logout", as: Empty.self) == Empty())
        #expect(try await manager.get("empty", as: Data.self).isEmpty)
        #expect(try await manager.get("empty", as: JSONValue.self) == .null)
        let error = try await sessionError { try await manager.get("empty", as: User.self) }
        #expect(error.message == "the body is empty, but a value of User was expected")
    }

    @Test func bodiesAreSent() async throws {
        server.route("POST /echo", .json("{}"))
        try await manager.post("echo", json: User(firstName: "Ada", born: 1))
        try await manager.post("echo", body: .form(["a": 1, "b": "x y"]))
        try await manager.post("echo", body: .data(Data("png".utf8), contentType: "image/png"))
        try await manager.post("echo", json: 1, headers: ["Content-Type": "application/x"])
        #expect(server.requests.map(\.bodyText) == [#"{"firstName":"Ada","born":1}"#, "a=1&b=x%20y", "png", "1"])
        #expect(
            server.requests.map { $0["Content-Type"] ?? "" } == [
                "application/json", "application/x-www-form-urlencoded", "image/png", "application/x",
            ])
        let title = "Engine"
        try await manager.post(
            "echo", parameters: ["album": 7], body: .multipart { try $0.append(title, name: "title") })
        let form = try #require(server.requests.last)
        let album = try #require(form.bodyText.firstRange(of: "name=\"album\"\r\n\r\n7\r\n"))
        let part = try #require(form.bodyText.firstRange(of: "name=\"title\"\r\n\r\nEngine\r\n"))
        #expect(album.lowerBound < part.lowerBound)
        #expect(form["Content-Type"]?.hasPrefix("multipart/form-data; boundary=") == true)
    }

    @Test func bodiesOfMixedValuesAreJSON() async throws {
        server.route("POST /echo", .json("{}"))
        let (name, born, nothing) = ("Ada", Date(timeIntervalSince1970: 0), nil as String?)
        try await manager.post(
            "echo", body: .json(["name": name, "age": 36, "born": born, "tags": [1, "b"], "none": nothing as Any]))
        try await manager.post("echo", body: .json(["user": "ada", "n": 1]))
        try await manager.post("echo", body: .json([1, "two", nil]))
        #expect(
            server.requests.map(\.bodyText) == [
                #"{"name":"Ada","age":36,"born":-978307200,"tags":[1,"b"],"none":null}"#,
                #"{"user":"ada","n":1}"#, #"[1,"two",null]"#,
            ])
        #expect(server.requests.allSatisfy { $0["Content-Type"] == "application/json" })
        try await manager.post("echo", body: .json(["a": Set([1]), "b": 2]))
        #expect(server.requests.last?.bodyText == #"{"a":[1],"b":2}"#)
    }

    @Test func datesOfEachKindOfCallAreWhatTheGuideSays() async throws {
        struct Note: Codable { var at: Date }
        server.route("/echo", .json("{}"))
        let date = Date(timeIntervalSince1970: 0)
        try await manager.get("echo", parameters: ["at": date])
        try await manager.post("echo", parameters: ["at": date])
        try await manager.post("echo", body: .json(["at": date, "n": 1]))
        try await manager.post("echo", body: .json(["at": date]))
        try await manager.post("echo", json: Note(at: date))
        try await manager.post("echo", json: ["at": date, "n": 1])
        manager.encoder = JSONCoder(dates: .iso8601)
        try await manager.post("echo", json: Note(at: date))
        try await manager.post("echo", json: ["at": date, "n": 1])
        manager.requestSerializer = JSONRequestSerializer()
        try await manager.post("echo", parameters: ["at": date])
        try await manager.post("echo", parameters: Parameters(encoding: Note(at: date)))
        #expect(server.requests.first?.target == "/echo?at=1970-01-01T00%3A00%3A00Z")
        #expect(
            server.requests.dropFirst().map(\.bodyText) == [
                "at=1970-01-01T00%3A00%3A00Z", #"{"at":-978307200,"n":1}"#, #"{"at":-978307200}"#,
                #"{"at":-978307200}"#, #"{"at":-978307200,"n":1}"#, #"{"at":"1970-01-01T00:00:00Z"}"#,
                #"{"at":"1970-01-01T00:00:00Z","n":1}"#, #"{"at":"1970-01-01T00:00:00Z"}"#,
                #"{"at":"1970-01-01T00:00:00Z"}"#,
            ])
    }

    @Test func bodiesHaveTheirContentTypes() async throws {
        server.route("POST /echo", .json("{}"))
        let folder = try TestFolder()
        try Data("film".utf8).write(to: URL(filePath: folder.file("film")))
        try await manager.post("echo", body: .text("hi", contentType: "text/plain; charset=utf-8"))
        try await manager.post("echo", body: .file(folder.file("film"), contentType: "video/mp4"))
        try await manager.post("echo", body: .file(URL(filePath: folder.file("film")), contentType: "video/mp4"))
        #expect(
            server.requests.map { $0["Content-Type"] ?? "" } == ["text/plain; charset=utf-8", "video/mp4", "video/mp4"])
        #expect(server.requests.map(\.bodyText) == ["hi", "film", "film"])
    }

    @Test func textsAndFilesHaveAContentType() async throws {
        server.route("POST /echo", .json("{}"))
        let folder = try TestFolder()
        for name in ["a.PNG", "film"] { try folder.write("x", to: name) }
        try await manager.post("echo", body: .text("hi"))
        try await manager.post("echo", body: .text("hi", contentType: nil))
        try await manager.post("echo", body: .file(folder.file("a.PNG")))
        try await manager.post("echo", body: .file(URL(filePath: folder.file("film"))))
        try await manager.post("echo", body: .file(folder.file("a.PNG")), headers: ["Content-Type": "a/b"])
        try await manager.post("echo", body: .file(folder.file("a.PNG"))) { $0.headers.suppressDefault("Content-Type") }
        #expect(
            server.requests.map { $0["Content-Type"] } == [
                "text/plain; charset=utf-8", nil, "image/png", "application/octet-stream", "a/b", nil,
            ])
    }

    @Test func twoBodiesAreRefused() async throws {
        for error in [
            try await sessionError { try await manager.post("echo", json: 1, body: .text("2")) },
            try await sessionError { try await manager.post("echo", parameters: ["a": 1], json: 1) },
            try await sessionError { try await manager.put("echo", parameters: ["a": 1], body: .text("2")) },
        ] {
            #expect(error.code == .invalidInput && error.message.contains("one of parameters, json and body"))
            #expect(error.url == server.urlString("/echo"))
        }
        #expect(server.requests.isEmpty)
    }

    @Test func errorsOfBodiesFailTheRequest() async throws {
        struct Stubborn: Encodable, Sendable {
            func encode(to encoder: any Encoder) throws { throw CancellationError() }
        }
        let json = try await sessionError { try await manager.post("echo", json: Stubborn()) }
        #expect(json.code == .serialization && json.underlying is CancellationError)
        let form = try await sessionError {
            try await manager.post("echo", body: .multipart { try $0.append("x", name: "a\nb") })
        }
        #expect(form.code == .invalidInput && form.url == server.urlString("/echo"))
        let parameters = try await sessionError { try await manager.get("echo", parameters: ["a": ["b": [Thread()]]]) }
        #expect(parameters.code == .invalidInput)
        #expect(parameters.message == "the value of the parameter \"a[b][0]\" is a Thread, which isn't Encodable")
        #expect(server.requests.isEmpty)
    }

    private final class Thread {}

    @Test func managerSettingsApplyToEveryKindOfCall() async throws {
        let file = try TestFolder()
        server.route("/events", .respond(204))
        manager.headers["X-A"] = "1"
        manager.headers.authorization = .bearer("t")
        try await manager.get("user")
        _ = try await manager.response(for: HTTPRequest("user"))
        try await manager.download("user", to: file.file("a"))
        for try await _ in try await manager.stream(HTTPRequest("user")).bytes {}
        for try await _ in manager.events(from: "events") {}
        for try await _ in manager.events(from: HTTPRequest("events")) {}
        await withCheckedContinuation { done in
            manager.completionQueue = .global()
            manager.get("user", success: { _, _ in done.resume() }, failure: { _, _ in done.resume() })
        }
        #expect(server.requests.count == 7)
        for request in server.requests {
            #expect(request["X-A"] == "1" && request["Authorization"] == "Bearer t")
            #expect(request["Accept-Language"] == DefaultHeaders.all["Accept-Language"])
        }
        try await manager.get("user", headers: ["X-A": "2"])
        #expect(server.requests.last?["X-A"] == "2")
    }

    @Test func secretHeadersStayWithTheBaseURL() async throws {
        let other = try TestServer()
        other.route("/", .text("x"))
        manager.headers.authorization = .basic(user: "u", password: "p")
        manager.headers["X-A"] = "1"
        manager.headers["X-Api-Key"] = "k"
        try await manager.get(other.urlString("/"))
        #expect(other.requests[0]["Authorization"] == nil && other.requests[0]["X-A"] == "1")
        #expect(other.requests[0]["X-Api-Key"] == nil)
        try await manager.get(server.urlString("/user"))
        #expect(server.requests[0]["Authorization"] == "Basic dTpw")
        #expect(server.requests[0]["X-Api-Key"] == "k")
        let free = HTTPSessionManager()
        free.headers.authorization = .bearer("t")
        try await free.get(other.urlString("/"))
        #expect(other.requests[1]["Authorization"] == "Bearer t")
    }

    @Test func decoderEncoderAndValidationAreTheManagers() async throws {
        server.route("/snake", .json(#"{"first_name":"Ada","born":1815}"#))
        manager.decoder = JSONCoder(keys: .snakeCase)
        manager.encoder = JSONCoder(keys: .snakeCase)
        let ada: User = try await manager.post("snake", json: User(firstName: "Grace", born: 1906))
        #expect(ada.firstName == "Ada")
        #expect(server.requests[0].bodyText == #"{"first_name":"Grace","born":1906}"#)
        #expect(try await manager.response(.get, "snake").value(as: User.self).firstName == "Ada")
        _ = try await manager.response(for: HTTPRequest(.post, "snake", body: .json(ada)))
        #expect(server.requests[2].bodyText.contains("first_name"))
        manager.validation.acceptableStatusCodes = [404]
        #expect(try await manager.get("missing", as: [Int].self) == [4])
        #expect(try await manager.get("missing").status == 404)
        #expect(try await sessionError { try await manager.get("user") }.code == .status)
        let folder = try TestFolder()
        #expect(try await sessionError { try await manager.download("user", to: folder.file("a")) }.code == .status)
    }

    @Test func timeoutsAreTheManagersAndTheCalls() async throws {
        server.route("/slow", [.stall(at: "gate")])
        manager.timeouts.total = .milliseconds(50)
        #expect(try await sessionError { try await manager.get("slow") }.reason == .total)
        manager.timeouts.total = nil
        #expect(
            try await sessionError {
                try await manager.get("slow", configure: { $0.timeouts.total = .milliseconds(50) })
            }
            .reason == .total)
        server.open("gate")
    }

    @Test func makeRequestSendsNothing() async throws {
        manager.headers["X-A"] = "1"
        let request = try manager.makeRequest(.get, "user", parameters: ["q": 1], headers: ["X-B": "2"])
        #expect(request.url == server.urlString("/user?q=1"))
        #expect(request.headers["X-A"] == "1" && request.headers["X-B"] == "2")
        #expect(try manager.makeRequest(.post, "user", json: ["a": 1]).body.data == Data(#"{"a":1}"#.utf8))
        #expect(server.requests.isEmpty)
        #expect(try await manager.response(for: request).status == 200)
    }

    @Test func baseURLWithoutSchemeIsNamed() async throws {
        for text in ["api.example.org", "localhost:80/v1", "//host/", ""] {
            let lost = HTTPSessionManager(baseURL: text)
            let error = try await sessionError { try await lost.get("user") }
            #expect(error.code == .invalidInput)
            #expect(error.message == "the base URL \"\(text)\" doesn't begin with http:// or https://")
            #expect(try await lost.get(server.urlString("/user")).status == 200)
        }
        for text in ["ada:s3cret@host/v1", "ftp://ada:s3cret@host"] {
            let error = try await sessionError { try await HTTPSessionManager(baseURL: text).get("user") }
            #expect(error.code == .invalidInput && !error.description.contains("s3cret"))
        }
    }

    @Test func contentTypeErrorListsWhatIsAccepted() async throws {
        server.route("/page", .respond(200, headers: ["Content-Type": "text/html"], body: Data("<p>".utf8)))
        let error = try await sessionError { try await manager.get("page", as: [Int].self) }
        #expect(
            error.message
                == "unacceptable content type: text/html (accepted: application/json, text/javascript, text/json, */*+json)"
        )
        manager.validation.acceptableContentTypes = ["text/*"]
        #expect(try await sessionError { try await manager.get("page", as: [Int].self) }.code == .serialization)
        #expect(try await sessionError { try await manager.get("user", as: String.self) }.code == .contentType)
        manager.validation.acceptableContentTypes = ["*/*"]
        #expect(try await manager.get("user", as: User.self).born == 1815)
    }

    @Test func bareScalarsAreJSON() async throws {
        server.route("/count", .json("42"))
        #expect(try await manager.get("count", as: Int.self) == 42)
        #expect(try await manager.get("count", as: JSONValue.self) == 42)
    }

    @Test func redirectAndResponseHandlersFailWithTheirError() async throws {
        struct Refusal: Error {}
        server.route("/from", .redirect(to: "/user"))
        manager.redirectHandler = { _ in .fail(Refusal()) }
        let redirect = try await sessionError { try await manager.get("from") }
        #expect(redirect.code == .redirect && redirect.underlying is Refusal)
        manager.responseHandler = { _ in .fail(SessionError(.tooLarge, message: "not today")) }
        let refused = try await sessionError { try await manager.get("user") }
        #expect(refused.code == .tooLarge && refused.message == "not today" && refused.status == 200)
        #expect(refused.url == server.urlString("/user"))
    }
}
