import Foundation
import Testing

@testable import SwiftAF

@Suite struct ParametersTests {
    private enum Plan: String, Encodable {
        case paid
    }

    private enum Order: String {
        case newest = "-date"
    }

    private enum Level: Int {
        case high = 3
    }

    private enum Letter: Character {
        case a = "a"
    }

    private struct Point: Encodable {
        var x = 1
        var y: Int?
    }

    private func query(_ parameters: Parameters) throws -> String {
        try ParameterEncoder().encode(parameters).replacing("%5B", with: "[").replacing("%5D", with: "]")
    }

    private func json(_ parameters: Parameters) throws -> String {
        let request = try JSONRequestSerializer().serialize(HTTPRequest(.post, "http://h/"), parameters: parameters)
        return String(decoding: try #require(request.body.data), as: UTF8.self)
    }

    @Test func writesNumbersLikeJSONCoder() throws {
        let parameters: Parameters = ["price": 5.0, "size": 1e300, "deep": [1, 2.5]]
        let json = try parameters.jsonValue(encoder: JSONCoder())
        #expect(String(decoding: try json.data(), as: UTF8.self) == #"{"price":5,"size":1e+300,"deep":[1,2.5]}"#)
    }

    @Test func literalsTakeVariablesOfManyTypes() throws {
        let (name, age, tags, nothing) = ("Ada", 36, ["a", "b"], nil as String?)
        let parameters: Parameters = [
            "name": name, "age": age, "tags": tags, "nothing": nothing, "nil": nil, "plan": Plan.paid,
            "flag": true, "ratio": 0.5, "float": Float(0.25), "big": UInt64.max, "small": Int8(-3),
            "url": URL(string: "http://h/") as Any, "decimal": Decimal(string: "1.5") as Any, "point": Point(),
            "points": [Point(x: 2)], "set": Set([2, 1]), "json": JSONValue.array([1]), "double": 3.0 as Double?,
            "twice": Optional(Optional(1)) as Any,
        ]
        #expect(
            try query(parameters)
                == "age=36&big=18446744073709551615&decimal=1.5&double=3&flag=1&float=0.25&json[]=1&name=Ada&nil"
                + "&nothing&plan=paid&point[x]=1&points[][x]=2&ratio=0.5&set=1&set=2&small=-3&tags[]=a&tags[]=b"
                + "&twice=1&url=http%3A//h/")
    }

    @Test func emptyLiteralsAreAnArrayAndADictionary() throws {
        #expect(try json(Parameters([])) == "[]")
        #expect(try json(Parameters([:])) == "{}")
    }

    @Test func nestedLiteralsMayMixTypesAndNil() throws {
        let zip: Int? = nil
        let parameters: Parameters = ["b": ["y": 1, "x": nil, "z": [1, "two", nil, ["k": zip]]], "a": "first"]
        #expect(try json(parameters) == #"{"b":{"x":null,"y":1,"z":[1,"two",null,{"k":null}]},"a":"first"}"#)
        #expect(try query(parameters) == "a=first&b[x]&b[y]=1&b[z][]=1&b[z][]=two&b[z][]&b[z][][k]")
    }

    @Test func dictionariesOfAnyKindAreConverted() throws {
        #expect(try query(Parameters(["b": 2, "a": 1])) == "a=1&b=2")
        #expect(try query(Parameters(["a": "x"])) == "a=x")
        let mixed: [String: Any?] = ["a": 1, "b": nil, "c": ["d": true]]
        #expect(try query(Parameters(mixed)) == "a=1&b&c[d]=1")
        let anything: [String: Any] = ["a": 1.5, "b": Date(timeIntervalSince1970: 0)]
        #expect(try json(Parameters(anything)) == #"{"a":1.5,"b":-978307200}"#)
        #expect(try json(Parameters([1, "a", nil] as [Any?])) == #"[1,"a",null]"#)
        #expect(try json(Parameters(encoding: ["a": [1, 2]])) == #"{"a":[1,2]}"#)
    }

