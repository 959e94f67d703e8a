import FoundationEssentials
import Testing

@testable import SwiftAF

@Suite struct HTTPRequestSerializerTests {
    private let serializer = HTTPRequestSerializer()

    @Test(
        arguments: [
            ("http://h/p", ["k": "v"], "http://h/p?k=v"), ("http://h/p?a=b", ["k": "v"], "http://h/p?a=b&k=v"),
            ("http://h/p?", ["k": "v"], "http://h/p?&k=v"), ("http://h/p?a&", ["k": "v"], "http://h/p?a&&k=v"),
            ("http://h/p#f", ["k": "v"], "http://h/p?k=v#f"),
            ("http://h/p?a#f?g", ["k": "v"], "http://h/p?a&k=v#f?g"), ("http://h#?", ["k": "v"], "http://h?k=v#?"),
            ("http://h/p", [:], "http://h/p"), ("http://h/p", nil, "http://h/p"), ("http://h/p?", [:], "http://h/p?"),
            ("http://h/%20", ["k": "%20"], "http://h/%20?k=%2520"),
        ] as [(String, Parameters?, String)])
    func appendsParametersToQuery(url: String, parameters: Parameters?, result: String) throws {
        for method in [HTTPMethod.get, .head, .delete, "get"] {
            let request = try serializer.serialize(HTTPRequest(method, url), parameters: parameters)
            #expect(request.url == result)
            #expect(request.body.isNone && request.headers.isEmpty && request.method == method)
        }
    }

    @Test(arguments: [HTTPMethod.post, .put, .patch, "REPORT"])
    func encodesParametersAsFormBody(method: HTTPMethod) throws {
        let request = try serializer.serialize(HTTPRequest(method, "http://h/"), parameters: ["key": "value"])
        #expect(request.headers == ["Content-Type": "application/x-www-form-urlencoded"])
        #expect(request.body.data == Data("key=value".utf8))
        #expect(request.url == "http://h/")
    }

    @Test func withoutParametersThereIsAnEmptyForm() throws {
        let request = try serializer.serialize(HTTPRequest(.post, "http://h/"), parameters: nil)
        #expect(request.headers["Content-Type"] == "application/x-www-form-urlencoded")
        #expect(request.body.data == Data() && !request.body.isNone)
    }

    @Test(arguments: [HTTPMethod.options, .trace, "REPORT"])
    func onlyMethodsOfFormsSendAnEmptyOne(method: HTTPMethod) throws {
        let request = try serializer.serialize(HTTPRequest(method, "http://h/"), parameters: nil)
        #expect(request.body.isNone && request.headers.isEmpty)
    }

    @Test func ownContentTypeStays() throws {
        let own = HTTPRequest(.post, "http://h/", headers: ["content-type": "text/x"])
        #expect(try serializer.serialize(own, parameters: ["a": 1]).headers == ["content-type": "text/x"])
        var removed = HTTPRequest(.post, "http://h/")
        removed.headers.suppressDefault("Content-Type")
        #expect(try serializer.serialize(removed, parameters: ["a": 1]).headers.isEmpty)
    }

