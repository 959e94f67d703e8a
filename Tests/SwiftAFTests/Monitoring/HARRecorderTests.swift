import AFTestServer
import FoundationEssentials
import Testing

@testable import SwiftAF

@Suite(.timeLimit(.minutes(10)))
struct HARRecorderTests {
    private let server: TestServer
    private let manager: HTTPSessionManager
    private let notes = EventNotes()

    init() throws {
        server = try TestServer()
        manager = HTTPSessionManager(baseURL: server.urlString("/"))
        server.route("/x", .json(#"{"answer":42}"#))
    }

    /// What a recorder has, after some requests.
    private func archive(
        _ recorder: HARRecorder, requests count: Int = 1, _ work: () async throws -> Void
    ) async rethrows -> JSONValue {
        // Behind the recorder, so that it has heard what this has.
        manager.eventMonitors = [recorder, notes]
        try await work()
        await notes.ends.wait(for: count)
        return recorder.document
    }

    private static func entries(_ archive: JSONValue) -> [JSONValue] { archive["log"]?["entries"]?.array ?? [] }

    private static func value(_ name: String, of message: JSONValue?) -> String? {
        message?["headers"]?.array?.first { $0["name"]?.string == name }?["value"]?.string
    }

    @Test func recordsAddedHeaderFieldsWithSecretsHidden() async throws {
        server.route("/digest") { request, connection in
            guard request["Authorization"] == nil else { return try connection.respond() }
            try connection.respond(401, headers: ["WWW-Authenticate": "Digest realm=\"r\", nonce=\"n\", qop=\"auth\""])
        }
        var request = HTTPRequest(.put, "digest", headers: ["X-Mine": "own"], body: .text("body"))
        request.credential = Credential(user: "joe", password: "pw")
        let archive = try await archive(HARRecorder()) { _ = try await manager.response(for: request) }
        #expect(HARSchema.problems(of: archive) == [])
        let entries = Self.entries(archive)
        #expect(entries.map { Self.value("Authorization", of: $0["request"]) } == [nil, "<hidden>"])
        for entry in entries {
            #expect(Self.value("Host", of: entry["request"]) == "127.0.0.1:\(server.port)")
            #expect(Self.value("Accept-Encoding", of: entry["request"])?.contains("gzip") == true)
            #expect(Self.value("X-Mine", of: entry["request"]) == "own")
        }
        #expect(Self.value("Content-Length", of: entries.last?["request"]) == "4")
    }

    @Test func recordsExchangeWithBothBodies() async throws {
        let recorder = HARRecorder(maximumBodySize: 1000)
        var request = HTTPRequest(.put, "x?a=b&c", headers: ["Content-Type": "text/plain"], body: .text("the body"))
        request.headers.add(name: "Accept", value: "*/*")
        let archive = try await archive(recorder) { _ = try await manager.response(for: request) }
        #expect(HARSchema.problems(of: archive) == [])
        let entry = try #require(Self.entries(archive).first)
        #expect(entry["request"]?["method"] == "PUT")
        #expect(entry["request"]?["url"]?.string == server.urlString("/x?a=b&c"))
        #expect(entry["request"]?["httpVersion"] == "HTTP/1.1")
        #expect(
            entry["request"]?["queryString"]
                == [["name": "a", "value": "b"], ["name": "c", "value": ""]])
        #expect(entry["request"]?["postData"]?["text"] == "the body")
        #expect(entry["request"]?["postData"]?["mimeType"] == "text/plain")
        #expect(entry["request"]?["bodySize"] == 8)
        #expect(Self.value("Accept", of: entry["request"]) == "*/*")
        #expect(entry["response"]?["status"] == 200)
        #expect(entry["response"]?["content"]?["text"] == #"{"answer":42}"#)
        #expect(entry["response"]?["content"]?["mimeType"] == "application/json")
        #expect(entry["response"]?["content"]?["size"] == 13)
        #expect(entry["serverIPAddress"] == "127.0.0.1")
        let written = try JSONValue(parsing: recorder.data())
        #expect(HARSchema.problems(of: written) == [])
        #expect(Self.entries(written).count == 1)
    }

    @Test func messagesAreRecordedWithinTheLimits() async throws {
        server.route("/echo", [.upgrade(), .echoFrames])
        let recorder = HARRecorder(maximumBodySize: 5, maximumMessages: 3)
        let archive = try await archive(recorder) {
            let socket = try await manager.webSocket("echo")
            var messages = socket.makeAsyncIterator()
            try await socket.send("grüße")
            #expect(try await messages.next() == .text("grüße"))
            try await socket.send(Data([0, 255]))
            #expect(try await messages.next() == .binary(Data([0, 255])))
            try await socket.close()
        }
        #expect(HARSchema.problems(of: archive) == [])
        let entry = try #require(Self.entries(archive).first)
        let recorded = try #require(entry["_webSocketMessages"]?.array)
        #expect(recorded.map { $0["type"] } == ["send", "receive", "send"])
        #expect(recorded.map { $0["opcode"] } == [1, 1, 2])
        // Characters aren't divided.
        #expect(recorded.map { $0["data"] } == ["grü", "grü", "AP8="])
        #expect(recorded.map { $0["comment"]?.string } == Array(repeating: "the first 4 of 7 bytes", count: 2) + [nil])
        #expect(recorded.allSatisfy { abs(($0["time"]?.double ?? 0) - Date.now.timeIntervalSince1970) < 3600 })
        #expect(entry["comment"] == "1 later messages weren't recorded")
        #expect(entry["_resourceType"] == "websocket")
        #expect(entry["response"]?["status"] == 101)
    }

    @Test(
        arguments: [
            (3, "gr"), (4, "grö"), (5, "grö"), (6, "größ"), (7, "größe"), (8, "größe"),
        ])
    func truncatesTextAtCharacterBoundary(limit: Int, text: String) async throws {
        server.route("/x", .text("größe"))
        let archive = try await archive(HARRecorder(maximumBodySize: limit)) { _ = try await manager.get("x") }
        let content = try #require(Self.entries(archive).first)["response"]?["content"]
        #expect(content?["text"]?.string == text && content?["encoding"] == nil)
        let comment = "the first \(text.utf8.count) of 7 bytes"
        #expect(content?["comment"]?.string == (text == "größe" ? nil : comment))
    }

    @Test func recordsMessagesOnlyOnRequest() async throws {
        server.route("/echo", [.upgrade(), .echoFrames])
        let archive = try await archive(HARRecorder(maximumBodySize: 5)) {
            let socket = try await manager.webSocket("echo")
            try await socket.send("secret")
            #expect(try await socket.first { _ in true } == .text("secret"))
            try await socket.close()
        }
        let entry = try #require(Self.entries(archive).first)
        #expect(entry["_webSocketMessages"] == nil)
        #expect(entry["comment"] == nil)
        #expect(!archive.description.contains("secret"))
    }

    @Test func aFlushMakesTheEntriesOfReturnedCallsVisible() async throws {
        server.route("/y", .text("done"))
        let recorder = HARRecorder()
        manager.eventMonitors = [recorder]
        for _ in 0..<20 { _ = try await manager.response(.get, "y") }
        await manager.flushMonitors()
        #expect(Self.entries(recorder.document).count == 20)
        manager.eventMonitors = []
        await manager.flushMonitors()
    }

    @Test func redirectsAndRetriesHaveTheirOwnEntries() async throws {
        server.route("/moved", .redirect(to: "/y"))
        server.route("/y", times: 1, .status(503))
        server.route("/y", .text("done"))
        manager.interceptors = [Interceptor(retry: { _, _ in .retry })]
        let archive = try await archive(HARRecorder()) { _ = try await manager.response(.get, "moved") }
        #expect(HARSchema.problems(of: archive) == [])
        let entries = Self.entries(archive)
        #expect(entries.map { $0["response"]?["status"] } == [302, 503, 302, 200])
        let urls = entries.map { $0["request"]?["url"]?.string }
        let (first, second) = (server.urlString("/moved"), server.urlString("/y"))
        #expect(urls == [first, second, first, second])
        #expect(entries[0]["response"]?["redirectURL"] == "/y")
        #expect(entries[1]["response"]?["redirectURL"] == "")
    }

    @Test func answeredChallengesHaveEntries() async throws {
        server.route("/moved", .redirect(to: "/in"))
        server.route("/in", times: 1, .status(401, headers: ["WWW-Authenticate": "Basic realm=x"]))
        server.route("/in", .text("in"))
        var request = HTTPRequest("moved")
        request.credential = Credential(user: "me", password: "secret")
        let archive = try await archive(HARRecorder()) { _ = try await manager.response(for: request) }
        #expect(HARSchema.problems(of: archive) == [])
        let entries = Self.entries(archive)
        #expect(entries.map { $0["response"]?["status"] } == [302, 401, 200])
        #expect(entries.map { $0["comment"] } == [nil, "answered by Basic", nil])
        #expect(Self.value("WWW-Authenticate", of: entries[1]["response"]) == "Basic realm=x")
        #expect(entries[1]["request"]?["url"] == entries[2]["request"]?["url"])
        #expect(entries.allSatisfy { $0["serverIPAddress"] == "127.0.0.1" })
    }

    @Test func recordsLostAndTruncatedResponses() async throws {
        server.route("/lost", .reset)
        server.route("/cut", .truncated(body: Data("do".utf8), promising: 4))
        let archive = await archive(HARRecorder(), requests: 2) {
            _ = try? await manager.response(.get, "lost")
            _ = try? await manager.response(.get, "cut")
        }
        #expect(HARSchema.problems(of: archive) == [])
        let entries = Self.entries(archive)
        #expect(entries.map { $0["comment"] } == ["connectionLost", "truncated"])
        #expect(entries.map { $0["response"]?["status"] } == [0, 200])
    }

    @Test func recordsStreamsAndDownloadsWithoutBodies() async throws {
        let folder = try TestFolder()
        let archive = try await archive(HARRecorder(maximumBodySize: 1000), requests: 2) {
            for try await _ in try await manager.stream(HTTPRequest("x")).bytes {}
            try await manager.download(HTTPRequest("x"), to: folder.file("film"))
        }
        #expect(HARSchema.problems(of: archive) == [])
        #expect(Self.entries(archive).map { $0["response"]?["content"]?["size"] } == [13, 13])
        #expect(Self.entries(archive).map { $0["response"]?["content"]?["text"] } == [nil, nil])
    }

    @Test func secretsAndBodiesAreLeftOutByDefault() async throws {
        server.route(
            "/login", .respond(headers: ["Set-Cookie": "session=secret; Path=/"], body: Data("secret".utf8)))
        var request = HTTPRequest(
            .post, "login?a=\u{600}&token=secret", headers: ["Authorization": "Bearer secret"])
        request.headers.add(name: "Cookie", value: "a=secret; b=secret")
        request.headers.add(name: "X-Mine", value: "secret", isSecret: true)
        request.body = .text("secret")
        let hidden = HARRecorder()
        _ = try await archive(hidden) { _ = try await manager.response(for: request) }
        #expect(!String(decoding: hidden.data(), as: UTF8.self).contains("secret"))
        let shown = HARRecorder(maximumBodySize: 100, redaction: .none)
        let archive = try await archive(shown, requests: 2) { _ = try await manager.response(for: request) }
        #expect(HARSchema.problems(of: archive) == [])
        let entry = try #require(Self.entries(archive).first)
        #expect(Self.value("Authorization", of: entry["request"]) == "Bearer secret")
        #expect(
            entry["request"]?["cookies"]
                == [["name": "a", "value": "secret"], ["name": "b", "value": "secret"]])
        #expect(
            entry["request"]?["queryString"]
                == [["name": "a", "value": "\u{600}"], ["name": "token", "value": "secret"]])
        #expect(entry["response"]?["cookies"] == [["name": "session", "value": "secret"]])
    }

    @Test func limitsEntriesAndBodySize() async throws {
        let recorder = HARRecorder(maximumEntries: 3, maximumBodySize: 4)
        server.route("/bytes", .respond(body: Data([0xFF, 0xFE, 0xFD, 0xFC, 0xFB])))
        var archive = try await archive(recorder, requests: 5) {
            for index in 0..<5 { _ = try await manager.response(.get, "bytes?\(index)") }
        }
        #expect(HARSchema.problems(of: archive) == [])
        #expect(Self.entries(archive).map { $0["request"]?["url"]?.string?.last } == ["2", "3", "4"])
        #expect(recorder.droppedEntries == 2)
        let content = Self.entries(archive)[0]["response"]?["content"]
        #expect(content?["text"]?.string == Data([0xFF, 0xFE, 0xFD, 0xFC]).base64EncodedString())
        #expect(content?["encoding"] == "base64")
        #expect(content?["size"] == 5)
        #expect(content?["comment"] == "the first 4 of 5 bytes")
        recorder.removeAll()
        archive = recorder.document
        #expect(Self.entries(archive).isEmpty)
        #expect(HARSchema.problems(of: archive) == [])
        let none = HARRecorder(maximumEntries: 0)
        archive = try await self.archive(none, requests: 6) { _ = try await manager.response(.get, "x") }
        #expect(Self.entries(archive).isEmpty)
    }

    @Test func phaseTimesSumToTotal() throws {
        let writer = HARWriter(redaction: .standard, maximumBodySize: 0)
        let leg = HARLeg(
            request: HTTPRequest("https://host/"), start: Date(timeIntervalSince1970: 1.5),
            response: HTTPResponse(status: 200, url: "https://host/"))
        func entry(_ hop: HopMetrics?) throws -> JSONValue {
            var result = RequestResult(response: leg.response)
            result.response?.metrics = ResponseMetrics(hops: hop.map { [$0] } ?? [])
            return try #require(writer.entries([leg], result).first)
        }
        var hop = HopMetrics(url: "https://host/", status: 200)
        (hop.dnsDone, hop.connectDone, hop.tlsDone) = (.milliseconds(1), .milliseconds(3), .milliseconds(6))
        (hop.requestSent, hop.firstByte, hop.total) = (.milliseconds(10), .milliseconds(15), .milliseconds(21))
        let fresh = try entry(hop)
        #expect(fresh["startedDateTime"] == "1970-01-01T00:00:01.500Z")
        #expect(fresh["time"] == 21.0)
        #expect(
            fresh["timings"] == [
                "blocked": -1, "dns": 1.0, "connect": 5.0, "send": 4.0, "wait": 5.0, "receive": 6.0, "ssl": 3.0,
            ])
        hop.isReused = true
        let reused = try entry(hop)
        #expect(reused["timings"]?["dns"] == -1.0 && reused["timings"]?["connect"] == -1.0)
        #expect(reused["timings"]?["send"] == 10.0 && reused["time"] == 21.0)
        // An answer that came before the request was sent whole.
        (hop.requestSent, hop.firstByte) = (.milliseconds(15), .milliseconds(10))
        let early = try entry(hop)
        #expect(early["timings"]?["wait"] == 0.0 && early["time"] == 21.0)
        // Without a response there was nothing to receive.
        (hop.requestSent, hop.firstByte) = (.milliseconds(15), nil)
        let unanswered = try entry(hop)
        #expect(unanswered["timings"]?["wait"] == 6.0 && unanswered["timings"]?["receive"] == 0.0)
        #expect(unanswered["time"] == 21.0)
        let unknown = try entry(nil)
        #expect(unknown["time"] == 0.0)
        for entry in [fresh, reused, early, unanswered, unknown] { #expect(HARSchema.problems(of: [entry]) == []) }
    }

    @Test func internalRequestsHaveOnlyStatusAndTimes() throws {
        let writer = HARWriter(redaction: .standard, maximumBodySize: 0)
        let leg = HARLeg(
            request: HTTPRequest("https://host/"), start: .now,
            response: HTTPResponse(status: 200, headers: ["A": "b"], url: "https://host/"))
        var result = RequestResult(response: leg.response)
        result.response?.metrics = ResponseMetrics(hops: [
            HopMetrics(url: "https://host/", status: 416), HopMetrics(url: "https://host/", status: 200),
        ])
        let entries = writer.entries([leg], result)
        #expect(entries.map { $0["response"]?["status"] } == [416, 200])
        #expect(entries.map { $0["response"]?["headers"]?.array?.count } == [0, 1])
        #expect(HARSchema.problems(of: entries) == [])
    }
}