    @Test func objectsOfFoundationKeepTheirKind() throws {
        let text = #"{"a":[1,0,2],"b":true,"big":18446744073709551615,"c":1.5,"d":null,"e":"x","f":false,"g":-3}"#
        let parsed = try JSONSerialization.jsonObject(with: Data(text.utf8))
        #expect(try json(Parameters(try #require(parsed as? [String: Any]))) == text)
        let numbers: Parameters = [
            "t": NSNumber(value: true), "o": NSNumber(value: 1), "h": NSNumber(value: 0.5), "n": NSNull(),
        ]
        #expect(try json(numbers) == #"{"t":true,"o":1,"h":0.5,"n":null}"#)
        #expect(try query(numbers) == "h=0.5&n&o=1&t=1")
        #expect(
            try query(["s": NSString("text"), "prefix": "Ada".prefix(2), "letter": Character("é")])
                == "letter=%C3%A9&prefix=Ad&s=text")
    }

    @Test func urlsAndIdentifiersOfFoundationAreTexts() throws {
        let text = "E621E1F8-C36C-495A-93FC-0C247A3E6E5F"
        let parameters: Parameters = [
            "id": NSUUID(uuidString: text), "url": NSURL(string: "/a"), "urls": [NSURL(string: "b")],
        ]
        #expect(try query(parameters) == "id=\(text)&url=/a&urls[]=b")
        #expect(
            try JSONValue(parsing: Data(json(parameters).utf8)) == ["id": .string(text), "url": "/a", "urls": ["b"]])
    }

    @Test func numbersOfFoundationKeepTheirDigits() throws {
        let prices = (0..<1000).map { NSDecimalNumber(mantissa: $0, exponent: -2, isNegative: false) }
        #expect(try json(Parameters(prices)) == "[\(prices.map(\.description).joined(separator: ","))]")
        for text in ["19.99", "-9223372036854775809", "18446744073709551617", "0.12345678901234567890123456789", "100"]
        {
            #expect(try json(["n": NSDecimalNumber(string: text)]) == "{\"n\":\(text)}")
            #expect(try query(["n": NSDecimalNumber(string: text)]) == "n=\(text)")
        }
        #expect(try query(["n": NSDecimalNumber.notANumber, "i": NSNumber(value: Double.infinity)]) == "i=inf&n=nan")
        #expect(throws: SessionError.self) { try json(["n": NSDecimalNumber.notANumber]) }
        let numbers: Parameters = [
            "float": NSNumber(value: Float(0.1)), "double": NSNumber(value: 0.1), "whole": NSNumber(value: 3.0),
            "least": NSNumber(value: Int64.min), "most": NSNumber(value: UInt64.max),
        ]
        #expect(
            try json(numbers)
                == #"{"float":0.1,"double":0.1,"whole":3,"least":-9223372036854775808,"most":18446744073709551615}"#)
    }

    @Test func variablesOfAnyTypeAreConverted() throws {
        let (count, text, ratio, none, codes) = (7, "x" as Substring, 0.5 as Float, nil as String?, [1: "a"])
        var parameters: Parameters = [:]
        parameters["count"] = Parameters(count)
        parameters["text"] = Parameters(text)
        parameters["ratio"] = Parameters(ratio)
        parameters["none"] = Parameters(none)
        parameters["nested"] = Parameters(Parameters(["a": [count]]))
        #expect(try json(parameters) == #"{"count":7,"text":"x","ratio":0.5,"none":null,"nested":{"a":[7]}}"#)
        #expect(try json(["codes": Parameters(codes)]) == #"{"codes":{"1":"a"}}"#)
        #expect(throws: SessionError.self) { try json(["bad": Parameters({ 1 } as () -> Int)]) }
    }

    @Test func membersAreReadAndSetByTheirKeys() throws {
        var parameters: Parameters = ["page": 1, "q": "x"]
        parameters["page"] = 2
        parameters["q"] = nil
        parameters["tags"] = ["a", "b"]
        #expect(try query(parameters) == "page=2&tags[]=a&tags[]=b")
        guard case .integer(2)? = parameters["page"] else {
            Issue.record("no page")
            return
        }
        #expect(parameters["q"] == nil)
        var other = Parameters.null
        other["a"] = .string("b")
        #expect(try query(other) == "a=b")
    }

    /// Canonically equivalent keys are different bytes, which a server tells apart.
    @Test func equivalentKeysAreDifferentMembers() throws {
        let (one, two) = ("\u{e9}", "e\u{301}")
        for parameters in [Parameters([(one, .integer(1)), (two, .integer(2))]), [one: 1, two: 2]] {
            #expect(try query(parameters) == "e%CC%81=2&%C3%A9=1")
            #expect(try json(parameters) == #"{"\#(one)":1,"\#(two)":2}"#)
        }
        var parameters: Parameters = [one: 1]
        #expect(parameters[two] == nil)
        parameters[two] = 2
        #expect(try query(parameters) == "e%CC%81=2&%C3%A9=1")
        parameters[one] = nil
        #expect(try query(parameters) == "e%CC%81=2")
    }

    @Test func settingAMemberKeepsTheOthersOfAnEncodable() throws {
        var parameters = Parameters(encoding: Point(x: 1, y: 2))
        guard case .integer(2)? = parameters["y"] else {
            Issue.record("no y")
            return
        }
        parameters["page"] = 3
        parameters["y"] = nil
        #expect(try query(parameters) == "page=3&x=1")
        struct Broken: Encodable {
            func encode(to encoder: any Encoder) throws { throw CancellationError() }
        }
        var broken = Parameters(encoding: Broken())
        broken["page"] = 3
        let error = try #require(throws: SessionError.self) { try query(broken) }
        #expect(error.code == .serialization && error.underlying is CancellationError)
        #expect(error.message == "the parameters can't be encoded")
    }

    @Test(arguments: [[1, 2], "text", 5, Parameters(encoding: [1])] as [Parameters])
    func refusesAMemberOfWhatIsNoDictionary(parameters: Parameters) throws {
        var parameters = parameters
        let before = try query(parameters)
        parameters["page"] = nil
        #expect(try query(parameters) == before)
        parameters["page"] = 3
        let error = try #require(throws: SessionError.self) { try query(parameters) }
        #expect(error.code == .invalidInput && error.message.contains(#"the parameter "page" was set on"#))
    }

    @Test func dataAndDatesKeepTheirKind() throws {
        let parameters: Parameters = ["data": Data([255]), "date": Date(timeIntervalSince1970: 0)]
        #expect(try json(parameters) == #"{"data":"\/w==","date":-978307200}"#)
    }

    @Test func datesAreTheSameInEveryKindOfParameters() throws {
        struct Note: Encodable { var at = Date(timeIntervalSince1970: 0) }
        let (date, text) = (Date(timeIntervalSince1970: 0), "1970-01-01T00:00:00Z")
        for parameters in [["at": date], Parameters(["at": date]), Parameters(encoding: Note())] as [Parameters] {
            #expect(try query(parameters) == "at=1970-01-01T00%3A00%3A00Z")
            #expect(try ParameterEncoder().pairs(parameters).map(\.value) == [text])
        }
        #expect(
            try query(["n": Note(), "s": Set([date])]) == "n[at]=1970-01-01T00%3A00%3A00Z&s=1970-01-01T00%3A00%3A00Z")
        #expect(try json(["at": date, "n": Note()]) == #"{"at":-978307200,"n":{"at":-978307200}}"#)
    }

    @Test func errorOfARequestSaysWhatIsWrongWithADate() {
        let manager = HTTPSessionManager(baseURL: nil)
        let date = Date(timeIntervalSince1970: .infinity)
        let error = #expect(throws: SessionError.self) {
            try manager.makeRequest(.get, "http://h/", parameters: ["at": Parameters(date)])
        }
        #expect(error?.code == .serialization)
        #expect(
            error?.message
                == "the request serializer failed: the date isn't in the years 0000 to 9999, which ISO 8601 can write")
    }

    @Test func memberOfEncodableKeepsTheOthersUnencoded() throws {
        struct Note: Encodable {
            var at = Date(timeIntervalSince1970: 0)
            var inner = ["at": Date(timeIntervalSince1970: 0)]
            var nothing = [String]()
        }
        var parameters = Parameters(encoding: Note())
        parameters["page"] = 2
        let text = #"{"at":0,"inner":{"at":0},"nothing":[],"page":2}"#
        #expect(
            try parameters.jsonValue(encoder: JSONCoder(dates: .secondsSince1970))
                == JSONValue(parsing: Data(text.utf8)))
        #expect(try query(parameters) == "at=1970-01-01T00%3A00%3A00Z&inner[at]=1970-01-01T00%3A00%3A00Z&page=2")
    }

    @Test func rawValuesStandForTheirTypes() throws {
        let parameters: Parameters = [
            "order": Order.newest, "level": Level.high, "letter": Letter.a, "none": nil as Order?,
            "list": [Order.newest], "set": Set([Level.high]), "some": Order.newest as Order?, "in": ["k": Level.high],
        ]
        #expect(
            try query(parameters) == "in[k]=3&letter=a&level=3&list[]=-date&none&order=-date&set=3&some=-date")
        #expect(try json(["order": Order.newest, "level": Level.high]) == #"{"order":"-date","level":3}"#)
    }

    @Test func rawValueThatCanNotBeEncodedIsNamedByItsType() throws {
        final class Opaque {}
        struct Endless: RawRepresentable {
            var rawValue: Any { self }
            init() {}
            init?(rawValue: Any) { nil }
        }
        struct Wrapped: RawRepresentable {
            var rawValue = Opaque()
        }
        for (value, type) in [(Endless(), "Endless"), (Wrapped(), "Wrapped")] as [(Any, String)] {
            let error = try #require(throws: SessionError.self) { try query(["k": value]) }
            #expect(error.code == .invalidInput && error.message.contains("\"k\" is a \(type), which isn't Encodable"))
        }
    }

    @Test func parametersWithinLiteralsStay() throws {
        let inner: Parameters = ["z": 1, "a": 2]
        #expect(try json(["inner": inner, "list": [inner]]) == #"{"inner":{"z":1,"a":2},"list":[{"z":1,"a":2}]}"#)
    }

    @Test func valueThatCanNotBeEncodedIsNamed() throws {
        final class Opaque {}
        struct Broken: Encodable {
            func encode(to encoder: any Encoder) throws { throw CocoaError(.coderInvalidValue) }
        }
        let opaque: Parameters = ["a": ["b": [1, Opaque()]]]
        let broken: Parameters = ["k": Broken()]
        for parameters in [opaque, broken] {
            for encode in [query, json] {
                let error = try #require(throws: SessionError.self) { try encode(parameters) }
                #expect(error.message.contains(error.code == .invalidInput ? "\"a[b][1]\"" : "\"k\""))
            }
        }
    }
}
