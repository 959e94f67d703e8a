import FoundationEssentials
import SwiftAF
import Testing

@Suite struct HTTPHeadersTests {
    @Test func orderCaseAndRepeatsAreKept() {
        var headers: HTTPHeaders = ["B": "1", "a": "2"]
        headers.add(name: "b", value: "3")
        #expect(headers.map(\.name) == ["B", "a", "b"])
        #expect(headers.values(named: "b") == ["1", "3"])
        #expect(headers.first(named: "B") == "1")
        #expect(headers["b"] == "1, 3")
        #expect(headers["missing"] == nil)
        #expect(headers.contains(named: "A"))
    }

    @Test func callsTakeNames() {
        let text = "X-Text"
        var headers: HTTPHeaders = ["content-type": "a/b"]
        #expect(headers[.contentType] == "a/b" && headers.first(named: .contentType) == "a/b")
        headers[.contentType] = "text/plain"
        headers.add(name: .accept, value: "1")
        headers.add(name: .accept, value: "2")
        headers.add(HTTPHeaders.Field(name: .eTag, value: "3"))
        headers.set(name: .host, value: "4", isSecret: true)
        headers.add(name: text, value: "5")
        headers[text] = "6"
        #expect(headers.values(named: .accept) == ["1", "2"] && headers.contains(named: .eTag))
        #expect(headers.values(named: text) == ["6"] && headers.values(named: "x-text") == ["6"])
        #expect(headers.fields.contains { $0.isNamed(.host) && $0.isSecret })
        headers.remove(named: .accept)
        headers.suppressDefault(.userAgent)
        #expect(!headers.contains(named: "Accept") && headers.isSuppressed(.userAgent))
        #expect(headers.map(\.name) == ["Content-Type", "ETag", "Host", "X-Text"])
    }

    @Test func comparesNamesIgnoringCase() {
        let name: HTTPHeaders.Name = "CONTENT-type"
        #expect(name == .contentType && name != .contentLength && "\(name)" == "CONTENT-type")
        #expect(Set([name, .contentType, HTTPHeaders.Name("Content-Type")]).count == 1)
        #expect([HTTPHeaders.Name.eTag: 1]["etag"] == 1)
    }

    @Test func setCookieIsNeverJoined() {
        let headers: HTTPHeaders = ["Set-Cookie": "a=1", "set-cookie": "b=2"]
        #expect(headers["SET-COOKIE"] == "a=1")
        #expect(headers.values(named: "Set-Cookie") == ["a=1", "b=2"])
    }

    @Test func settingReplacesAllAtTheFirstPlace() {
        var headers: HTTPHeaders = ["X": "1", "Y": "2", "x": "3", "Z": "4", "X": "5"]
        headers["x"] = "new"
        #expect(headers == ["x": "new", "Y": "2", "Z": "4"])
        headers["W"] = "last"
        #expect(headers.last?.name == "W")
        headers["Y"] = nil
        #expect(headers == ["x": "new", "Z": "4", "W": "last"])
    }

    @Test func arrayLiteralKeepsRepeatedHeaders() {
        let headers: HTTPHeaders = [("Accept", "text/html"), ("Accept", "text/plain")]
        #expect(headers["accept"] == "text/html, text/plain")
    }

    @Test func dictionaryLiteralLeavesOutFieldsWithoutValue() {
        func headers(_ tag: String?) -> HTTPHeaders { ["Accept": "text/html", "If-None-Match": tag, "X": "1"] }
        #expect(headers("\"1\"") == [("Accept", "text/html"), ("If-None-Match", "\"1\""), ("X", "1")])
        #expect(headers(nil) == [("Accept", "text/html"), ("X", "1")])
    }

    @Test func fieldsOfDictionaryAreSortedByName() {
        var dictionary = Dictionary(uniqueKeysWithValues: (10..<40).map { ("X-\($0)", "\($0)") })
        dictionary["Accept"] = "text/html"
        dictionary["accept"] = "text/plain"
        let headers = HTTPHeaders(dictionary)
        #expect(headers.map(\.name) == ["Accept"] + (10..<40).map { "X-\($0)" } + ["accept"])
        #expect(headers["X-17"] == "17" && headers["ACCEPT"] == "text/html, text/plain")
        #expect(HTTPHeaders([:] as [String: String]).isEmpty)
        #expect(HTTPHeaders(["Authorization": "s3cret"] as [String: String])[0].isSecret)
    }

    @Test func suppressesDefaultHeadersUntilSet() {
        var headers: HTTPHeaders = ["Accept": "x"]
        headers.suppressDefault("accept")
        #expect(headers.isEmpty)
        #expect(headers.suppressedDefaults == ["accept"])
        headers.fillGaps(from: ["Accept": "*/*", "User-Agent": "t"])
        #expect(headers.map(\.name) == ["User-Agent"])
        headers.suppressDefault("Accept")
        #expect(headers.suppressedDefaults == ["Accept"])
        headers["ACCEPT"] = "text/html"
        #expect(!headers.isSuppressed("Accept"))
    }

    @Test func fillGapsSuppressesWhatTheDefaultsDo() {
        var defaults: HTTPHeaders = ["A": "1"]
        defaults.suppressDefault("User-Agent")
        defaults.suppressDefault("Accept")
        var headers: HTTPHeaders = ["accept": "mine"]
        headers.fillGaps(from: defaults)
        #expect(headers.suppressedDefaults == ["User-Agent"] && headers["Accept"] == "mine" && headers["A"] == "1")
        headers.fillGaps(from: defaults)
        #expect(headers.suppressedDefaults == ["User-Agent"])
    }