    @Test func aBodyIsNeverReplaced() throws {
        let own = HTTPRequest(.post, "http://h/", body: .text("mine"))
        let request = try serializer.serialize(own, parameters: nil)
        #expect(request.body.data == Data("mine".utf8) && request.headers.isEmpty)
        let error = #expect(throws: SessionError.self) { try serializer.serialize(own, parameters: ["a": 1]) }
        #expect(error?.code == .invalidInput)
        #expect(throws: SessionError.self) {
            try JSONRequestSerializer(base: serializer).serialize(own, parameters: [1])
        }
    }

    @Test func methodsInURIAreConfigurable() throws {
        var serializer = serializer
        serializer.methodsEncodingParametersInURI = ["POST"]
        #expect(try serializer.serialize(HTTPRequest(.post, "http://h/"), parameters: ["a": 1]).url == "http://h/?a=1")
        let delete = try serializer.serialize(HTTPRequest(.delete, "http://h/"), parameters: ["a": 1])
        #expect(delete.body.data == Data("a=1".utf8))
    }

    @Test func ownQueryStringIsUsedVerbatim() throws {
        var serializer = serializer
        serializer.queryString = { _, _ in "key**value" }
        #expect(try serializer.serialize(HTTPRequest("http://h/"), parameters: [:]).url == "http://h/?key**value")
        #expect(try serializer.serialize(HTTPRequest("http://h/"), parameters: nil).url == "http://h/")
        serializer.queryString = { _, _ in throw CancellationError() }
        #expect(throws: CancellationError.self) { try serializer.serialize(HTTPRequest("url"), parameters: [:]) }
    }

    @Test(
        arguments: [
            (.brackets, .numeric, "a%5B%5D%5Bx%5D=1&a%5B%5D%5Bx%5D=0"),
            (.none, .literal, "a%5Bx%5D=true&a%5Bx%5D=false"),
            (.indexed, .literal, "a%5B0%5D%5Bx%5D=true&a%5B1%5D%5Bx%5D=false"),
        ] as [(ParameterEncoder.ArrayStyle, ParameterEncoder.BooleanStyle, String)])
    func appliesArrayAndBooleanStyles(
        arrays: ParameterEncoder.ArrayStyle, booleans: ParameterEncoder.BooleanStyle, query: String
    ) throws {
        var serializer = serializer
        serializer.parameterEncoder = ParameterEncoder(arrayStyle: arrays, booleanStyle: booleans)
        let request = try serializer.serialize(
            HTTPRequest("http://h/"), parameters: ["a": [["x": true], ["x": false]]])
        #expect(request.url == "http://h/?\(query)")
    }

    @Test func limitsAndHintsFillGapsOnly() throws {
        var serializer = serializer
        serializer.timeouts.idle = .seconds(7)
        serializer.timeouts.total = .zero
        serializer.hints = HTTPRequest.Hints(
            cachePolicy: .returnCacheDataElseLoad, handlesCookies: false, usesPipelining: true,
            networkServiceType: .background, allowsCellularAccess: false)
        var request = HTTPRequest("http://h/")
        request.timeouts.idle = .seconds(1)
        request.hints.cachePolicy = .reloadIgnoringLocalCacheData
        request.hints.handlesCookies = true
        let serialized = try serializer.serialize(request, parameters: nil)
        #expect(serialized.timeouts == .init(idle: .seconds(1), total: .zero))
        #expect(
            serialized.hints
                == .init(
                    cachePolicy: .reloadIgnoringLocalCacheData, handlesCookies: true, usesPipelining: true,
                    networkServiceType: .background, allowsCellularAccess: false))
        let json = try JSONRequestSerializer(base: serializer).serialize(
            HTTPRequest(.post, "http://h/"), parameters: nil)
        #expect(json.hints == serializer.hints && json.timeouts == serializer.timeouts)
    }

    @Test func whatIsNotSetIsNotTouched() throws {
        let request = try self.serializer.serialize(HTTPRequest("http://h/"), parameters: nil)
        #expect(request.hints == .init() && request.timeouts == .init())
    }

    @Test func aCopyCarriesEverySetting() throws {
        let original = Self.special
        var copy = original
        #expect(copy == original && copy.hashValue == original.hashValue)
        copy.hints.allowsCellularAccess = nil
        #expect(copy != original)
        copy = original
        copy.parameterEncoder.arrayStyle = .indexed
        #expect(copy != original)
    }

    @Test func codingCarriesEverySettingButCode() throws {
        var original = Self.special
        #expect(try recoded(original) == original)
        original.queryString = { _, _ in "q" }
        original.bodyEncoder = Reversing()
        let decoded = try recoded(original)
        #expect(decoded != original && decoded.queryString == nil && decoded.bodyEncoder == nil)
        original.bodyEncoder = nil
        #expect(decoded != original)
        original.queryString = nil
        #expect(decoded == original)
    }

    private static var special: HTTPRequestSerializer {
        var serializer = HTTPRequestSerializer()
        serializer.methodsEncodingParametersInURI = ["GET", "REPORT"]
        serializer.parameterEncoder = ParameterEncoder(arrayStyle: .none, booleanStyle: .literal)
        serializer.timeouts = .init(connect: .milliseconds(1500), idle: .seconds(7))
        serializer.hints = .init(cachePolicy: .returnCacheDataDontLoad, allowsCellularAccess: true)
        return serializer
    }
}

