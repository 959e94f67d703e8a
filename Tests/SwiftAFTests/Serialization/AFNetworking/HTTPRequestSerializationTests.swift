import FoundationEssentials
import SwiftAF
import Testing

/// The counterparts of AFNetworking's AFHTTPRequestSerializationTests, under their names. Its MIME type test belongs to
/// multipart forms.
@Suite struct HTTPRequestSerializationTests {
    private let serializer = HTTPRequestSerializer()

    @Test func serializesPOSTRequestsProperly() throws {
        let request = try serializer.serialize(HTTPRequest(.post, "http://example.com"), parameters: ["key": "value"])
        #expect(request.headers["Content-Type"] == "application/x-www-form-urlencoded")
        #expect(request.body.data == Data("key=value".utf8))
    }

    @Test func serializesPOSTRequestsProperlyWhenNoParameterIsProvided() throws {
        let request = try serializer.serialize(HTTPRequest(.post, "http://example.com"), parameters: nil)
        #expect(request.headers["Content-Type"] == "application/x-www-form-urlencoded")
        #expect(request.body.data == Data())
    }

    @Test func serializesQueryParametersCorrectly() throws {
        let request = try serializer.serialize(HTTPRequest("http://example.com"), parameters: ["key": "value"])
        #expect(request.parsedURL?.query() == "key=value")
    }

    @Test func emptyDictionaryParametersAreProperlyEncoded() throws {
        let request = try serializer.serialize(HTTPRequest("http://example.com"), parameters: [:])
        #expect(!request.url.hasSuffix("?"))
    }

    @Test func serializesURLEncodableQueryParametersCorrectly() throws {
        let parameters: Parameters = ["key": " :#[]@!$&'()*+,;=/?"]
        let request = try serializer.serialize(HTTPRequest("http://example.com"), parameters: parameters)
        #expect(
            request.url == "http://example.com?key=%20%3A%23%5B%5D%40%21%24%26%27%28%29%2A%2B%2C%3B%3D/?")
    }

    @Test func serializesURLEncodedQueryParametersCorrectly() throws {
        let parameters: Parameters = ["key": "%20%21%22%23%24%25%26%27"]
        let request = try serializer.serialize(HTTPRequest("http://example.com"), parameters: parameters)
        #expect(request.url == "http://example.com?key=%2520%2521%2522%2523%2524%2525%2526%2527")
    }

    @Test func serializesQueryParametersCorrectlyFromQuerySerializationClosure() throws {
        var serializer = serializer
        serializer.queryString = { _, parameters in
            try ParameterEncoder().pairs(parameters).map { "\($0.key ?? "")**\($0.value ?? "")" }.joined()
        }
        let request = try serializer.serialize(HTTPRequest("http://example.com"), parameters: ["key": "value"])
        #expect(request.url == "http://example.com?key**value")
    }

    // The fields that the original keeps in its serializer are the manager's.

    @Test func valueForHTTPHeaderFieldReturnsSetValue() {
        let manager = HTTPSessionManager()
        manager.headers["header-field"] = "Actual Value"
        #expect(manager.headers["header-field"] == "Actual Value")
    }

    @Test func valueForHTTPHeaderFieldReturnsNilForUnsetHeader() {
        #expect(HTTPSessionManager().headers["unset-header-field"] == nil)
    }

    @Test func queryStringSerializationCanFailWithError() {
        struct Refusal: Error, Equatable { let number: Int }
        var serializer = serializer
        serializer.queryString = { _, _ in throw Refusal(number: 17) }
        #expect(throws: Refusal(number: 17)) { try serializer.serialize(HTTPRequest("url"), parameters: [:]) }
    }

    @Test func headerValueCanBeRemoved() {
        let manager = HTTPSessionManager()
        manager.headers["Field"] = "value"
        manager.headers["Field"] = nil
        #expect(!manager.headers.contains(named: "Field"))
    }

    @Test func headerValueCanBeSetFromMultipleThreadsWithoutCrashing() async {
        let manager = HTTPSessionManager()
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<1000 { group.addTask { manager.headers["Field"] = "value \(index)" } }
        }
        #expect(manager.headers.values(named: "Field").count == 1)
        #expect(manager.headers["Field"]?.hasPrefix("value ") == true)
    }

    @Test func queryStringFromParameters() throws {
        #expect(try ParameterEncoder().encode(["key": "value", "key1": "value&"]) == "key=value&key1=value%26")
    }

    @Test func percentEscapingString() {
        #expect(
            ParameterEncoder.escape(":#[]@!$&'()*+,;=?/") == "%3A%23%5B%5D%40%21%24%26%27%28%29%2A%2B%2C%3B%3D?/")
    }

    /// The original escapes 50 UTF-16 units at a time; here is an emoji that would lie across such a border.
    @Test func emojiIsProperlyEncoded() {
        for before in 40...60 {
            let text = String(repeating: "a", count: before) + "👴🏿👷🏻👮🏽"
            let escaped = "%F0%9F%91%B4%F0%9F%8F%BF%F0%9F%91%B7%F0%9F%8F%BB%F0%9F%91%AE%F0%9F%8F%BD"
            #expect(ParameterEncoder.escape(text) == String(repeating: "a", count: before) + escaped)
        }
    }
}
