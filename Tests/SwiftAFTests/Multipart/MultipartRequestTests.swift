import FoundationEssentials
import SwiftAF
import Testing

@Suite(.timeLimit(.minutes(10)))
struct MultipartRequestTests {
    private let folder: TestFolder
    private let serializer = HTTPRequestSerializer()
    private let url = "http://127.0.0.1/"

    init() throws {
        folder = try TestFolder()
    }

    /// The request's form, with its boundary replaced by B.
    private func wire(_ request: HTTPRequest) async throws -> String {
        let path = folder.file("wire")
        let spooled = try await request.writeMultipart(to: path)
        #expect(spooled.body.filePath == path)
        let boundary = try #require(request.headers["Content-Type"]?.split(separator: "=").last)
        return String(decoding: try contents(of: path), as: UTF8.self).replacing(boundary, with: "B")
    }

    private func field(_ name: String, _ value: String) -> String {
        "--B\r\nContent-Disposition: form-data; name=\"\(name)\"\r\n\r\n\(value)\r\n"
    }

    @Test func encodesParametersAsSortedParts() async throws {
        let parameters: Parameters = [
            "z": "a b&c=ü", "a": 1, "n": nil, "d": Data("raw".utf8), "l": [1, true] as [Any], "o": ["k": 2.5],
            "s": Set(["y", "x"]), "t": Date(timeIntervalSince1970: 0),
        ]
        let request = try serializer.multipartFormRequest(.post, url, parameters: parameters) { form in
            try form.append("last", name: "0")
        }
        let expected =
            field("a", "1") + field("d", "raw") + field("l[]", "1") + field("l[]", "1") + field("n", "")
            + field("o[k]", "2.5") + field("s", "x") + field("s", "y") + field("t", "1970-01-01T00:00:00Z")
            + field("z", "a b&c=ü") + field("0", "last") + "--B--\r\n"
        #expect(try await wire(request) == expected)
        #expect(request.headers["Content-Type"]?.hasPrefix("multipart/form-data; boundary=Boundary+") == true)
        #expect(request.headers.values(named: "Content-Type").count == 1)
    }

    @Test func usesStyleOfParameterEncoder() async throws {
        var serializer = serializer
        serializer.parameterEncoder.arrayStyle = .none
        serializer.parameterEncoder.booleanStyle = .literal
        let request = try serializer.multipartFormRequest(.put, url, parameters: ["a": [true]])
        #expect(try await wire(request) == field("a", "true") + "--B--\r\n")
        let json = JSONRequestSerializer(base: serializer)
        let other = try json.multipartFormRequest(.post, url, parameters: ["a": [true]])
        #expect(try await wire(other) == field("a", "true") + "--B--\r\n")
    }

    @Test func requestWithoutPartsIsOrdinaryRequest() throws {
        let plain = try HTTPRequestSerializer().multipartFormRequest(.post, url, parameters: [:])
        #expect(plain.body.data == Data())
        #expect(plain.headers["Content-Type"] == "application/x-www-form-urlencoded")
        let json = try JSONRequestSerializer().multipartFormRequest(.post, url)
        #expect(json.body.isNone)
        #expect(json.headers["Content-Type"] == nil)
    }

    @Test(arguments: [HTTPMethod.get, .head])
    func refusesFormWithGETAndHEAD(method: HTTPMethod) {
        expectCode(.invalidInput) {
            try serializer.multipartFormRequest(method, url) { try $0.append("1", name: "a") }
        }
    }

    @Test func closureErrorsAreRethrownUnlessCaught() async throws {
        struct Mine: Error {}
        #expect(throws: Mine.self) { try serializer.multipartFormRequest(.post, url) { _ in throw Mine() } }
        let request = try serializer.multipartFormRequest(.post, url) { form in
            try? form.append(file: "/no/such/file", name: "f")
            try form.append("1", name: "a")
        }
        #expect(try await wire(request) == field("a", "1") + "--B--\r\n")
    }

    @Test func writesOnlyMultipartBodiesToFile() async throws {
        let path = folder.file("form")
        await expectCode(.invalidInput) {
            try await HTTPRequest(.post, url, body: .text("x")).writeMultipart(to: path)
        }
        var form = try MultipartFormData(boundary: "B")
        try form.append("1", name: "a")
        let request = try await HTTPRequest(.post, url, body: .multipart(form)).writeMultipart(to: path)
        #expect(request.headers["Content-Type"] == "multipart/form-data; boundary=B")
        #expect(try contents(of: path) == Data((field("a", "1") + "--B--\r\n").utf8))
        let file = URL(filePath: folder.file("form of a URL"))
        let unsent = HTTPRequest(.post, url, body: .multipart(form))
        let spooled = try await unsent.writeMultipart(to: file)
        #expect(spooled.body.filePath == folder.file("form of a URL"))
        #expect(try Data(contentsOf: file) == contents(of: path))
        let remote = try #require(URL(string: "http://h/form"))
        await expectCode(.invalidInput) { try await unsent.writeMultipart(to: remote) }
    }

    @Test func formBodyHasNoLengthInAdvance() throws {
        var form = MultipartFormData()
        try form.append("1", name: "a")
        let body = HTTPBody.multipart(form)
        #expect(!body.isNone)
        #expect(body.length == nil)
        #expect("\(body)" == "form of 1 parts")
    }
}
