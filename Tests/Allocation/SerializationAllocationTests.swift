import CAllocationCount
import FoundationEssentials
import SwiftAF
import Testing

/// Allocations per operation, held to the numbers in `Tests/Thresholds/serialization.json`. They are exact: the same
/// compiler gives the same count on every machine. After a change that lowers one, lower it there too.
@Suite(.enabled(if: allocation_count_works()), .serialized)
struct SerializationAllocationTests {
    private static let rounds = 10_000

    private static let parameters: Parameters = ["name": "Ada", "born": 1815, "tags": ["math", "code"]]
    private static let form = HTTPRequestSerializer()
    private static let json = JSONRequestSerializer()

    private static func response(_ type: String) -> HTTPResponse {
        HTTPResponse(
            status: 200, headers: ["Content-Type": type, "Content-Length": "47"],
            url: "https://api.example.org/v1/users/7")
    }

    struct User: Decodable { var name: String; var born: Int; var tags: [String] }

    private static let body = Data(#"{"name":"Ada","born":1815,"tags":["math","code"]}"#.utf8)

    @Test func allocationsAreCounted() {
        #expect(allocation_count_of_one() == 1)
    }

    @Test func limitsAllocationsOfQueryParameters() throws {
        let request = HTTPRequest("https://api.example.org/v1/users")
        try expect("query") { _ = try Self.form.serialize(request, parameters: Self.parameters) }
    }

    @Test func limitsAllocationsOfFormParameters() throws {
        let request = HTTPRequest(.post, "https://api.example.org/v1/users")
        try expect("form") { _ = try Self.form.serialize(request, parameters: Self.parameters) }
    }

    @Test func limitsAllocationsOfJSONParameters() throws {
        let request = HTTPRequest(.post, "https://api.example.org/v1/users")
        try expect("json request") { _ = try Self.json.serialize(request, parameters: Self.parameters) }
    }

    @Test func limitsAllocationsOfDataResponse() throws {
        let (response, serializer) = (Self.response("application/octet-stream"), DataResponseSerializer())
        try expect("data") { _ = try serializer.serialize(response, body: Self.body) }
    }

    @Test func limitsAllocationsOfStringResponse() throws {
        let (response, serializer) = (Self.response("text/plain; charset=utf-8"), StringResponseSerializer())
        try expect("text") { _ = try serializer.serialize(response, body: Self.body) }
    }

    @Test func limitsAllocationsOfJSONResponse() throws {
        let (response, serializer) = (Self.response("application/json"), JSONResponseSerializer())
        try expect("json") { _ = try serializer.serialize(response, body: Self.body) }
    }

    @Test func jsonResponseWithParameters() throws {
        let (response, serializer) = (Self.response("application/json; charset=utf-8"), JSONResponseSerializer())
        try expect("json") { _ = try serializer.serialize(response, body: Self.body) }
    }

    @Test func limitsAllocationsOfDecodableResponse() throws {
        let (response, serializer) = (Self.response("application/json"), DecodableResponseSerializer<User>())
        try expect("decodable") { _ = try serializer.serialize(response, body: Self.body) }
    }

    /// A name with an escape is compared with every name that is looked up.
    @Test func decodableWithEscapedName() throws {
        let (response, serializer) = (Self.response("application/json"), DecodableResponseSerializer<User>())
        let name = #"{"\u0061 name of more than fifteen bytes":null,"#
        let body = Data(name.utf8) + Self.body.dropFirst()
        try expect("decodable") { _ = try serializer.serialize(response, body: body) }
    }

    @Test func limitsAllocationsOfDecodingFromJSONValue() throws {
        let tree = try JSONValue(parsing: Self.body)
        try expect("decoding from a tree") { _ = try tree.decode(as: User.self) }
    }

    private func expect(_ name: String, _ operation: () throws -> Void) throws {
        // The first runs make what is made once.
        for _ in 0..<10 { try operation() }
        let before = allocation_count()
        for _ in 0..<Self.rounds { try operation() }
        let counted = Double(allocation_count() - before) / Double(Self.rounds)
        let threshold = try AllocationThresholds.threshold(of: name, in: "serialization")
        #expect(counted <= threshold, "\(name), in a \(AllocationThresholds.configuration) build")
    }
}
