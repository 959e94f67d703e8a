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
