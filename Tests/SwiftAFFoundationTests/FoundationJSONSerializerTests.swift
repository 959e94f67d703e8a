import Foundation
import SwiftAF
import SwiftAFFoundation
import Testing

@Suite struct FoundationJSONResponseSerializerTests {
    private let serializer = FoundationJSONResponseSerializer()
    private let json = response(200, "application/json")

    private func object(_ text: String, _ serializer: FoundationJSONResponseSerializer) throws -> Any? {
        try serializer.serialize(json, body: Data(text.utf8))?.value
    }

    @Test(arguments: ["application/json", "text/json", "text/javascript"])
    func jsonResponseSerializerAcceptsJSONMimeType(type: String) {
        #expect(serializer.result(for: response(200, type), body: Data("{}".utf8)).error == nil)
    }

    @Test func jsonResponseSerializerDoesNotAcceptNonStandardJSONMimeType() {
        let result = serializer.result(for: response(200, "nonstandard/json"), body: Data("{}".utf8))
        #expect(codes(result.error) == [.contentType] && result.value == nil)
    }

    @Test func jsonResponseSerializerReturnsDictionaryForValidJSONDictionary() throws {
        #expect(try object(#"{"key":"value"}"#, serializer) as? [String: String] == ["key": "value"])
    }

    @Test func jsonResponseSerializerReturnsErrorForInvalidJSON() throws {
        let result = serializer.result(for: json, body: Data("{invalid}".utf8))
        #expect(result.value == nil && codes(result.error) == [.serialization])
        let error = try #require(result.error as? SessionError).nsError
        #expect(error.domain == NSCocoaErrorDomain && error.code == 3840)
    }

    @Test(arguments: ["", " "])
    func jsonResponseSerializerReturnsNilObjectAndNilErrorForEmptyDataAndForSingleSpace(text: String) throws {
        let result = serializer.result(for: json, body: Data(text.utf8))
        let value = try #require(result.value)
        #expect(value == nil && result.error == nil)
        let refused = serializer.result(for: response(404, "application/json"), body: Data(text.utf8))
        #expect(codes(refused.error) == [.status])
    }

    @Test func twoSpacesAreNoJSON() {
        #expect(codes(serializer.result(for: json, body: Data("  ".utf8)).error) == [.serialization])
    }

    @Test func fragmentsAreReadOnRequestOnly() throws {
        #expect(codes(serializer.result(for: json, body: Data("7".utf8)).error) == [.serialization])
        let lenient = FoundationJSONResponseSerializer(readingOptions: [.fragmentsAllowed])
        #expect(try object("7", lenient) as? Int == 7)
        #expect(try object("null", lenient) is NSNull)
    }

    @Test func containersAreMutableOnRequestOnly() throws {
        #expect(try !(object("{}", serializer) is NSMutableDictionary))
        var mutable = FoundationJSONResponseSerializer(readingOptions: [.mutableContainers])
        #expect(try object(#"{"a":1}"#, mutable) is NSMutableDictionary)
        mutable.removesKeysWithNullValues = true
        let cleaned = try #require(try object(#"{"a":null,"b":[null]}"#, mutable) as? NSMutableDictionary)
        cleaned["c"] = 1
        #expect(cleaned.count == 2)
    }

    private func complaint(_ body: Data, _ serializer: FoundationJSONResponseSerializer) -> String? {
        (serializer.result(for: json, body: body).error as? SessionError)?.message
    }

