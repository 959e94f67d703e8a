import AFTestServer
import FoundationEssentials
import Glibc
import SwiftAF
import Testing

/// Values that aren't `Sendable`, and conformances that belong to an actor.
@Suite(.timeLimit(.minutes(10)))
struct PlainValueTests {
    /// Isn't `Sendable`.
    private final class Folder: Decodable {
        let name: String
        let folders: [Folder]?
    }

    /// Counts how many of it were decoded, as only code on the main actor may.
    @MainActor private struct Note: @MainActor Decodable {
        static var count = 0
        let title: String

        private enum Key: CodingKey { case title }

        init(from decoder: any Decoder) throws {
            title = try decoder.container(keyedBy: Key.self).decode(String.self, forKey: .title)
            Self.count += 1
        }
    }

    @MainActor private struct Mark: @MainActor Decodable {
        let title: String
    }

    @globalActor private actor Archive {
        static let shared = Archive()
    }

    /// Can be decoded by one actor only, which isn't the main actor.
    @Archive private struct Entry: @Archive Decodable {
        let title: String

        private enum Key: CodingKey { case title }

        init(from decoder: any Decoder) throws {
            Archive.preconditionIsolated()
            title = try decoder.container(keyedBy: Key.self).decode(String.self, forKey: .title)
        }
    }

    /// Can be encoded on the main actor only.
    @MainActor private struct Draft: @MainActor Encodable {
        var title = "rain"

        func encode(to encoder: any Encoder) throws {
            MainActor.preconditionIsolated()
            try ["title": title].encode(to: encoder)
        }
    }

    /// Is `Sendable`, and knows on which thread it was decoded.
    private struct Place: Decodable, Sendable {
        let thread: pthread_t

        init(from decoder: any Decoder) throws {
            thread = pthread_self()
        }
    }

    /// The same, but not `Sendable`.
    private final class Spot: Decodable {
        let place: Place

        init(from decoder: any Decoder) throws {
            place = try Place(from: decoder)
        }
    }

    /// Isn't `Sendable`, either.
    private final class Item: Encodable {
        var price = 0.5
    }

    private actor Reader {
        private(set) var folder: Folder?

        func read(_ manager: HTTPSessionManager) async throws {
            folder = try await manager.get("folder")
        }

        func name() -> String? { folder?.name }
    }

    private let server: TestServer
    private let manager: HTTPSessionManager

