import FoundationEssentials
import SwiftAF
import Testing

/// The counterparts of AFNetworking's AFCompoundResponseSerializerTests, under their names, and the rules behind them.
@Suite struct CompoundResponseSerializerTests {
    private static let text = StringResponseSerializer(
        validation: ResponseValidation(acceptableContentTypes: ["text/plain"]))
    private let compound = CompoundResponseSerializer([text, JSONResponseSerializer()])

    private func response(_ type: String?, _ status: Int = 200) -> HTTPResponse {
        HTTPResponse(status: status, headers: type.map { ["Content-Type": $0] } ?? [:], url: "https://test.test/")
    }

    @Test func properlySerializesResponse() throws {
        let value = try compound.serialize(response("application/json"), body: Data(#"{"key":"value"}"#.utf8))
        #expect(value as? JSONValue == ["key": "value"])
    }

    @Test func canBeCopied() {
        var copy = compound
        #expect(copy == compound && copy.hashValue == compound.hashValue && copy.serializers.count == 2)
        copy.validation.acceptableContentTypes = ["a/b"]
        #expect(copy != compound)
        #expect(CompoundResponseSerializer(compound.serializers.reversed()) != compound)
    }

    @Test func canBeArchivedAndUnarchived() throws {
        #expect(try recoded(compound) == compound)
        let nested = CompoundResponseSerializer(
            [compound, DataResponseSerializer()], validation: ResponseValidation(acceptableStatusCodes: nil))
        #expect(try recoded(nested) == nested)
    }

    @Test(
        arguments: [
            // The first value wins.
            (200, "text/plain", "{}", #"text "{}""#), (200, "application/json", "{}", "json {}"),
            // With its own error.
            (404, "text/plain", "x", #"text "x" status"#), (404, "application/json", "[1]", "json [1] status"),
            // Errors of those that fail are forgotten, and the bytes are judged as such.
            (200, "image/png", "x", "data 1"), (500, "image/png", "x", "data 1 status"),
            (200, "application/json", "x", "data 1"), (500, "application/json", "x", "data 1 status"),
            // Null made of nothing doesn't win; an empty text is a text, of whatever type.
            (200, "application/json", "", #"text """#), (200, "application/json", " ", "data 1"),
        ] as [(Int, String, String, String)])
    func returnsFirstValueOrElseData(status: Int, type: String, body: String, expected: String) {
        let result = compound.result(for: response(type, status), body: Data(body.utf8))
        #expect(shape(result) == expected)
    }

    @Test func thrownErrorHasParsedBody() throws {
        let refused = try #require(throws: SessionError.self) {
            try compound.serialize(response("application/json", 404), body: Data(#"{"e":1}"#.utf8))
        }
        #expect(refused.code == .status && refused.parsedBody as? JSONValue == ["e": 1])
        let unused = try #require(throws: SessionError.self) {
            try compound.serialize(response("image/png", 404), body: Data("x".utf8))
        }
        #expect(unused.code == .status && unused.parsedBody as? Data == Data("x".utf8))
    }

    /// A value of an optional type that isn't nil.
    private struct Counter: ResponseSerializer {
        func serialize(_ response: HTTPResponse, body: Data) throws -> Int? { body.isEmpty ? nil : body.count }
    }

    @Test func usesOptionalValueUnlessItIsNil() {
        let compound = CompoundResponseSerializer([Counter()])
        #expect(compound.result(for: response(nil), body: Data(" ".utf8)).value as? Int == 1)
        #expect(compound.result(for: response(nil), body: Data()).value as? Data == Data())
    }

    @Test(arguments: [("", "data 0"), ("null", "json null")])
    func emptyBodyIsDataWhileNullIsJSON(body: String, expected: String) {
        let compound = CompoundResponseSerializer([
            JSONResponseSerializer(allowsFragments: true), DecodableResponseSerializer<Int?>(),
        ])
        #expect(shape(compound.result(for: response("application/json"), body: Data(body.utf8))) == expected)
    }

    @Test func dataAlwaysWins() {
        let picky = DataResponseSerializer(validation: ResponseValidation(acceptableContentTypes: ["a/b"]))
        let compound = CompoundResponseSerializer([picky, JSONResponseSerializer()])
        #expect(shape(compound.result(for: response("text/html"), body: Data([1]))) == "data 1 contentType")
    }

    @Test func refusalsAreThrown() {
        let error = #expect(throws: SessionError.self) {
            try compound.serialize(response("application/json", 404), body: Data("{}".utf8))
        }
        #expect(error?.code == .status)
    }

    @Test func partsOfOtherModulesAreCodedIfTheyAreKnown() throws {
        struct Own: ResponseSerializer, Codable, Hashable {
            let answer: Int
            func serialize(_ response: HTTPResponse, body: Data) -> Int { answer }
        }
        struct Closed: ResponseSerializer {
            func serialize(_ response: HTTPResponse, body: Data) -> Int { 0 }
        }
        let compound = CompoundResponseSerializer([Own(answer: 42)])
        let data = try JSONEncoder().encode(compound)
        let decoder = JSONDecoder()
        #expect(throws: DecodingError.self) { try decoder.decode(CompoundResponseSerializer.self, from: data) }
        let key = try #require(CompoundResponseSerializer.userInfoKey)
        decoder.userInfo[key] = [Own.self] as [any CompoundResponseSerializer.Part.Type]
        #expect(try decoder.decode(CompoundResponseSerializer.self, from: data) == compound)
        #expect(throws: EncodingError.self) { try JSONEncoder().encode(CompoundResponseSerializer([Closed()])) }
        #expect(CompoundResponseSerializer([Closed()]) != CompoundResponseSerializer([Closed()]))
    }

    private func shape(_ result: SerializedResult<any Sendable>) -> String {
        var parts: [String] = []
        switch result.value {
        case let json as JSONValue: parts.append("json \(json)")
        case let text as String: parts.append("text \"\(text)\"")
        case let data as Data: parts.append("data \(data.count)")
        default: parts.append("other")
        }
        if let error = result.error as? SessionError { parts.append(error.code.rawValue) }
        return parts.joined(separator: " ")
    }
}