/// What HAR 1.2 requires of an archive, member by member.
enum HARSchema {
    indirect enum Kind: Sendable {
        case text, number, notNegative, date
        case list(Kind)
        /// Members; those whose names end in a question mark may be missing.
        case object([(String, Kind)])
        case oneOf([String])
    }

    private static let pair = Kind.object([("name", .text), ("value", .text), ("comment?", .text)])

    private static let cookie = Kind.object([
        ("name", .text), ("value", .text), ("path?", .text), ("domain?", .text), ("expires?", .date),
    ])

    static let entry = Kind.object([
        ("startedDateTime", .date), ("time", .notNegative),
        (
            "request",
            .object([
                ("method", .text), ("url", .text), ("httpVersion", .text), ("cookies", .list(cookie)),
                ("headers", .list(pair)), ("queryString", .list(pair)), ("headersSize", .number),
                ("bodySize", .number),
                (
                    "postData?",
                    .object([
                        ("mimeType", .text), ("text", .text), ("encoding?", .oneOf(["base64"])), ("comment?", .text),
                    ])
                ),
            ])
        ),
        (
            "response",
            .object([
                ("status", .notNegative), ("statusText", .text), ("httpVersion", .text), ("cookies", .list(cookie)),
                ("headers", .list(pair)),
                (
                    "content",
                    .object([
                        ("size", .notNegative), ("mimeType", .text), ("text?", .text),
                        ("encoding?", .oneOf(["base64"])), ("comment?", .text),
                    ])
                ),
                ("redirectURL", .text), ("headersSize", .number), ("bodySize", .number),
            ])
        ),
        ("cache", .object([])),
        (
            "timings",
            .object([
                ("blocked", .number), ("dns", .number), ("connect", .number), ("send", .notNegative),
                ("wait", .notNegative), ("receive", .notNegative), ("ssl", .number),
            ])
        ),
        ("serverIPAddress?", .text), ("connection?", .text), ("comment?", .text),
    ])