    @Test func fillGapsKeepsRepeatsOfADefault() {
        var headers: HTTPHeaders = ["A": "mine"]
        headers.fillGaps(from: ["a": "default", "B": "1", "B": "2"])
        #expect(headers == ["A": "mine", "B": "1", "B": "2"])
    }

    @Test func mergeReplacesAndSuppressesHeaders() {
        var headers: HTTPHeaders = ["A": "1", "A": "2", "B": "3"]
        var other: HTTPHeaders = ["a": "4", "a": "5", "C": "6"]
        other.suppressDefault("B")
        headers.merge(other)
        #expect(headers.values(named: "A") == ["4", "5"])
        #expect(!headers.contains(named: "B"))
        #expect(headers.isSuppressed("b"))
    }

    @Test(arguments: ["Authorization", "proxy-authorization", "COOKIE", "Set-Cookie"])
    func credentialsAreHidden(name: String) {
        let headers: HTTPHeaders = [name: "s3cret"]
        #expect(headers[0].isSecret)
        #expect(!headers.description.contains("s3cret"))
        #expect(!String(describing: headers[0]).contains("s3cret"))
        #expect(!String(reflecting: headers).contains("s3cret"))
        var dumped = ""
        dump(headers, to: &dumped)
        #expect(!dumped.contains("s3cret"))
        #expect(headers.fullDescription.contains("s3cret"))
    }

    @Test func markedSecretsStayMarked() {
        var headers = HTTPHeaders()
        headers.add(name: "X-Key", value: "s3cret", isSecret: true)
        headers["x-key"] = "s3cret2"
        #expect(headers[0].isSecret)
        #expect(headers.description == "x-key: <hidden>")
        #expect(!HTTPHeaders.Field(name: "X", value: "v").isSecret)
    }

    @Test func fieldsThatReplaceSecretsAreSecret() {
        var secret = HTTPHeaders()
        secret.add(name: "X-Session", value: "one", isSecret: true)
        var filled: HTTPHeaders = ["x-session": "two", "A": "1"]
        filled.fillGaps(from: secret)
        #expect(filled.map(\.isSecret) == [true, false] && filled.count == 2)
        var merged = secret
        merged.merge(["x-session": "two", "A": "1"])
        #expect(merged["X-Session"] == "two" && merged.map(\.isSecret) == [true, false])
        var plain: HTTPHeaders = ["X-Session": "one"]
        plain.merge(["X-Session": "two"])
        #expect(!plain[0].isSecret)
    }

    @Test func equalityIgnoresCaseOfNamesOnly() {
        let headers: HTTPHeaders = ["A": "v"]
        #expect(headers == ["a": "v"])
        #expect(headers != ["a": "V"])
        #expect(headers.hashValue == (["a": "v"] as HTTPHeaders).hashValue)
        #expect((["A": "1", "B": "2"] as HTTPHeaders) != ["B": "2", "A": "1"])
    }

    @Test func codableRoundTrip() throws {
        var headers: HTTPHeaders = ["A": "1", "a": "2"]
        headers.add(name: "Key", value: "k", isSecret: true)
        headers.suppressDefault("Accept")
        let decoded = try JSONDecoder().decode(HTTPHeaders.self, from: JSONEncoder().encode(headers))
        #expect(decoded == headers)
        #expect(decoded[2].isSecret)
        #expect(decoded.suppressedDefaults == ["Accept"])
    }

    @Test(arguments: [[0x63, 0xE9], [0x63, 0xC3, 0xA9], [0x80], [0x63]] as [[UInt8]])
    func codableKeepsReceivedBytes(bytes: [UInt8]) throws {
        let field = Array("X".utf8).withUnsafeBufferPointer { name in
            bytes.withUnsafeBufferPointer { HTTPHeaders.Field(name: name, value: $0) }
        }
        let decoded = try JSONDecoder().decode(HTTPHeaders.Field.self, from: JSONEncoder().encode(field))
        #expect(decoded == field && decoded.rawValue == bytes)
    }

    @Test func codableIgnoresACharsetThatCannotBe() throws {
        let data = Data(#"{"name":"X","value":"€","isLatin1":true}"#.utf8)
        #expect(try JSONDecoder().decode(HTTPHeaders.Field.self, from: data).rawValue == Array("€".utf8))
    }

    @Test func encodesBasicAndBearerAuthorization() {
        var headers = HTTPHeaders()
        headers.authorization = .basic(user: "Aladdin", password: "open sesame")
        #expect(headers["Authorization"] == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")
        headers.authorization = .basic(user: "ü", password: "€")
        #expect(headers["Authorization"] == "Basic w7w64oKs")
        headers.authorization = .bearer("t")
        #expect(headers.values(named: "Authorization") == ["Bearer t"])
    }

    @Test(
        arguments: [
            ([0x61, 0x62], "ab"), ([0xC3, 0xA9], "é"), ([0xE9], "é"), ([0x61, 0xFF, 0x80], "aÿ\u{80}"), ([], ""),
        ] as [([UInt8], String)])
    func receivedBytesSurvive(bytes: [UInt8], text: String) {
        let name = Array("X".utf8)
        let field = name.withUnsafeBufferPointer { name in
            bytes.withUnsafeBufferPointer { HTTPHeaders.Field(name: name, value: $0) }
        }
        #expect(field.value == text)
        #expect(field.rawValue == bytes)
    }

    @Test func namesInAnotherScriptAreComparedByBytes() {
        #expect(!HTTPHeaders.Field(name: "\u{212A}ey", value: "").isNamed("key"))
        #expect(!HTTPHeaders.Field(name: "[", value: "").isNamed("{"))
    }
}