    init() throws {
        server = try TestServer()
        manager = HTTPSessionManager(baseURL: server.urlString("/"))
        server.route("/folder", .json(#"{"name":"a","folders":[{"name":"b"},{"name":"c"}]}"#))
        server.route("/note", .json(#"{"title":"rain"}"#))
        server.route("/notes", .json(#"[{"title":"rain"},{"title":"snow"}]"#))
        server.route("/known", .json(#"{"a":{"title":"rain"}}"#))
        server.route("/empty", .respond(204))
        server.route("/refused", .json(#"{"title":"no"}"#, status: 422))
        server.route("/page", .respond(200, headers: ["Content-Type": "text/html"], body: Data("{}".utf8)))
    }

    /// As clients write it.
    private func send<Body: Encodable>(_ body: Body) async throws {
        try await manager.post("note", json: body)
    }

    private var bodies: [String] { server.requests.map { String(decoding: $0.body, as: UTF8.self) } }

    /// As clients write it: the type isn't known here, so it may be any.
    private func fetch<Value: Decodable>(_ path: String, as type: Value.Type = Value.self) async throws -> Value {
        try await manager.get(path)
    }

    @Test func classesAreDecodedFromEveryMethod() async throws {
        let folder: Folder = try await manager.get("folder", parameters: ["deep": true])
        #expect(folder.folders?.map(\.name) == ["b", "c"])
        #expect(try await manager.post("folder", parameters: ["name": "a"], as: Folder.self).name == "a")
        #expect(try await manager.put("folder", body: .text("a"), as: Folder.self).name == "a")
        #expect(try await manager.patch("folder", json: ["name": "a"], as: Folder.self).name == "a")
        #expect(try await manager.delete("folder", as: Folder?.self)?.name == "a")
        #expect(try await manager.request("SEARCH", "folder", as: Folder.self).name == "a")
        #expect(try await manager.get("folder").value(as: Folder.self).name == "a")
        let requests = server.requests
        #expect(requests.map(\.method) == ["GET", "POST", "PUT", "PATCH", "DELETE", "SEARCH", "GET"])
        #expect(requests[0].target == "/folder?deep=1" && requests[1].body == Data("name=a".utf8))
        #expect(requests[2].body == Data("a".utf8) && requests[3].body == Data(#"{"name":"a"}"#.utf8))
    }

    @Test func classesAreDecodedTogetherWithTheHead() async throws {
        let response: Response<Folder> = try await manager.get("folder").decoded()
        #expect(response.value.name == "a" && response.status == 200 && !response.body.isEmpty)
    }

    @Test @MainActor func isolatedConformancesAreDecodedTogetherWithTheHead() async throws {
        let response = try await manager.get("notes").decoded(as: [Mark].self)
        #expect(response.value.map(\.title) == ["rain", "snow"] && response.head.version == .http1_1)
    }

    @Test @MainActor func isolatedConformancesAreSentAsPartOfAForm() async throws {
        try await manager.post("note", body: .multipart { try $0.append(json: Draft(), name: "draft") })
        #expect(server.requests[0].bodyText.contains(#"{"title":"rain"}"#))
    }

    @Test @MainActor func isolatedConformancesDecodeOnTheirActor() async throws {
        let before = Note.count
        let note: Note = try await manager.get("note")
        let notes = try await [note, manager.get("note", as: Note.self), manager.post("note").value(as: Note.self)]
        #expect(notes.map(\.title) == ["rain", "rain", "rain"] && Note.count == before + 3)
        let list: [Note] = try await manager.get("notes")
        let known: [String: Note?] = try await manager.post("known", json: ["a": 1, "b": "two"])
        let missing: Note? = try await manager.get("empty")
        #expect(list.count == 2 && known.count == 1 && missing == nil && Note.count == before + 6)
    }

    @Test @Archive func conformancesOfOtherActorsDecodeOnThem() async throws {
        let entry: Entry = try await manager.get("note")
        let entries: [Entry] = try await manager.get("notes")
        manager.eventMonitors = [AttemptNotes()]
        let monitored = try await manager.get("note", as: Entry.self)
        #expect([entry, entries[1], monitored].map(\.title) == ["rain", "snow", "rain"])
    }

    @Test @MainActor func classesAreDecodedOnAnotherThread() async throws {
        let spots: [Spot] = [
            try await manager.get("note"), try await manager.post("note", json: ["q": 1, "r": "x"]),
            try await manager.get("notes", as: [Spot].self)[1],
        ]
        let thread = pthread_self()
        #expect(spots.count == 3 && spots.allSatisfy { $0.place.thread != thread })
    }

    @Test @MainActor func sendableValuesAreDecodedOnAnotherThread() async throws {
        let (thread, limit) = (pthread_self(), 500)
        let places: [Place] = [
            try await manager.get("note"), try await manager.post("note", json: ["q": "x"]),
            try await manager.post("note", json: ["q": "x", "limit": limit]),
            try await manager.put("note", json: ["q": "x", "limit": limit]),
            try await manager.patch("note", json: ["q": "x", "limit": limit]),
            try await manager.delete("note", json: ["q": "x", "limit": limit]),
            try await manager.request("SEARCH", "note", json: ["q": "x", "limit": limit]),
        ]
        #expect(places.count == 7 && places.allSatisfy { $0.thread != thread })
        let folder: Folder = try await manager.post("folder", json: ["q": "x", "limit": limit])
        #expect(folder.name == "a")
    }

    @Test @MainActor func isolatedConformancesEncodeOnTheirActor() async throws {
        try await manager.post("note", json: Draft())
        try await manager.response(.put, "note", json: Draft()).validated()
        _ = try await manager.response(for: HTTPRequest(.patch, "note", body: .json(encoding: Draft())))
        _ = try await manager.response(for: manager.makeRequest(.post, "note", json: Draft()))
        manager.completionQueue = .global()
        let statuses = Recorder<Int>()
        manager.post("note", json: Draft(), with: .data, success: { task, _ in statuses.record(1) }, failure: nil)
        #expect(await statuses.wait() == [1])
        #expect(bodies == Array(repeating: #"{"title":"rain"}"#, count: 5))
    }

    @Test @MainActor func webSocketsEncodeWhereTheyAreCalled() async throws {
        server.route("/echo", [.upgrade(), .echoFrames])
        let socket = try await manager.webSocket("echo")
        try await socket.send(json: Draft())
        var messages = socket.makeAsyncIterator()
        #expect(try await messages.next() == .text(#"{"title":"rain"}"#))
        try await socket.close()
    }

    @Test func classesAndGenericValuesAreEncoded() async throws {
        try await manager.post("note", json: Item())
        try await send(Item())
        try await send(["a": 1])
        #expect(bodies == [#"{"price":0.5}"#, #"{"price":0.5}"#, #"{"a":1}"#])
        #expect(server.requests.allSatisfy { $0["Content-Type"] == "application/json" })
    }

    @Test func mixedLiteralsAreJSON() async throws {
        let age: Int? = nil
        try await manager.post(
            "note", json: ["name": "Ada", "age": age, "tags": ["a", "b"], "deep": ["x": 1, "y": true]])
        let note: [String: String] = try await manager.put("note", json: [1, "two", nil])
        try await manager.patch("note", json: ["price": 0.5, "name": "x"])
        _ = try await manager.request("SEARCH", "note", json: ["q": "x", "limit": 3], as: [String: String].self)
        #expect(note == ["title": "rain"])
        let sent = try bodies.map { try JSONValue(parsing: Array($0.utf8)) }
        #expect(sent[0] == ["name": "Ada", "age": nil, "tags": ["a", "b"], "deep": ["x": 1, "y": true]])
        #expect(sent[1] == [1, "two", nil] && sent[2] == ["price": 0.5, "name": "x"])
        #expect(sent[3] == ["q": "x", "limit": 3])
    }

    @Test func setsInMixedLiteralsAreArrays() async throws {
        try await manager.post("note", json: ["tags": Set(["a"])])
        try await manager.post("note", json: ["name": "x", "tags": Set(["a"]), "all": [Set([1]), "y"]])
        #expect(bodies == [#"{"tags":["a"]}"#, #"{"name":"x","tags":["a"],"all":[[1],"y"]}"#])
    }

    @Test(arguments: [JSONCoder(keys: .snakeCase, dates: .iso8601) as any DataEncoder, Self.foundationEncoder()])
    func mixedLiteralsAreWrittenByTheManagersEncoder(encoder: any DataEncoder) async throws {
        struct Entry: Encodable { let createdAt: Date, isOn: Bool }
        let entry = Entry(createdAt: Date(timeIntervalSince1970: 0), isOn: true)
        manager.encoder = encoder
        try await manager.post("note", json: ["theItem": entry])
        try await manager.post(
            "note", json: ["theItem": entry, "aCount": 1, "dueAt": entry.createdAt, "all": [entry, "x"]])
        let item: JSONValue = ["created_at": "1970-01-01T00:00:00Z", "is_on": true]
        let sent = try bodies.map { try JSONValue(parsing: Array($0.utf8)) }
        #expect(sent[0] == ["theItem": item])
        #expect(sent[1] == ["theItem": item, "aCount": 1, "dueAt": "1970-01-01T00:00:00Z", "all": [item, "x"]])
        // In the order in which they were written.
        let order = ["theItem", "aCount", "dueAt", "all"].map { bodies[1].firstRange(of: $0)?.lowerBound }
        #expect(order == order.sorted { ($0 ?? bodies[1].endIndex) < ($1 ?? bodies[1].endIndex) })
    }

    private static func foundationEncoder() -> JSONEncoder {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.dateEncodingStrategy = .iso8601
        return encoder
    }

    @Test func typesWithTheSuffixJSONAreDecoded() async throws {
        for type in ["application/vnd.api+json", "Application/Geo+JSON; charset=utf-8"] {
            server.route("/suffix", .json(#"{"title":"rain"}"#, headers: ["content-type": type]))
            #expect(try await manager.get("suffix") == ["title": "rain"])
            #expect(try await manager.get("suffix", as: JSONValue.self)["title"] == "rain")
        }
        server.route("/suffix", .json("{}", headers: ["Content-Type": "image/svg+xml"]))
        let error = try #require(
            await #expect(throws: SessionError.self) { let _: [String: String] = try await manager.get("suffix") })
        #expect(error.code == .contentType && error.message.contains("*/*+json"), "\(error)")
    }

    @Test func whatCannotBeEncodedIsNamed() async throws {
        for json: any Encodable in [["v": ["w": Double.nan]], ["v": ["w": 1, "x": .infinity]]] {
            let error = try #require(
                await #expect(throws: SessionError.self) { try await manager.post("note", json: json) })
            #expect(error.code == .serialization && "\(error)".contains("at $.v."), "\(error)")
        }
        let later = try #require(
            await #expect(throws: SessionError.self) { try await manager.post("note", body: .json([1, .nan])) })
        #expect(later.code == .serialization && "\(later)".contains("at $[1]"), "\(later)")
        #expect(server.requests.isEmpty)
    }

    @Test func actorsKeepWhatTheyDecode() async throws {
        let reader = Reader()
        try await reader.read(manager)
        #expect(await reader.name() == "a")
    }

    @Test func genericCallsDecodeEveryType() async throws {
        #expect(try await fetch("folder", as: Folder.self).name == "a")
        #expect(try await fetch("note", as: [String: String].self) == ["title": "rain"])
        #expect(try await fetch("note", as: JSONValue.self)["title"] == "rain")
        #expect(try await fetch("page", as: String.self) == "{}")
        #expect(try await fetch("page", as: Data.self) == Data("{}".utf8))
        #expect(try await fetch("empty", as: Folder?.self) == nil)
        _ = try await fetch("empty", as: Empty.self)
    }

    @Test func theManagersSettingsApply() async throws {
        server.route("/snake", .json(#"{"first_name":"Ada"}"#))
        final class Person: Decodable { let firstName: String }
        manager.decoder = JSONCoder(keys: .snakeCase)
        #expect(try await manager.get("snake", as: Person.self).firstName == "Ada")
        manager.validation.acceptableStatusCodes = [200, 422]
        #expect(try await manager.get("refused", as: [String: String].self) == ["title": "no"])
        manager.responseSerializer = JSONResponseSerializer(allowsFragments: false)
        server.route("/fragment", .json("42"))
        await #expect(throws: SessionError.self) { try await fetch("fragment", as: JSONValue.self) }
    }

    @Test func errorsAreThoseOfOtherValues() async throws {
        for path in ["refused", "page", "note", "empty", "nowhere"] {
            let plain = await #expect(throws: SessionError.self) { try await fetch(path, as: Folder.self) }
            let sendable = await #expect(throws: SessionError.self) { try await manager.get(path, as: [Int].self) }
            #expect(plain?.code == sendable?.code && plain?.status == sendable?.status, "\(path)")
            #expect(plain?.body == sendable?.body && plain?.url == sendable?.url, "\(path)")
        }
        let missing = try #require(
            await #expect(throws: SessionError.self) { try await fetch("note", as: Folder.self) })
        #expect(missing.code == .serialization && "\(missing)".contains("name"), "\(missing)")
    }
}