    private static let archive = Kind.object([
        (
            "log",
            .object([
                ("version", .oneOf(["1.2"])), ("creator", .object([("name", .text), ("version", .text)])),
                ("pages", .list(.object([]))), ("entries", .list(entry)), ("comment?", .text),
            ])
        )
    ])

    static func problems(of archive: JSONValue) -> [String] { check(archive, Self.archive, "") }

    static func problems(of entries: [JSONValue]) -> [String] { check(.array(entries), .list(entry), "entries") }

    private static func check(_ value: JSONValue, _ kind: Kind, _ place: String) -> [String] {
        switch kind {
        case .text: return value.string == nil ? ["\(place) is no text"] : []
        case .oneOf(let texts): return texts.contains(value.string ?? "") ? [] : ["\(place) is none of \(texts)"]
        case .number: return (value.double ?? -2) >= -1 ? [] : ["\(place) is no number from -1 on"]
        case .notNegative: return (value.double ?? -1) >= 0 ? [] : ["\(place) is no number from 0 on"]
        case .date:
            let date = try? Date(
                value.string ?? "", strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true))
            return date == nil ? ["\(place) is no date"] : []
        case .list(let kind):
            guard let elements = value.array else { return ["\(place) is no list"] }
            return elements.enumerated().flatMap { check($1, kind, "\(place)[\($0)]") }
        case .object(let members):
            guard let object = value.object else { return ["\(place) is no object"] }
            let names = members.map { $0.0.replacing("?", with: "") }
            // The format leaves names with an underscore to programs.
            let foreign = object.keys.filter { !names.contains($0) && !$0.hasPrefix("_") }
                .map { "\(place).\($0) is not in the format" }
            return foreign
                + members.flatMap { name, kind -> [String] in
                    let bare = name.replacing("?", with: "")
                    if let member = object[bare] { return check(member, kind, "\(place).\(bare)") }
                    return name == bare ? ["\(place).\(bare) is missing"] : []
                }
        }
    }
}
