import FoundationEssentials
import Testing

@testable import SwiftAF

private func response(_ status: Int = 200, _ type: String? = "application/json") -> HTTPResponse {
    HTTPResponse(status: status, headers: type.map { ["Content-Type": $0] } ?? [:], url: "http://h/")
}

@Suite struct ResponseValidationTests {
    @Test(arguments: ["\u{1B}", "\u{2028}", "\u{2029}", "\u{202E}", "\u{2066}", "\u{85}"])
    func messagesHaveNothingThatForgesLines(mark: String) throws {
        let verdict = Self.json.validate(response(200, "text/a\(mark)b"), body: Data("x".utf8))
        let message = try #require(verdict.error?.message)
        #expect(message.contains("text/a\u{FFFD}b"))
        #expect(!message.contains(mark))
    }

    private static let json = ResponseValidation(acceptableContentTypes: JSONResponseSerializer.contentTypes)

    /// What a verdict looks like: `valid`, `silent` (invalid without error), or the codes from the outermost in.
    private func shape(_ verdict: ResponseValidation.Verdict) -> String {
        switch verdict {
        case .valid: return "valid"
        case .invalid(nil): return "silent"
        case .invalid(let error?):
            let inner = (error.underlying as? SessionError).map { ">\($0.code)" } ?? ""
            return error.code.rawValue + inner
        }
    }

    @Test(
        arguments: [
            (200, "application/json", "{}", "valid"), (299, "text/json", "{}", "valid"),
            (200, "text/javascript", "{}", "valid"), (200, "Application/JSON ; charset=utf-8", "{}", "valid"),
            (200, "nonstandard/json", "{}", "contentType"), (200, "application/problem+json", "{}", "contentType"),
            (200, "text/html", "<", "contentType"), (200, nil, "{}", "contentType"), (200, "", "{}", "contentType"),
            (200, "text/html", "", "silent"), (200, nil, "", "valid"), (205, nil, "", "valid"),
            (205, nil, "x", "contentType"),
            (404, "application/json", "{}", "status"), (404, "application/json", "", "status"),
            (404, nil, "", "status"),
            (500, "text/html", "<", "status>contentType"), (500, "text/html", "", "status"), (199, nil, "", "status"),
            (300, nil, "", "status"), (304, nil, "", "status"),
        ] as [(Int, String?, String, String)])
    func validatesStatusAndContentType(status: Int, type: String?, body: String, expected: String) {
        #expect(shape(Self.json.validate(response(status, type), body: Data(body.utf8))) == expected)
    }

    @Test func everyStatusOf2xxPassesAndNoneAbove() {
        for status in 200...299 {
            #expect(
                shape(ResponseValidation.default.validate(response(status, "text/html"), body: Data([1]))) == "valid")
        }
        for status in 400...599 {
            #expect(shape(ResponseValidation.default.validate(response(status), body: Data())) == "status")
        }
    }

    @Test func anythingGoesWithoutLists() {
        let validation = ResponseValidation(acceptableStatusCodes: nil, acceptableContentTypes: nil)
        #expect(shape(validation.validate(response(500, "x/y"), body: Data([1]))) == "valid")
    }

    @Test func aTypeCanNotForgeLogLines() {
        let type = "x\u{1B}[2J" + String(repeating: "y", count: 500)
        let message = Self.json.validate(response(200, type), body: Data([1])).error?.message ?? ""
        #expect(message.hasPrefix("unacceptable content type: x\u{FFFD}[2jyyy") && message.contains("yyy… (accepted: "))
        #expect(message.count < 200)
    }

    @Test func errorsCarryTheResponse() {
        let error = Self.json.validate(response(404, "text/html"), body: Data("gone".utf8)).error
        #expect(error?.status == 404 && error?.body == Data("gone".utf8) && error?.url == "http://h/")
        #expect(error?.message == "unacceptable status 404 (Not Found)")
        #expect(
            (error?.underlying as? SessionError)?.message
                == "unacceptable content type: text/html (accepted: application/json, text/javascript, text/json)")
    }
}

