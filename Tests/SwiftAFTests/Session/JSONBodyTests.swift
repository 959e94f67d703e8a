import AFTestServer
import FoundationEssentials
import SwiftAF
import Testing

/// Every JSON body of a request is written by the manager's encoder, however the body is spelled.
@Suite(.timeLimit(.minutes(10)))
struct JSONBodyTests {
    private struct Note: Codable, Sendable {
        var wasRead = true
        var at = Date(timeIntervalSince1970: 0)
    }

    /// Not `Sendable`, so bodies can't keep it.
    private final class Page: Encodable {
        let firstLine = Date(timeIntervalSince1970: 0)
        let notes = ["oneNote": Note()]
    }

    struct Spelling: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// The JSON with these texts of a date and of `wasRead`.
        let expected: @Sendable (_ date: String, _ wasRead: String) -> String
        var usesRequestSerializer = false
        let send: @Sendable (HTTPSessionManager) async throws -> Void
    }

    private static let date = Date(timeIntervalSince1970: 0)
    private static let single: @Sendable (String, String) -> String = { date, _ in #"{"at":\#(date)}"# }
    private static let mixed: @Sendable (String, String) -> String = { date, _ in #"{"at":\#(date),"oneMore":1}"# }
    private static let note: @Sendable (String, String) -> String = { #"{"\#($1)":true,"at":\#($0)}"# }
    private static let deep: @Sendable (String, String) -> String = {
        #"{"theNote":{"\#($1)":true,"at":\#($0)},"list":[\#($0),"x",null]}"#
    }
    private static let page: @Sendable (String, String) -> String = { date, read in
        let line = read == "was_read" ? "first_line" : "firstLine"
        return #"{"\#(line)":\#(date),"notes":{"oneNote":\#(note(date, read))}}"#
    }

    static let spellings: [Spelling] = [
        Spelling(testDescription: "json: dates", expected: single) { try await $0.post("echo", json: ["at": date]) },
        Spelling(testDescription: "json: mixed", expected: mixed) {
            try await $0.post("echo", json: ["at": date, "oneMore": 1])
        },
        Spelling(testDescription: "json: value", expected: note) { try await $0.post("echo", json: Note()) },
        Spelling(testDescription: "json: deep", expected: deep) {
            try await $0.post("echo", json: ["theNote": Note(), "list": [date, "x", nil] as [Any?]])
        },
        Spelling(testDescription: "json: plain class", expected: page) { try await $0.post("echo", json: Page()) },
        Spelling(testDescription: ".json dates", expected: single) {
            try await $0.post("echo", body: .json(["at": date]))
        },
        Spelling(testDescription: ".json mixed", expected: mixed) {
            try await $0.post("echo", body: .json(["at": date, "oneMore": 1]))
        },
        Spelling(testDescription: ".json value", expected: note) { try await $0.post("echo", body: .json(Note())) },
        Spelling(testDescription: ".json deep", expected: deep) {
            try await $0.post("echo", body: .json(["theNote": Note(), "list": [date, "x", nil] as [Any?]]))
        },
        Spelling(testDescription: ".json(encoding:)", expected: note) {
            try await $0.post("echo", body: .json(encoding: Note()))
        },
        Spelling(testDescription: ".json(encoding:) of a class", expected: page) {
            try await $0.post("echo", body: .json(encoding: Page()))
        },
        Spelling(testDescription: "a request's body", expected: mixed) {
            _ = try await $0.response(for: HTTPRequest(.post, "echo", body: .json(["at": date, "oneMore": 1])))
        },
        Spelling(testDescription: "parameters: dates", expected: single, usesRequestSerializer: true) {
            try await $0.post("echo", parameters: ["at": date])
        },
        Spelling(testDescription: "parameters: mixed", expected: mixed, usesRequestSerializer: true) {
            try await $0.post("echo", parameters: ["at": date, "oneMore": 1])
        },
        Spelling(testDescription: "parameters: value", expected: note, usesRequestSerializer: true) {
            try await $0.post("echo", parameters: Parameters(encoding: Note()))
        },
        Spelling(testDescription: "parameters: deep", expected: deep, usesRequestSerializer: true) {
            try await $0.post("echo", parameters: ["theNote": Note(), "list": [date, "x", nil] as [Any?]])
        },
    ]

    private func sent(_ spelling: Spelling, by encoder: (any DataEncoder)?) async throws -> String {
        let server = try TestServer()
        server.route("/echo", .json("{}"))
        let manager = HTTPSessionManager(
            baseURL: server.urlString("/"),
            requestSerializer: spelling.usesRequestSerializer ? JSONRequestSerializer() : nil)
        if let encoder { manager.encoder = encoder }
        try await spelling.send(manager)
        let request = try #require(server.requests.first)
        #expect(request["Content-Type"] == "application/json")
        return request.bodyText
    }

    @Test(arguments: spellings)
    func bodyIsWrittenByDefaultEncoder(_ spelling: Spelling) async throws {
        #expect(try await sent(spelling, by: nil) == spelling.expected("-978307200", "wasRead"))
    }

    @Test(arguments: spellings)
    func bodyIsWrittenByManagersCoder(_ spelling: Spelling) async throws {
        let coder = JSONCoder(keys: .snakeCase, dates: .secondsSince1970)
        #expect(try await sent(spelling, by: coder) == spelling.expected("0", "was_read"))
    }

    @Test(arguments: spellings)
    func bodyIsWrittenByManagersEncoderOfFoundation(_ spelling: Spelling) async throws {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.outputFormatting = .sortedKeys
        let text = try await sent(spelling, by: encoder)
        let expected = spelling.expected(#""1970-01-01T00:00:00Z""#, "was_read")
        #expect(try JSONValue(parsing: Data(text.utf8)) == JSONValue(parsing: Data(expected.utf8)))
    }

    /// The JSON of a part, as it was sent or written.
    private func part(_ text: String) -> String? {
        text.split(separator: "\r\n").first { $0.hasPrefix("{") }.map(String.init)
    }

    static let parts: [(mixed: Bool, add: @Sendable (inout MultipartFormData) throws -> Void)] = [
        (false, { try $0.append(json: Note(), name: "note") }),
        (false, { try $0.append(json: Note(), name: "note", encoder: nil) }),
        (true, { try $0.append(json: ["at": date, "oneMore": 1], name: "note") }),
    ]

    @Test(arguments: parts.indices, [nil, "B"])
    func partOfFormIsWrittenByManagersEncoder(index: Int, boundary: String?) async throws {
        let server = try TestServer()
        let manager = HTTPSessionManager(baseURL: server.urlString("/"))
        let expected = Self.parts[index].mixed ? Self.mixed : Self.note
        var form = try boundary.map { try MultipartFormData(boundary: $0) } ?? MultipartFormData()
        try form.append("first", name: "a")
        try Self.parts[index].add(&form)

        try await manager.post("form", body: .multipart(form))
        manager.encoder = JSONCoder(keys: .snakeCase, dates: .secondsSince1970)
        try await manager.post("form", parameters: ["b": 1], body: .multipart(form))
        _ = try await manager.response(for: HTTPRequest(.post, "form", body: .multipart(form)))

        let sent = server.requests.map(\.bodyText)
        #expect(
            sent.map(part) == [expected("-978307200", "wasRead"), expected("0", "was_read"), expected("0", "was_read")])
        for text in sent {
            #expect(text.contains("form-data; name=\"note\"\r\nContent-Type: application/json\r\n\r\n{"))
        }
        let folder = try TestFolder()
        let file = folder.file("form")
        try await form.write(to: file)
        let written = try String(contentsOfFile: file, encoding: .utf8)
        #expect(part(written) == expected("-978307200", "wasRead"))
        #expect(try form.length() == Int64(written.utf8.count))
    }

    @Test func partOfFormWithAnEncoderOfItsOwnIsWrittenByIt() async throws {
        let server = try TestServer()
        let manager = HTTPSessionManager(baseURL: server.urlString("/"))
        let own = JSONCoder(dates: .iso8601)
        try await manager.post(
            "form",
            body: .multipart {
                try $0.append(json: ["at": Self.date], name: "a", encoder: own)
                try $0.append(json: ["at": Self.date, "oneMore": 1], name: "b", encoder: own)
            })
        let text = server.requests[0].bodyText
        #expect(text.contains(#"{"at":"1970-01-01T00:00:00Z"}"#))
        #expect(text.contains(#"{"at":"1970-01-01T00:00:00Z","oneMore":1}"#))
    }

    @Test func partOfFormThatCannotBeEncodedIsRefused() async throws {
        struct Odd: Encodable {
            struct Failure: Error {}
            func encode(to encoder: any Encoder) throws { throw Failure() }
        }
        var form = MultipartFormData()
        let error = #expect(throws: SessionError.self) { try form.append(json: Odd(), name: "a") }
        #expect(error?.code == .serialization && error?.underlying is Odd.Failure)
        #expect(form.isEmpty)
        #expect(throws: SessionError.self) { try form.append(json: 1, name: "a\n") }
        #expect(form.isEmpty)

        // A number that JSON can't express is known to be one when the encoder is.
        try form.append(json: ["a": Double.nan], name: "a")
        let request = HTTPRequest(.post, "http://127.0.0.1:9/", body: .multipart(form))
        let late = await #expect(throws: SessionError.self) { try await HTTPSessionManager().response(for: request) }
        #expect(late?.code == .serialization && late?.url == "http://127.0.0.1:9/")
    }

    /// As for `parameters:`, for which Swift takes the nil as ``Parameters/null``.
    @Test(arguments: [true, false])
    func nilParametersAfterJSONSendNoBody(isFull: Bool) async throws {
        let server = try TestServer()
        server.route("/echo", .json("{}"))
        let manager = HTTPSessionManager(baseURL: server.urlString("/"))
        let fields: [String: Any] = ["a": 1, "b": "x"]
        let optional: Parameters? = isFull ? Parameters(fields) : nil
        try await manager.post("echo", json: isFull ? ["a": 1, "b": "x"] : nil)
        try await manager.post("echo", json: isFull ? Parameters(fields) : nil)
        try await manager.post("echo", json: optional)
        let _: [String: Int] = try await manager.put("echo", json: optional)
        _ = try await manager.response(.patch, "echo", json: optional)
        _ = try await manager.response(for: manager.makeRequest(.post, "echo", json: optional))
        let bodies = server.requests.map { [$0.bodyText, $0["Content-Type"]] }
        // Without a body, the request serializer says what it would be.
        let expected: [String?] = isFull ? [#"{"a":1,"b":"x"}"#, "application/json"] : ["", MediaType.form.essence]
        #expect(bodies == Array(repeating: expected, count: 6))
    }

    /// The encoder is an object, which may be changed before the form is sent.
    @Test func partOfFormIsWrittenAtOnceByItsOwnEncoder() async throws {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        var form = MultipartFormData()
        try form.append(json: ["at": Self.date], name: "a", encoder: encoder)
        try form.append(json: ["at": Self.date, "oneMore": 1], name: "b", encoder: encoder)
        encoder.dateEncodingStrategy = .secondsSince1970
        let folder = try TestFolder()
        let file = folder.file("form")
        try await form.write(to: file)
        let text = try String(contentsOfFile: file, encoding: .utf8)
        #expect(text.contains(#"{"at":"1970-01-01T00:00:00Z"}"#))
        #expect(text.contains(#"{"at":"1970-01-01T00:00:00Z","oneMore":1}"#))
        let error = #expect(throws: SessionError.self) {
            try form.append(json: ["a": Double.nan, "b": 1], name: "c", encoder: encoder)
        }
        #expect(error?.code == .serialization && form.count == 2)
    }

    @Test(arguments: 0..<3)
    func encoderThatIsReplacedMeanwhileIsThatOfTheNextRequest(spelling: Int) async throws {
        let server = try TestServer()
        server.route("/echo", .text("x"))
        let manager = HTTPSessionManager(baseURL: server.urlString("/"))
        manager.encoder = JSONCoder(dates: .secondsSince1970)
        let configure: (inout HTTPRequest) -> Void = { _ in manager.encoder = JSONCoder(dates: .iso8601) }
        let date = Date(timeIntervalSince1970: 0)
        switch spelling {
        case 0: try await manager.post("echo", json: ["at": date, "more": 1], configure: configure)
        case 1: try await manager.post("echo", json: ["at": date], configure: configure)
        default: try await manager.post("echo", body: .json(["at": date]), configure: configure)
        }
        #expect(String(decoding: server.requests[0].body, as: UTF8.self).hasPrefix(#"{"at":0"#))
    }
}