    @Test func textsWhoseObjectsWouldTakeMuchMemoryAreErrors() {
        let limited = FoundationJSONResponseSerializer(maximumMemory: 1 << 20)
        let expected = "the objects of the JSON text would take more than 1048576 bytes (maximumMemory)"
        func list(_ element: String, _ count: Int) -> Data {
            Data("[\(Array(repeating: element, count: count).joined(separator: ","))]".utf8)
        }
        for (element, count) in [
            ("{\"\":0}", 1000), ("{ }", 10_000), ("[\n0 ]", 3000), ("0", 20_000), (#"{"\"":0}"#, 1000),
        ] {
            #expect(complaint(list(element, count), limited) == expected)
            #expect(complaint(list(element, count / 10), limited) == nil)
            #expect(complaint(list(element, count), serializer) == nil)
        }
        // What is in strings isn't counted, except in UTF-16.
        let text = list(#""{,:[\",{\\""#, 6000)
        #expect(complaint(text, limited) == nil)
        let wide = String(decoding: list("{\"\u{2200}\":0}", 1000), as: UTF8.self).data(using: .utf16LittleEndian)
        #expect(wide.map { complaint($0, limited) } == expected)
        #expect(complaint(Data(repeating: 0x20, count: 600_000), limited) == expected)
    }

    /// 60 MiB of it were 500 KB in gzip, and took gigabytes.
    @Test func denseTextsAreErrorsByDefault() {
        let text = Data(("[" + String(repeating: "{\"\":0},", count: 400_000) + "{}]").utf8)
        #expect(complaint(text, serializer)?.hasSuffix("(maximumMemory)") == true)
    }

    private static let nulls = """
        {"key":null,"other":"x","array":[{"key":null,"n":1}],"nulls":[null],"deep":{"a":{"b":null}}}
        """

    @Test func jsonRemovesKeysWithNullValues() throws {
        var serializer = serializer
        serializer.removesKeysWithNullValues = true
        serializer.removesNullsFromArrays = true
        let object = try #require(try object(Self.nulls, serializer) as? [String: Any])
        #expect(object["key"] == nil && object["other"] as? String == "x")
        #expect(object["array"] as? [[String: Int]] == [["n": 1]])
        #expect((object["nulls"] as? [Any])?.isEmpty == true)
        #expect(((object["deep"] as? [String: Any])?["a"] as? [String: Any])?.isEmpty == true)
    }

    @Test func nullsInArraysHaveTheirOwnSwitch() throws {
        let keys = FoundationJSONResponseSerializer(removesKeysWithNullValues: true)
        let withoutKeys = try #require(try object(Self.nulls, keys) as? [String: Any])
        #expect(withoutKeys["key"] == nil && (withoutKeys["nulls"] as? [Any])?.first is NSNull)
        let elements = FoundationJSONResponseSerializer(removesNullsFromArrays: true)
        let withoutElements = try #require(try object(Self.nulls, elements) as? [String: Any])
        #expect(withoutElements["key"] is NSNull && (withoutElements["nulls"] as? [Any])?.isEmpty == true)
    }

    @Test func nullsStayWithoutTheSwitch() throws {
        #expect((try object(Self.nulls, serializer) as? [String: Any])?["key"] is NSNull)
    }

    @Test func aParserErrorStandsAboveTheStatus() throws {
        let result = serializer.result(for: response(500, "application/json"), body: Data("oops".utf8))
        #expect(codes(result.error) == [.serialization, .status])
        let error = try #require(result.error as? SessionError).nsError
        #expect(error.domain == NSCocoaErrorDomain && error.code == 3840)
        let status = try #require(error.userInfo[NSUnderlyingErrorKey] as? NSError)
        #expect(status.domain == AFErrorDomain.responseSerialization && status.code == -1011)
    }

    @Test func aRefusedStatusGivesObjectAndError() {
        let result = serializer.result(for: response(404, "application/json"), body: Data(#"{"e":1}"#.utf8))
        #expect((result.value ?? nil)?.value as? [String: Int] == ["e": 1])
        #expect(codes(result.error) == [.status])
    }

    @Test func jsonResponseSerializerCanBeCopied() {
        var original = FoundationJSONResponseSerializer(readingOptions: [.mutableLeaves])
        original.validation.acceptableStatusCodes = [100]
        original.validation.acceptableContentTypes = ["test/type"]
        original.removesKeysWithNullValues = true
        let copy = original
        #expect(copy == original && copy.readingOptions == [.mutableLeaves] && copy != serializer)
    }

    @Test func jsonSerializerCanBeArchivedAndUnarchived() throws {
        var original = FoundationJSONResponseSerializer(readingOptions: [.fragmentsAllowed])
        original.removesKeysWithNullValues = true
        original.removesNullsFromArrays = true
        #expect(try archivedAndUnarchived(original) == original)
    }
}