@Suite struct ResponseSerializerTests {
    /// A result as text: the value, the error's codes from the outermost in, or both.
    private func shape<Value>(_ result: SerializedResult<Value>) -> String {
        var parts: [String] = []
        if let value = result.value { parts.append("\(value)") }
        var error = result.error as? SessionError
        while let current = error {
            parts.append(current.code.rawValue)
            error = current.underlying as? SessionError
        }
        return parts.joined(separator: " ")
    }

    @Test(
        arguments: [
            (200, "application/json", #"{"a":1}"#, #"{"a":1}"#), (200, "application/json", "7", "7"),
            (200, "application/json", "null", "null"), (404, "application/json", "7", "7 status"),
            (304, nil, "", "null status"), (205, nil, "", "null"), (204, "text/html", " ", "contentType"),
            (200, "application/json", "", "null"), (200, "application/json", " ", "null"),
            (200, "application/json", "  ", "serialization"), (200, "application/json", "{invalid}", "serialization"),
            (200, "text/html", "", "null"), (200, "text/html", "{}", "contentType"), (204, nil, "", "null"),
            (404, "application/json", #"{"e":1}"#, #"{"e":1} status"#), (404, "application/json", "", "null status"),
            (500, "application/json", "oops", "serialization status"), (500, "text/html", "{}", "status contentType"),
            (500, "text/html", "", "null status"),
        ] as [(Int, String?, String, String)])
    func serializesJSONWithStatusErrors(status: Int, type: String?, body: String, expected: String) throws {
        let serializer = JSONResponseSerializer()
        let result = serializer.result(for: response(status, type), body: Data(body.utf8))
        #expect(shape(result) == expected)
        expectThrows(serializer, response(status, type), Data(body.utf8), sameErrorAs: result)
    }

    @Test func jsonErrorSaysWhere() {
        let body = Data("[1,\n x]".utf8)
        let error = #expect(throws: SessionError.self) {
            try JSONResponseSerializer().serialize(response(), body: body)
        }
        #expect(error?.message == "not JSON: a value was expected (line 2, column 2, byte 5)")
        #expect((error?.underlying as? JSONParseError)?.offset == 5)
        #expect(error?.body == body && error?.status == 200)
    }

    @Test(arguments: [(200, "x", "1 bytes"), (404, "x", "1 bytes status"), (200, "", "0 bytes")])
    func serializesDataWithStatusErrors(status: Int, body: String, expected: String) {
        let result = DataResponseSerializer().result(for: response(status), body: Data(body.utf8))
        #expect(shape(result) == expected)
        expectThrows(DataResponseSerializer(), response(status), Data(body.utf8), sameErrorAs: result)
    }

    @Test func dataIsGivenEvenIfTheTypeIsRefused() {
        let serializer = DataResponseSerializer(validation: ResponseValidation(acceptableContentTypes: ["a/b"]))
        #expect(shape(serializer.result(for: response(), body: Data([1]))) == "1 bytes contentType")
    }

    @Test(
        arguments: [
            ("text/plain; charset='utf-8'", [0xC3, 0xA9], "é"), ("text/plain; charset=\" UTF8 \"", [0xC3, 0xA9], "é"),
            ("text/plain; charset=unicode-1-1-utf-8", [0xC3, 0xA9], "é"),
            ("text/plain; charset=iso_8859-1", [0xE9], "é"), ("text/plain; charset=ISO_8859-1:1987", [0xE9], "é"),
            ("text/plain; charset=ANSI_X3.4-1968", [0x41], "A"), ("text/plain; charset=ucs-2", [0x41, 0x00], "A"),
            ("text/plain; charset=unicodeFFFE", [0x00, 0x41], "A"),
            ("text/plain; charset=''", [0x41], "serialization"),
            ("text/plain; charset=utf-8", [0xC3, 0xA9], "é"), ("text/plain; charset=ISO-8859-1", [0xE9], "é"),
            ("text/plain", [0xC3, 0xA9], "é"), ("text/plain", [0xE9], "é"), (nil, [], ""),
            ("text/plain; charset=utf-16le", [0x41, 0x00], "A"), ("text/plain; charset=\"US-ASCII\"", [0x41], "A"),
            ("text/plain; charset=us-ascii", [0xE9], "serialization"), ("text/plain; charset=latin1", [0x80], "\u{80}"),
            ("text/plain; charset=windows-1252", [0x80, 0x93, 0xE9, 0x81], "€“é\u{81}"),
            ("text/plain; charset=UTF-8", [0xEF, 0xBB, 0xBF, 0x41], "A"), (nil, [0xEF, 0xBB, 0xBF, 0x41], "A"),
            ("text/plain; charset=utf-16be", [0x00, 0x41], "A"), ("text/plain; charset=utf-16", [0x00, 0x41], "A"),
            ("text/plain; charset=utf-16", [0xFF, 0xFE, 0x41, 0x00], "A"), (nil, [0xFE, 0xFF, 0x00, 0x41], "A"),
            ("text/plain; charset=utf-16be", [0xFF, 0xFE, 0x41, 0x00], "A"),
            (nil, [0xFF, 0xFE, 0x3D, 0xD8, 0x00, 0xDE], "😀"),
            ("text/plain; charset=UTF-32", [0, 1, 0xF6, 0], "😀"),
            ("text/plain; charset=utf-32be", [0, 0, 0, 0x41], "A"),
            ("text/plain; charset=utf-32le", [0, 0xF6, 1, 0], "😀"), (nil, [0, 0, 0xFE, 0xFF, 0, 0, 0, 0x41], "A"),
            ("text/plain; charset=utf-32", [0xFF, 0xFE, 0, 0, 0x41, 0, 0, 0], "A"),
            ("text/plain; charset=utf-32", [0, 0, 0xD8, 0], "serialization"),
            ("text/plain; charset=utf-32le", [0x41, 0, 0], "serialization"),
            ("text/plain; charset=iso-8859-1", [0xFF, 0xFE], "ÿþ"), (nil, [0xFF, 0xFE, 0x41], "ÿþA"),
            ("text/plain; charset=utf-16le", [0x3D, 0xD8], "serialization"),
            ("text/plain; charset=utf-16le", [0x3D], "serialization"), ("text/plain; charset=utf-16", [], ""),
            ("text/plain; charset=utf-8", [0xE9], "serialization"),
            ("text/plain; charset=klingon", [0x41], "serialization"),
        ] as [(String?, [UInt8], String)])
    func decodesStringsInTheirCharset(type: String?, body: [UInt8], expected: String) {
        #expect(shape(StringResponseSerializer().result(for: response(200, type), body: Data(body))) == expected)
    }

    @Test(
        arguments: [
            ("Shift_JIS", [0x93, 0xFA, 0x96, 0x7B], "日本"), ("x-sjis", [0xB1, 0x5C], "ｱ\\"),
            ("euc-jp", [0xC6, 0xFC, 0xCB, 0xDC], "日本"),
            ("iso-2022-jp", [0x1B, 0x24, 0x42, 0x46, 0x7C, 0x4B, 0x5C, 0x1B, 0x28, 0x42], "日本"),
            ("windows-1251", [0xCF, 0xF0, 0xE8], "При"), ("koi8-r", [0xF0, 0xD2, 0xC9], "При"),
            ("ibm866", [0x8F, 0xE0, 0xA8], "При"), ("iso-8859-5", [0xBF, 0xE0, 0xD8], "При"),
            ("gb2312", [0xD6, 0xD0, 0xCE, 0xC4], "中文"), ("gbk", [0xD6, 0xD0], "中"),
            ("gb18030", [0x94, 0x39, 0xFC, 0x36], "😀"), ("Big5", [0xA4, 0xA4, 0xA4, 0xE5], "中文"),
            ("euc-kr", [0xC7, 0xD1, 0xB1, 0xDB], "한글"), ("iso-8859-15", [0xA4], "€"), ("windows-1250", [0xB9], "ą"),
            ("iso-8859-9", [0xFE], "ş"), ("iso-8859-7", [0xE1], "α"), ("windows-874", [0xA1], "ก"), ("gbk", [], ""),
            ("shift_jis", [0x93], "serialization"), ("euc-kr", [0xC7, 0x20], "serialization"),
            ("euc-jp", [0xFF], "serialization"), ("utf-7", [0x41], "serialization"),
            ("ISO-2022-CN-EXT", [0x41], "serialization"),
        ] as [(String, [UInt8], String)])
    func textInCharsetsFromBeforeUnicode(charset: String, body: [UInt8], expected: String) {
        let response = response(200, "text/plain; charset=\(charset)")
        #expect(shape(StringResponseSerializer().result(for: response, body: Data(body))) == expected)
    }

    @Test func everyCharsetIsConverted() throws {
        for (label, name) in LegacyCharset.names {
            let charset = try #require(LegacyCharset(label: label))
            #expect(charset.decode(Data("plain".utf8)) == "plain", "\(label), \(name)")
        }
    }

    @Test func largeTextIsConvertedInTurns() throws {
        let charset = try #require(Charset(label: "shift_jis"))
        let bytes = Data([[UInt8]](repeating: [0x93, 0xFA, 0x41], count: 300_000).joined())
        #expect(charset.decode(bytes) == String(repeating: "日A", count: 300_000))
        #expect(charset.decode(bytes + Data([0x93])) == nil)
    }

    @Test(
        arguments: [
            (true, false, #"{"b":[null,{"d":[null]},[]]}"#), (false, true, #"{"a":null,"b":[{"c":null,"d":[]},[]]}"#),
            (true, true, #"{"b":[{"d":[]},[]]}"#), (false, false, #"{"a":null,"b":[null,{"c":null,"d":[null]},[]]}"#),
        ])
    func removesNullsFromObjectsAndArrays(fromObjects: Bool, fromArrays: Bool, expected: String) throws {
        let body = Data(#"{"a":null,"b":[null,{"c":null,"d":[null]},[]]}"#.utf8)
        let serializer = JSONResponseSerializer(
            removesKeysWithNullValues: fromObjects, removesNullsFromArrays: fromArrays)
        #expect(try serializer.serialize(response(), body: body).description == expected)
    }

    @Test func parsesFragmentsWhenAllowed() throws {
        let serializer = JSONResponseSerializer(allowsFragments: true)
        for body in ["7", "null", #""x""#, "true"] {
            #expect(try serializer.serialize(response(), body: Data(body.utf8)).description == body)
        }
    }

    @Test(arguments: ["application/problem+json", "Application/Vnd.X+JSON; v=1", "a/b+c+json"])
    func acceptsSuffixesOnlyWhenConfigured(type: String) throws {
        var serializer = JSONResponseSerializer()
        #expect(throws: SessionError.self) { try serializer.serialize(response(200, type), body: Data("{}".utf8)) }
        serializer.validation.acceptableSuffixes = ["json"]
        #expect(try serializer.serialize(response(200, type), body: Data("{}".utf8)) == [:])
        #expect(throws: SessionError.self) {
            try serializer.serialize(response(200, "a/json+xml"), body: Data("{}".utf8))
        }
        #expect(throws: SessionError.self) { try serializer.serialize(response(200, "a/xjson"), body: Data("{}".utf8)) }
    }

    @Test func aThrownStatusErrorHasTheParsedBody() {
        let error = #expect(throws: SessionError.self) {
            try JSONResponseSerializer().serialize(response(404), body: Data(#"{"e":1}"#.utf8))
        }
        #expect(error?.parsedBody as? JSONValue == ["e": 1])
    }

    struct User: Codable, Equatable { var name: String; var age: Int }

    @Test func decodesPropertyLists() throws {
        let ada = User(name: "Ada", age: 36)
        let plist = response(200, "application/x-plist")
        for format in [PropertyListDecoder.PropertyListFormat.xml, .binary] {
            let encoder = PropertyListEncoder()
            encoder.outputFormat = format
            let serializer = DecodableResponseSerializer.propertyList(User.self)
            #expect(try serializer.serialize(plist, body: encoder.encode(ada)) == ada)
            #expect(throws: SessionError.self) { try serializer.serialize(plist, body: Data(#"{"a":1}"#.utf8)) }
        }
        let optional = DecodableResponseSerializer.propertyList(User?.self)
        #expect(try optional.serialize(response(204, nil), body: Data()) == nil)
        #expect(throws: SessionError.self) { try optional.serialize(response(200, "text/xml"), body: Data("x".utf8)) }
    }

    /// Foundation's decoder would call itself until the stack ends.
    @Test(arguments: [
        ("<plist>", "<array>"), ("<plist>", "<dict><key/>"), ("", "<plist version='1.0'>"),
        ("<plist><array><!--></array>-->", "<array a='/'>"), ("\u{FEFF}<plist>", "<array ><array/>"),
        ("<plist><?>", "<array>"),
    ])
    func propertyListsThatAreNestedTooDeeply(start: String, level: String) throws {
        let text = start + String(repeating: level, count: 100_000)
        let serializer = DecodableResponseSerializer.propertyList([Empty].self)
        let plist = response(200, "application/x-plist")
        let error = #expect(throws: SessionError.self) { try serializer.serialize(plist, body: Data(text.utf8)) }
        #expect(error?.code == .serialization)
        #expect(error?.message.contains("nested more than 200 levels") == true)
        let refused = SessionError(.status, response: plist, body: Data(text.utf8))
        #expect(throws: (any Error).self) { try refused.decodeBody(as: [Empty].self, decoder: PropertyListDecoder()) }
        let message = WebSocket.Message.text(text)
        #expect(throws: (any Error).self) { try message.value(as: [Empty].self, decoder: PropertyListDecoder()) }
    }

    @Test func propertyListsThatContainThemselvesOrAreInUTF16() throws {
        let serializer = DecodableResponseSerializer.propertyList([Empty].self)
        let plist = response(200, "application/x-plist")
        // An array whose only element is itself, at offset 8; the table of offsets follows.
        var itself = Data("bplist00".utf8)
        itself += [0xA1, 0x00, 0x08]
        itself += Data(count: 6)
        itself += [1, 1]
        for number in [1, 0, 10] as [UInt64] { withUnsafeBytes(of: number.bigEndian) { itself += $0 } }
        #expect(throws: SessionError.self) { try serializer.serialize(plist, body: itself) }
        var wide = Data([0xFE, 0xFF])
        for unit in "<plist><array></array></plist>".utf8 { wide += [0, unit] }
        #expect(throws: SessionError.self) { try serializer.serialize(plist, body: wide) }
    }

    @Test(arguments: [
        ("", 0, 0), ("<!-- <array> --><array></array>", 1, 1), ("<array>", 199, 1),
        ("<string>a<![CDATA[<array>]]></string><array/>", 1000, 2000),
    ])
    func propertyListsOfAnyLength(item: String, count: Int, elements: Int) throws {
        var text = "<?xml version=\"1.0\"?><!DOCTYPE plist><plist><array>" + String(repeating: item, count: count)
        if item == "<array>" { text += String(repeating: "</array>", count: count) }
        let serializer = DecodableResponseSerializer.propertyList([Empty].self)
        let body = Data((text + "</array></plist>").utf8)
        #expect(try serializer.serialize(response(200, "application/x-plist"), body: body).count == elements)
    }

    @Test func nothingIsNilOrNull() throws {
        #expect(try DecodableResponseSerializer<Int?>().serialize(response(), body: Data(" ".utf8)) == nil)
        #expect(try DecodableResponseSerializer<JSONValue>().serialize(response(), body: Data()) == .null)
    }

    @Test func decodesDecodableAndOptionalValues() throws {
        let serializer = DecodableResponseSerializer<User>()
        let user = try serializer.serialize(response(), body: Data(#"{"name":"Ada","age":36}"#.utf8))
        #expect(user == User(name: "Ada", age: 36))
        #expect(try DecodableResponseSerializer(User?.self).serialize(response(204, nil), body: Data()) == nil)
        #expect(try DecodableResponseSerializer<[Int]>().serialize(response(), body: Data("[1]".utf8)) == [1])
    }

    @Test(arguments: [
        ("", "the body is empty, but a value of User was expected"),
        (
            "{",
            "the body can't be decoded as User: not JSON: the text ends inside a value (line 1, column 2, byte 1)"
        ),
        (#"{"name":"Ada"}"#, "the body can't be decoded as User: no member \"age\""),
        (#"{"name":"Ada","age":"x"}"#, "the body can't be decoded as User: expected Int at $.age, found a string"),
        (#"{"name":"Ada","age":null}"#, "the body can't be decoded as User: expected Int at $.age, found null"),
        ("null", "the body can't be decoded as User: expected an object, found null"),
        ("[1]", "the body can't be decoded as User: expected an object, found an array"),
    ])
    func failsForUndecodableBodyWithReason(body: String, message: String) {
        let error = #expect(throws: SessionError.self) {
            try DecodableResponseSerializer<User>().serialize(response(), body: Data(body.utf8))
        }
        #expect(error?.code == .serialization && error?.message == message)
        #expect(error?.underlying is DecodingError && error?.body == Data(body.utf8))
    }

    struct Event: Decodable {
        struct Place: Decodable { var postCode: String }
        var place: Place?
        var startsAt: Date?
        var tags: [Date]?
        var author: Int?
    }

    @Test func theCauseThatFoundationNamesIsKept() throws {
        struct Item: Decodable {
            let when: Date?
            let link: URL?
        }
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        for (body, message) in [
            (#"{"when":"s3cret"}"#, "not an ISO 8601 date"), (#"{"link":""}"#, "not a URL at $.link"),
        ] {
            let error = try #require(throws: (any Error).self) {
                try decoder.decode(Item.self, from: Data(body.utf8))
            }
            #expect(DecodingFailure.text(error, of: Item.self) == "can't be decoded as Item: \(message)")
        }
    }

    @Test(arguments: [
        (#"{"kind":"s3cret"}"#, "not a case of Kind at $.kind"),
        (#"{"small":300}"#, "the number has a fraction or doesn't fit in Int8 at $.small"),
        (#"{"id":"s3cret"}"#, "not a UUID at $.id"),
        (#"{"when":"s3cret"}"#, "the string isn't an ISO 8601 date, such as 2024-02-29T12:00:00Z at $.when"),
        (#"{"odd":"s3cret"}"#, "not a valid value at $.odd"),
        (#"{"shape":{"s3cret":{}}}"#, "expected an object with one member, named after a case of Shape at $.shape"),
    ])
    func messageNamesTheCause(body: String, message: String) throws {
        enum Kind: String, Decodable { case known }
        enum Shape: Decodable {
            case circle(radius: Double)
            case point
        }
        struct Odd: Decodable {
            init(from decoder: any Decoder) throws {
                throw DecodingError.dataCorrupted(
                    .init(codingPath: decoder.codingPath, debugDescription: "s3cret isn't odd"))
            }
        }
        struct Item: Decodable {
            let kind: Kind?
            let small: Int8?
            let id: UUID?
            let when: Date?
            let odd: Odd?
            let shape: Shape?
        }
        let received = Response(head: response(), body: Data(body.utf8))
        let error = #expect(throws: SessionError.self) {
            try received.value(as: Item.self, decoder: JSONCoder(dates: .iso8601))
        }
        #expect(error?.message.hasSuffix(": \(message)") == true && error?.message.contains("s3cret") == false)
    }

    @Test func errorNamesTheTypeFoundInsteadOfAnArray() {
        let error = #expect(throws: SessionError.self) {
            try DecodableResponseSerializer<[Int]>().serialize(response(), body: Data("{}".utf8))
        }
        #expect(error?.message.hasSuffix("expected an array, found an object") == true, "\(error?.message ?? "")")
    }

    @Test func errorOfASnakeCaseKeyNamesTheOption() {
        struct Account: Decodable {
            enum CodingKeys: String, CodingKey { case userID = "user_id" }
            var userID: Int
        }
        let serializer = DecodableResponseSerializer<Account>(decoder: JSONCoder(keys: .snakeCase))
        for body in [#"{"user_id":1}"#, "{}"] {
            let error = #expect(throws: SessionError.self) {
                try serializer.serialize(response(), body: Data(body.utf8))
            }
            #expect(
                error?.message.hasSuffix(
                    #"no member "user_id", because JSONCoder(keys: .snakeCase) converts names to camel case: "#
                        + #"name the key "userId", or leave the option out"#) == true, "\(error?.message ?? "")")
        }
    }

    @Test(arguments: [
        (
            #"{"place":{"post_code":"x"}}"#,
            #"no member "postCode" at $.place, but "post_code", which JSONCoder(keys: .snakeCase) finds"#
        ),
        (#"{"place":{"post":"x"}}"#, #"no member "postCode" at $.place"#),
        (
            #"{"startsAt":"2024-02-29T12:00:00.5+01:00"}"#,
            "expected Date at $.startsAt, found a date in a string, which JSONCoder(dates: .iso8601) decodes"
        ),
        (#"{"startsAt":"s3cret"}"#, "expected Date at $.startsAt, found a string that isn't an ISO 8601 date"),
        (#"{"tags":[1,"s3cret"]}"#, "expected Date at $.tags[1], found a string that isn't an ISO 8601 date"),
        (#"{"startsAt":true}"#, "expected Double at $.startsAt, found a boolean"),
        (#"{"author":"2024-02-29T12:00:00Z"}"#, "expected Int at $.author, found a string"),
    ])
    func messageNamesTheOption(body: String, message: String) throws {
        for text in [body, #"{"x":[1,2,3],"y":{}, \#(body.dropFirst())"#] {
            let error = #expect(throws: SessionError.self) {
                try DecodableResponseSerializer<Event>().serialize(response(), body: Data(text.utf8))
            }
            #expect(error?.message == "the body can't be decoded as Event: \(message)")
        }
        let underlying = #expect(throws: DecodingError.self) {
            try JSONCoder().decode(Event.self, from: JSONValue(parsing: body))
        }
        #expect("\(try #require(underlying))".contains("s3cret") == false)
    }

    @Test func messageNamesNoOptionThatIsSet() throws {
        let snake = DecodableResponseSerializer<Event.Place>(decoder: JSONCoder(keys: .snakeCase))
        let missing = #expect(throws: SessionError.self) {
            try snake.serialize(response(), body: Data(#"{"zip_code":"x"}"#.utf8))
        }
        #expect(missing?.message.hasSuffix(#": no member "postCode""#) == true, "\(missing?.message ?? "")")
        let dates = DecodableResponseSerializer<[Date]>(decoder: JSONCoder(dates: .iso8601))
        let malformed = #expect(throws: SessionError.self) {
            try dates.serialize(response(), body: Data("[\"x\"]".utf8))
        }
        #expect(
            malformed?.message.hasSuffix("the string isn't an ISO 8601 date, such as 2024-02-29T12:00:00Z at $[0]")
                == true)
        let seconds = DecodableResponseSerializer<[Date]>(decoder: JSONCoder(dates: .secondsSince1970))
        let text = #expect(throws: SessionError.self) {
            try seconds.serialize(response(), body: Data(#"["2024-02-29T12:00:00Z"]"#.utf8))
        }
        #expect(text?.message.contains("JSONCoder(dates: .iso8601)") == true)
    }

    @Test(arguments: [(404, "application/json", "status"), (200, "text/html", "contentType")])
    func refusedResponsesAreNotDecoded(status: Int, type: String, code: String) {
        let result = DecodableResponseSerializer<User>().result(for: response(status, type), body: Data("{}".utf8))
        #expect(shape(result) == code)
    }

    private func expectThrows<Serializer: ResponseSerializer>(
        _ serializer: Serializer, _ response: HTTPResponse, _ body: Data,
        sameErrorAs result: SerializedResult<Serializer.Output>
    ) {
        do {
            _ = try serializer.serialize(response, body: body)
            #expect(result.error == nil)
        } catch {
            #expect((error as? SessionError)?.description == (result.error as? SessionError)?.description)
        }
    }
}
