import FoundationEssentials
import SwiftAF
import Testing

/// The counterparts of AFNetworking's AFJSONRequestSerializationTests, under their names.
@Suite struct JSONRequestSerializationTests {
    private let serializer = JSONRequestSerializer()
    private let request = HTTPRequest(.post, "https://test.test/")

    @Test func handlesParametersDictionary() throws {
        let body = try serializer.serialize(request, parameters: ["key": "value"]).body.data
        #expect(body == Data(#"{"key":"value"}"#.utf8))
    }

    @Test func handlesParametersArray() throws {
        let body = try serializer.serialize(request, parameters: [["key": "value"]]).body.data
        #expect(body == Data(#"[{"key":"value"}]"#.utf8))
    }

    /// The original's value is a text that ends in half a surrogate pair. Such a text can't become a `String`, so the
    /// error comes where it would enter.
    @Test func handlesInvalidParameters() {
        let error = #expect(throws: JSONParseError.self) {
            try serializer.serialize(request, parameters: Parameters(JSONValue(parsing: #"{"a":"\ud800"}"#)))
        }
        #expect(error?.reason == .loneSurrogate)
        #expect(String(validating: [0xD800], as: UTF16.self) == nil)
    }

    @Test func errorsWithInvalidJSON() {
        let error = #expect(throws: SessionError.self) {
            try serializer.serialize(request, parameters: ["key": Set([0])])
        }
        #expect(error?.code == .serialization)
        #expect(error?.message == "the parameters contain a set, which JSON can't express")
    }
}

/// The counterparts of AFNetworking's AFJSONResponseSerializationTests, under their names.
@Suite struct JSONResponseSerializationTests {
    private let serializer = JSONResponseSerializer()

    private func response(_ type: String = "application/json") -> HTTPResponse {
        HTTPResponse(status: 200, headers: ["Content-Type": type], url: "https://test.test/")
    }

    private func value(_ text: String, type: String = "application/json") throws -> JSONValue {
        try serializer.serialize(response(type), body: Data(text.utf8))
    }

    @Test func acceptsApplicationJSONMimeType() throws { _ = try value("{}", type: "application/json") }
    @Test func acceptsTextJSONMimeType() throws { _ = try value("{}", type: "text/json") }
    @Test func acceptsTextJavaScriptMimeType() throws { _ = try value("{}", type: "text/javascript") }

    @Test func doesNotAcceptNonStandardJSONMimeType() {
        let error = #expect(throws: SessionError.self) { try value("{}", type: "nonstandard/json") }
        #expect(error?.code == .contentType)
    }

    @Test func returnsDictionaryForValidJSONDictionary() throws {
        #expect(try value(#"{"key":"value"}"#) == ["key": "value"])
    }

    @Test func returnsErrorForInvalidJSON() {
        let error = #expect(throws: SessionError.self) { try value("{invalid}") }
        #expect(error?.code == .serialization && error?.underlying is JSONParseError)
    }

    @Test func returnsNullAndNoErrorForEmptyData() {
        let result = serializer.result(for: response(), body: Data())
        #expect(result.value == .null && result.error == nil)
    }

    @Test func returnsNullAndNoErrorForSingleSpace() {
        let result = serializer.result(for: response(), body: Data(" ".utf8))
        #expect(result.value == .null && result.error == nil)
    }

    @Test func removesKeysWithNullValues() throws {
        var serializer = serializer
        serializer.removesKeysWithNullValues = true
        serializer.removesNullsFromArrays = true
        let body = #"{"key":"value","nullkey":null,"array":[{"subnullkey":null}],"arrayWithNulls":[null]}"#
        #expect(
            try serializer.serialize(response(), body: Data(body.utf8))
                == ["key": "value", "array": [[:]], "arrayWithNulls": []])
    }

    private var special: JSONResponseSerializer {
        JSONResponseSerializer(
            validation: ResponseValidation(acceptableStatusCodes: [100], acceptableContentTypes: ["test/type"]),
            allowsFragments: true, removesKeysWithNullValues: true, removesNullsFromArrays: true)
    }

    @Test func canBeCopied() {
        let original = special
        var copy = original
        #expect(copy == original && copy.hashValue == original.hashValue)
        copy.removesKeysWithNullValues = false
        #expect(copy != original && original.removesKeysWithNullValues)
    }

    @Test func roundTripsSerializerThroughCoding() throws { #expect(try recoded(serializer) == serializer) }
    @Test func canBeArchivedAndUnarchived() throws { #expect(try recoded(special) == special) }
}