@Suite struct JSONRequestSerializerTests {
    private let serializer = JSONRequestSerializer()

    private static var cases: [(Parameters, String)] {
        var cases: [(Parameters, String)] = []
        func add(_ parameters: Parameters, _ text: String) { cases.append((parameters, text)) }
        add(["key": "value"], #"{"key":"value"}"#)
        add([["key": "value"]], #"[{"key":"value"}]"#)
        add([], "[]")
        add([:], "{}")
        add(["n": [nil, true, 1, 1.5] as [Any?], "u": UInt64(7)], #"{"n":[null,true,1,1.5],"u":7}"#)
        add(["u": UInt64.max], #"{"u":18446744073709551615}"#)
        add(
            ["d": Date(timeIntervalSince1970: 0), "b": Data([1])],
            #"{"d":-978307200,"b":"AQ=="}"#)
        add(["p": Parameters.encodable(["k": 1])], #"{"p":{"k":1}}"#)
        add(.encodable([1, 2]), "[1,2]")
        add(Parameters(["o": [1]] as JSONValue), #"{"o":[1]}"#)
        return cases
    }

    @Test(arguments: cases)
    func encodesParametersAsJSONBody(parameters: Parameters, body: String) throws {
        let request = try serializer.serialize(HTTPRequest(.post, "http://h/"), parameters: parameters)
        #expect(request.body.data == Data(body.utf8))
        #expect(request.headers == ["Content-Type": "application/json"])
    }

    @Test func nilParametersAddNothing() throws {
        let request = try serializer.serialize(HTTPRequest(.post, "http://h/"), parameters: nil)
        #expect(request.body.isNone && request.headers.isEmpty)
    }

    @Test func methodsWithoutBodyUseTheQuery() throws {
        let request = try serializer.serialize(HTTPRequest("http://h/"), parameters: ["a": [1]])
        #expect(request.url == "http://h/?a%5B%5D=1" && request.body.isNone && request.headers.isEmpty)
    }

    @Test(
        arguments: [
            "text", 1, true, ["a": Set([1])], ["a": Double.infinity],
        ] as [Parameters])
    func whatIsNotJSON(parameters: Parameters) {
        let request = HTTPRequest(.post, "http://h/")
        let error = #expect(throws: SessionError.self) { try serializer.serialize(request, parameters: parameters) }
        #expect(error?.code == .serialization && error?.url == "http://h/")
    }

    @Test func anEncodersErrorIsTheUnderlyingOne() {
        struct Failing: Encodable { func encode(to encoder: any Encoder) throws { throw CancellationError() } }
        let error = #expect(throws: SessionError.self) {
            try serializer.serialize(HTTPRequest(.post, "http://h/"), parameters: .encodable(Failing()))
        }
        #expect(error?.code == .serialization && error?.underlying is CancellationError)
    }

    @Test(
        arguments: [("text", #""text""#), (7, "7"), (true, "true"), (.encodable("x"), #""x""#)]
            as [(Parameters, String)])
    func encodesFragmentsOnlyWhenAllowed(parameters: Parameters, body: String) throws {
        let request = HTTPRequest(.post, "http://h/")
        #expect(throws: SessionError.self) { try self.serializer.serialize(request, parameters: parameters) }
        var serializer = serializer
        serializer.allowsFragments = true
        #expect(try serializer.serialize(request, parameters: parameters).body.data == Data(body.utf8))
    }

    @Test(
        arguments: [HTTPRequestSerializer(), JSONRequestSerializer(allowsFragments: true)] as [any RequestSerializer])
    func nullMeansNoParameters(serializer: any RequestSerializer) throws {
        func pages(_ isPaged: Bool) -> Parameters? { isPaged ? Parameters(["page": 1]) : nil }
        let parameters = pages(false)
        guard case .null? = parameters else { Issue.record("Swift takes this nil for that of Optional"); return }
        for request in [
            HTTPRequest("http://h/"), HTTPRequest(.post, "http://h/"),
            HTTPRequest(.post, "http://h/", body: .text("x")),
        ] {
            let with = try serializer.serialize(request, parameters: parameters)
            let without = try serializer.serialize(request, parameters: nil)
            #expect(with.url == without.url && with.body.data == without.body.data)
            #expect(with.headers.fields.map(\.name) == without.headers.fields.map(\.name))
        }
        #expect(try serializer.multipartFormRequest(.post, "http://h/", parameters: parameters).body.filePath == nil)
    }

    @Test func encodersAndOptions() throws {
        struct Pair: Codable { var b = "x/y"; var a = Date(timeIntervalSince1970: 0) }
        let request = HTTPRequest(.post, "http://h/")
        var serializer = serializer
        serializer.writingOptions = [.sortedKeys, .withoutEscapingSlashes, .prettyPrinted]
        let plain = try serializer.serialize(request, parameters: .encodable(Pair()))
        #expect(try JSONValue(parsing: plain.body.data ?? Data())["a"] == -978_307_200)
        #expect(String(decoding: plain.body.data ?? Data(), as: UTF8.self).contains(#"x/y"#))
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .secondsSince1970
        encoder.outputFormatting = .sortedKeys
        serializer.encoder = encoder
        let own = try serializer.serialize(request, parameters: .encodable(Pair()))
        #expect(own.body.data == Data(#"{"a":0,"b":"x\/y"}"#.utf8))
    }

    @Test func copiesAndCoding() throws {
        var original = serializer
        original.writingOptions = [.prettyPrinted]
        original.allowsFragments = true
        original.base.hints.handlesCookies = false
        #expect(try recoded(original) == original)
        var copy = original
        copy.writingOptions = []
        #expect(copy != original)
        copy = original
        copy.encoder = JSONEncoder()
        #expect(copy != original)
        #expect(try recoded(copy) == original)
    }

    @Test func appliesJSONWritingOptions() throws {
        var serializer = serializer
        serializer.writingOptions = [.sortedKeys, .withoutEscapingSlashes]
        let request = try serializer.serialize(HTTPRequest(.put, "http://h/"), parameters: ["b": "x/y", "a": 1])
        #expect(request.body.data == Data(#"{"a":1,"b":"x/y"}"#.utf8))
    }
}

@Suite struct DefaultHeadersTests {
    @Test(arguments: [
        (["en"], "en;q=1"), (["de-DE", "en"], "de-DE;q=1, en;q=0.9"),
        (["a", "b", "c", "d", "e", "f", "g"], "a;q=1, b;q=0.9, c;q=0.8, d;q=0.7, e;q=0.6, f;q=0.5"), ([], ""),
    ])
    func weighsLanguagesByTheirOrder(languages: [String], text: String) {
        #expect(DefaultHeaders.acceptLanguage(languages) == text)
    }

    @Test(
        arguments: [
            ([:], ["en"]), (["LANG": "C.UTF-8"], ["en"]), (["LANG": "POSIX"], ["en"]),
            (["LANG": "de_DE.UTF-8"], ["de-DE"]),
            (["LANG": "de_DE@euro", "LC_ALL": "fr_FR"], ["fr-FR"]), (["LANG": "de_DE", "LC_ALL": ""], ["de-DE"]),
            (["LANGUAGE": "pt_BR:en:pt_BR", "LANG": "de_AT"], ["pt-BR", "en", "de-AT"]),
            (["LANG": "x\r\ny: z"], ["en"]), (["LANG": "de_\u{308}"], ["en"]), (["LANG": "de__AT"], ["en"]),
        ] as [([String: String], [String])])
    func readsLanguagesFromEnvironment(environment: [String: String], tags: [String]) {
        #expect(DefaultHeaders.languages(in: environment) == tags)
    }

    @Test(arguments: [
        ("app", "1.2", "Debian 12", "app/1.2 (Linux; Debian 12) SwiftAF/0.1.0"),
        ("app", nil, "Debian 12", "app (Linux; Debian 12) SwiftAF/0.1.0"),
        ("my app\r\n", "1 (2)", "x(y)\\\n", "myapp/12 (Linux; xy) SwiftAF/0.1.0"),
        ("приложение", "3", "ö", "SwiftAF/0.1.0 (Linux; )"),
    ])
    func buildsUserAgentFromProgramAndSystem(program: String, version: String?, system: String, text: String) {
        #expect(DefaultHeaders.userAgent(program: program, version: version, system: system) == text)
    }

    @Test func userAgentOfThisProcess() {
        let library = "SwiftAF/\(LibraryVersions.current.core)"
        #expect(DefaultHeaders.userAgent().hasSuffix(") \(library)"))
        #expect(DefaultHeaders.userAgent(program: "app", version: "7").hasPrefix("app/7 (Linux; "))
    }

    @Test func theDefaultsAreValidHeaders() throws {
        #expect(DefaultHeaders.all.map(\.name) == ["Accept-Language", "User-Agent"])
        try HTTPRequest("http://h/", headers: DefaultHeaders.all).validate()
    }
}

/// An encoder whose work can be seen.
private struct Reversing: RequestBodyEncoder {
    var contentEncoding: String { "reversed" }

    func encode(_ body: Data) throws -> Data {
        if body == Data("{}".utf8) { throw CancellationError() }
        return Data(body.reversed())
    }
}

@Suite struct RequestBodyEncodingTests {
    private var form: HTTPRequestSerializer {
        var serializer = HTTPRequestSerializer()
        serializer.bodyEncoder = Reversing()
        return serializer
    }
    private let post = HTTPRequest(.post, "http://h/")

    @Test func whatTheSerializerWritesIsEncoded() throws {
        let request = try form.serialize(post, parameters: ["ab": "c"])
        #expect(request.body.data == Data("c=ba".utf8) && request.headers["Content-Encoding"] == "reversed")
        #expect(request.headers["Content-Type"] == "application/x-www-form-urlencoded")
        let json = try JSONRequestSerializer(base: form).serialize(post, parameters: [12])
        #expect(json.body.data == Data("]21[".utf8) && json.headers["Content-Encoding"] == "reversed")
    }

    @Test func soIsTheRequestsOwnBodyInMemory() throws {
        let own = HTTPRequest(.put, "http://h/", body: .text("abc"))
        #expect(try form.serialize(own, parameters: nil).body.data == Data("cba".utf8))
        #expect(try JSONRequestSerializer(base: form).serialize(own, parameters: nil).body.data == Data("cba".utf8))
        let deleting = HTTPRequest(.delete, "http://h/", body: .text("abc"))
        let encoded = try form.serialize(deleting, parameters: ["a": 1])
        #expect(encoded.body.data == Data("cba".utf8) && encoded.url == "http://h/?a=1")
    }

    @Test func theRestIsLeftAlone() throws {
        let file = HTTPRequest(.put, "http://h/", body: .file("/dev/null"))
        let encoded = HTTPRequest(.put, "http://h/", headers: ["content-encoding": "br"], body: .text("abc"))
        for request in [file, encoded, post, HTTPRequest("http://h/")] {
            let result = try form.serialize(request, parameters: nil)
            #expect(result.headers["Content-Encoding"] == request.headers["Content-Encoding"])
            #expect(result.body.data == nil || result.body.data == Data() || result.body.data == request.body.data)
        }
    }

    @Test func aFailureIsTheOutcome() throws {
        let error = #expect(throws: SessionError.self) {
            try JSONRequestSerializer(base: form).serialize(post, parameters: [:])
        }
        #expect(error?.code == .serialization && error?.underlying is CancellationError && error?.url == "http://h/")
        #expect(error?.message == "the body can't be encoded as reversed")
    }
}
