import AFTestServer
import Foundation
import FoundationNetworking
import SwiftAF
import SwiftAFFoundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct ConversionTests {
    private func urlRequest(_ change: (inout URLRequest) -> Void = { _ in }) throws -> URLRequest {
        var request = URLRequest(url: try #require(URL(string: "http://h/path?q=1")))
        change(&request)
        return request
    }

    @Test func aBareRequest() throws {
        let request = HTTPRequest(try urlRequest())
        #expect(request.method == .get && request.url == "http://h/path?q=1" && request.headers.isEmpty)
        #expect(request.body.isNone)
        #expect(request.timeouts == HTTPRequest.Timeouts() && request.hints == HTTPRequest.Hints())
        let back = try URLRequest(request)
        #expect(try back == urlRequest())
    }

    @Test func bodyThatIsEncodedOnSending() throws {
        let form = try URLRequest(HTTPRequest(.post, "http://h/", body: .form(["a": 1])))
        #expect(form.httpBody == Data("a=1".utf8))
        #expect(form.value(forHTTPHeaderField: "Content-Type") == "application/x-www-form-urlencoded")
        let json = try URLRequest(HTTPRequest(.post, "http://h/", body: .json([1, 2])))
        #expect(json.httpBody == Data("[1,2]".utf8))
        #expect(json.value(forHTTPHeaderField: "Content-Type") == "application/json")
    }

    @Test func everythingThatIsSet() throws {
        let original = try urlRequest {
            $0.httpMethod = "PUT"
            $0.httpBody = Data("body".utf8)
            $0.setValue("a", forHTTPHeaderField: "X-A")
            $0.setValue("4", forHTTPHeaderField: "Content-Length")
            $0.timeoutInterval = 7.5
            $0.cachePolicy = .returnCacheDataDontLoad
            $0.networkServiceType = .voip
            $0.httpShouldHandleCookies = false
            $0.allowsCellularAccess = false
        }
        let request = HTTPRequest(original)
        #expect(request.method == .put && request.body.data == Data("body".utf8))
        #expect(request.headers["X-A"] == "a" && request.headers["Content-Length"] == nil)
        #expect(request.timeouts.idle == .milliseconds(7500))
        #expect(request.hints.cachePolicy == .returnCacheDataDontLoad && request.hints.networkServiceType == .voip)
        #expect(request.hints.handlesCookies == false && request.hints.allowsCellularAccess == false)
        let back = try URLRequest(request)
        #expect(back.httpMethod == "PUT" && back.httpBody == Data("body".utf8) && back.timeoutInterval == 7.5)
        #expect(back.cachePolicy == .returnCacheDataDontLoad && back.networkServiceType == .voip)
        #expect(!back.httpShouldHandleCookies && !back.allowsCellularAccess)
        #expect(back.value(forHTTPHeaderField: "x-a") == "a")
    }

    @Test(arguments: [
        URLRequest.CachePolicy.reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData,
        .returnCacheDataElseLoad, .returnCacheDataDontLoad, .reloadRevalidatingCacheData,
    ])
    func everyCachePolicyGoesThereAndBack(policy: URLRequest.CachePolicy) throws {
        let original = try urlRequest { $0.cachePolicy = policy }
        #expect(HTTPRequest(original).hints.cachePolicy != nil)
        #expect(try URLRequest(HTTPRequest(original)).cachePolicy == policy)
    }

    @Test(arguments: [0, -1, .infinity, .nan, 1e300] as [TimeInterval])
    func timeLimitsThatAreNoneDoNotTrap(seconds: TimeInterval) throws {
        #expect(HTTPRequest(try urlRequest { $0.timeoutInterval = seconds }).timeouts.idle == .zero)
    }

    @Test(arguments: [Duration.zero, .seconds(31_536_000), .seconds(Int64.max), Duration(attoseconds: .max)])
    func noLimitIsAYearInFoundationAndComesBackAsNone(idle: Duration) throws {
        var request = HTTPRequest("http://h/")
        request.timeouts.idle = idle
        let converted = try URLRequest(request)
        // What Foundation for Linux does with it.
        #expect(Int(converted.timeoutInterval) * 1000 == 31_536_000_000)
        #expect(HTTPRequest(converted).timeouts.idle == .zero)
    }

    @Test func noLimitReachesAServerByURLSession() async throws {
        let server = try TestServer()
        server.route("/a", .text("a"))
        var request = HTTPRequest(server.urlString("/a"))
        request.timeouts.idle = .zero
        let (data, _) = try await URLSession.shared.data(for: URLRequest(request))
        #expect(data == Data("a".utf8))
    }

    @Test func repeatedFieldsAreJoined() throws {
        let headers = HTTPHeaders([("A", "1"), ("a", "2")])
        #expect(try URLRequest(HTTPRequest("http://h/", headers: headers)).value(forHTTPHeaderField: "A") == "1, 2")
    }

    /// RFC 9113, section 8.2.3.
    @Test func repeatedCookiesAreJoinedWithSemicolons() throws {
        let headers = HTTPHeaders([("Cookie", "a=1"), ("X-A", "1"), ("cookie", "b=2; c=3")])
        let request = try URLRequest(HTTPRequest("http://h/", headers: headers))
        #expect(request.value(forHTTPHeaderField: "Cookie") == "a=1; b=2; c=3")
    }

    @Test func aFileBecomesAStream() throws {
        let request = HTTPRequest(.post, "http://h/", body: .file("/dev/null"))
        #expect(try URLRequest(request).httpBodyStream != nil)
    }

    @Test(arguments: [("/nonexistent/file", ENOENT), ("/dev/null/file", ENOTDIR), ("/", EISDIR), ("", ENOENT)])
    func aFileThatCanNotBeReadIsAnError(path: String, systemError: Int32) {
        let request = HTTPRequest(.post, "http://h/", body: .file(path))
        let error = #expect(throws: SessionError.self) { try URLRequest(request) }
        #expect(error?.code == .file && error?.systemError == systemError)
    }

    @Test func whatCanNotBeConvertedSaysSo() {
        let stream = HTTPRequest(.post, "http://h/", body: .stream { AsyncStream<Data> { $0.finish() } })
        #expect(throws: SessionError.self) { try URLRequest(stream) }
        #expect(throws: SessionError.self) { try URLRequest(HTTPRequest("")) }
    }

    @Test(arguments: [nil, 300_000] as [Int?])
    func aStreamIsSentPieceByPiece(length: Int?) async throws {
        let server = try TestServer()
        let bytes = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0) })
        var original = URLRequest(url: server.url("/upload"))
        original.httpMethod = "POST"
        original.httpBodyStream = InputStream(data: bytes)
        if let length { original.setValue(String(length), forHTTPHeaderField: "Content-Length") }
        let response = try await HTTPSessionManager().response(for: HTTPRequest(original))
        #expect(response.status == 200)
        #expect(server.requests[0].body == bytes)
        #expect(server.requests[0]["Content-Length"] == length.map(String.init))
    }

    private func upload(_ server: TestServer, _ stream: InputStream) -> URLRequest {
        var request = URLRequest(url: server.url("/upload"))
        request.httpMethod = "POST"
        request.httpBodyStream = stream
        return request
    }

    @Test func aStreamThatWasOpenedBeforeFailsTheRequest() async throws {
        let server = try TestServer()
        let manager = HTTPSessionManager()
        let stream = InputStream(data: Data("hello".utf8))
        let request = upload(server, stream)
        #expect(try await manager.response(for: request).status == 200)
        let again = await #expect(throws: SessionError.self) { try await manager.response(for: request) }
        #expect(again?.code == .bodyNotReplayable && again?.url == server.urlString("/upload"))
        let opened = InputStream(data: Data("hello".utf8))
        opened.open()
        let error = await #expect(throws: SessionError.self) {
            try await manager.response(for: upload(server, opened))
        }
        #expect(error?.code == .bodyNotReplayable)
        #expect(server.requests.map(\.bodyText).filter { !$0.isEmpty } == ["hello"])
    }

    @Test(arguments: ["+5", "-1", "5 ", "", "0x5", "99999999999999999999"])
    func aLengthThatIsNoNumberIsUnknown(text: String) async throws {
        let server = try TestServer()
        var original = upload(server, InputStream(data: Data("hello".utf8)))
        original.setValue(text, forHTTPHeaderField: "Content-Length")
        #expect(HTTPRequest(original).body.length == nil)
        #expect(try await HTTPSessionManager().response(for: original).status == 200)
        #expect(server.requests.map(\.bodyText) == ["hello"])
    }

    @Test func aStreamThatFailsFailsTheRequest() async throws {
        let server = try TestServer()
        var original = URLRequest(url: server.url("/upload"))
        original.httpMethod = "POST"
        original.httpBodyStream = InputStream(fileAtPath: "/nonexistent/file")
        let request = HTTPRequest(original)
        let error = await #expect(throws: SessionError.self) { try await HTTPSessionManager().response(for: request) }
        #expect(error?.code == .bodySource)
    }

    @Test func callsTakeURLRequests() async throws {
        let server = try TestServer()
        server.route("/a", .text("hello"))
        let manager = HTTPSessionManager()
        var request = URLRequest(url: server.url("/a"))
        request.setValue("1", forHTTPHeaderField: "X-A")
        let response = try await manager.response(for: request)
        #expect(response.body == Data("hello".utf8))
        let head = try #require(HTTPURLResponse(response))
        #expect(head.statusCode == 200 && head.url == server.url("/a"))
        #expect(try await manager.stream(request).collect(upTo: 100) == Data("hello".utf8))
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: file) }
        try await manager.download(request, to: file)
        #expect(try Data(contentsOf: file) == Data("hello".utf8))
        let status = await withCheckedContinuation { done in
            manager.dataTask(for: request, with: .data) { head, _, _ in done.resume(returning: head?.status) }.resume()
        }
        #expect(status == 200)
        server.route("/a", .respond(headers: ["Content-Type": "text/event-stream"], body: "data: 1\n\n"))
        var events = manager.events(from: request).makeAsyncIterator()
        #expect(try await events.next()?.data == "1")
        server.route("/a", [.upgrade(), .echoFrames])
        let socket = try await manager.webSocket(request)
        socket.cancel()
        #expect(server.requests.map { $0["X-A"] } == Array(repeating: "1", count: 6))
    }

    @Test func convertsResponseToHTTPURLResponse() throws {
        let headers = HTTPHeaders([
            ("Content-Type", "text/html; charset=utf-8"), ("X-A", "1"), ("x-a", "2"), ("Set-Cookie", "a=1"),
            ("Set-Cookie", "b=2"), ("Content-Length", "12"),
        ])
        let original = HTTPResponse(status: 404, version: .http2, headers: headers, url: "http://h/path?q")
        let response = try #require(HTTPURLResponse(original))
        #expect(response.statusCode == 404 && response.url == URL(string: "http://h/path?q"))
        #expect(response.mimeType == "text/html" && response.textEncodingName == "utf-8")
        #expect(response.expectedContentLength == 12)
        #expect(response.value(forHTTPHeaderField: "X-A") == "1, 2")
        #expect(response.value(forHTTPHeaderField: "Set-Cookie") == "a=1, b=2")
        #expect(HTTPURLResponse(HTTPResponse(status: 200, url: "")) == nil)
    }
}
