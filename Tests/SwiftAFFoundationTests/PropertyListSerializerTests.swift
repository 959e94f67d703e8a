import Foundation
import SwiftAF
import SwiftAFFoundation
import Testing

@Suite struct PropertyListRequestSerializerTests {
    private let post = HTTPRequest(.post, "http://h/")

    private func propertyList(_ request: HTTPRequest) throws -> [String: Any]? {
        try PropertyListSerialization.propertyList(from: request.body.data ?? Data(), format: nil) as? [String: Any]
    }

    @Test func propertyListRequestSerializerAcceptsPropertyList() throws {
        let request = try PropertyListRequestSerializer().serialize(post, parameters: ["key": "value"])
        #expect(try propertyList(request)?["key"] as? String == "value")
        #expect(request.headers["Content-Type"] == "application/x-plist")
        #expect(request.body.data?.starts(with: Data("<?xml".utf8)) == true)
    }

    @Test(arguments: [["key": nil], ["key": [1, nil]], .set([1, 2])] as [Parameters])
    func propertyListRequestSerializerHandlesInvalidPropertyList(parameters: Parameters) {
        let error = #expect(throws: SessionError.self) {
            try PropertyListRequestSerializer().serialize(post, parameters: parameters)
        }
        #expect(error?.code == .serialization && error?.url == "http://h/")
        #expect(error?.underlying as? CocoaError == CocoaError(.propertyListWriteInvalid))
        #expect(error?.nsError.domain == NSCocoaErrorDomain)
    }

    @Test func nullParametersAddNoBody() throws {
        let request = try PropertyListRequestSerializer().serialize(post, parameters: .null)
        #expect(request.body.isNone && request.headers[.contentType] == nil)
    }

    @Test func everyKindOfValueSurvives() throws {
        let date = Date(timeIntervalSinceReferenceDate: 700_000_000)
        let parameters: Parameters = [
            "bool": true, "integer": -7, "unsigned": UInt64.max, "double": 1.5, "date": date,
            "data": Data([1, 2]), "array": ["a", ["b"]], "encodable": Parameters(encoding: ["x": 1]),
            "number": Parameters(encoding: 7),
        ]
        for format in [PropertyListSerialization.PropertyListFormat.xml, .binary] {
            let serializer = PropertyListRequestSerializer(format: format)
            let list = try #require(try propertyList(serializer.serialize(post, parameters: parameters)))
            #expect(list["bool"] as? Bool == true && list["integer"] as? Int == -7 && list["double"] as? Double == 1.5)
            #expect(list["date"] as? Date == date && list["data"] as? Data == Data([1, 2]))
            #expect((list["array"] as? [Any])?.last as? [String] == ["b"])
            #expect(list["encodable"] as? [String: Int] == ["x": 1] && list["number"] as? Int == 7)
        }
    }

    private func message(_ parameters: Parameters, _ format: PropertyListSerialization.PropertyListFormat) -> String? {
        do {
            _ = try PropertyListRequestSerializer(format: format).serialize(post, parameters: parameters)
            return nil
        } catch {
            let error = error.asSessionError
            #expect(error?.code == .serialization)
            #expect(error?.underlying as? CocoaError == CocoaError(.propertyListWriteInvalid))
            return error?.message
        }
    }

    private static let prefix = "the parameters can't be written as a property list: "

    @Test(arguments: [PropertyListSerialization.PropertyListFormat.xml, .binary])
    func nullInEncodableIsRefused(format: PropertyListSerialization.PropertyListFormat) {
        let expected = Self.prefix + "a value is null"
        #expect(message(Parameters(encoding: ["a": nil, "b": 1] as [String: Int?]), format) == expected)
        #expect(message(["a": Parameters(encoding: [["b": [1, nil]]] as [[String: [Int?]]])], format) == expected)
        #expect(message(Parameters(encoding: ["a": 1] as [String: Int?]), format) == nil)
        #expect(message(["a": "$null"], format) == nil)
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity])
    func dateThatIsNoNumberIsRefused(seconds: Double) {
        let date = Date(timeIntervalSinceReferenceDate: seconds)
        let expected = Self.prefix + "a date is not a finite number of seconds"
        for format in [PropertyListSerialization.PropertyListFormat.xml, .binary] {
            #expect(message(["a": ["b": [date]]] as Parameters, format) == expected)
            #expect(message(["a": Parameters(encoding: date)], format) == expected)
        }
    }

    @Test(arguments: [-63_145_526_401, 252_423_993_600, 1e18])
    func dateOfAYearWithoutFourDigitsIsRefusedInXML(seconds: Double) {
        let date = Date(timeIntervalSinceReferenceDate: seconds)
        #expect(message(["a": Parameters(date)], .xml) == Self.prefix + "a date is not in the years 0000 to 9999")
        #expect(message(["a": Parameters(date)], .binary) == nil)
    }

    @Test(arguments: [-63_145_526_400, -63_114_076_800, 252_423_993_599] as [Double])
    func datesOfTheFirstAndTheLastYearSurvive(seconds: Double) throws {
        let date = Date(timeIntervalSinceReferenceDate: seconds)
        let request = try PropertyListRequestSerializer().serialize(post, parameters: ["a": Parameters(date)])
        #expect(try propertyList(request)?["a"] as? Date == date)
    }

    @Test(arguments: [("\u{0}", "U+0000"), ("\u{1B}", "U+001B"), ("\u{FFFE}", "U+FFFE"), ("\u{FFFF}", "U+FFFF")])
    func characterThatXMLForbidsIsRefused(character: String, name: String) {
        let expected = Self.prefix + "XML forbids the character \(name) in a text"
        #expect(message(["a": Parameters("x" + character)], .xml) == expected)
        #expect(message(Parameters([character: 1]), .xml) == expected)
        #expect(message(["a": Parameters("x" + character)], .binary) == nil)
        #expect(message(["a": "\t\n\r\u{20}\u{D7FF}\u{E000}\u{FFFD}\u{10000}\u{10FFFF}"], .xml) == nil)
    }

    @Test func binaryFormatIsWritten() throws {
        let request = try PropertyListRequestSerializer(format: .binary).serialize(post, parameters: ["key": "value"])
        #expect(request.body.data?.starts(with: Data("bplist00".utf8)) == true)
    }

    @Test func openStepFormatCanNotBeWritten() {
        #expect(throws: SessionError.self) {
            try PropertyListRequestSerializer(format: .openStep).serialize(post, parameters: ["key": "value"])
        }
    }

    @Test func withoutParametersThereIsNeitherBodyNorType() throws {
        let request = try PropertyListRequestSerializer().serialize(post, parameters: nil)
        #expect(request.body.isNone && request.headers["Content-Type"] == nil)
    }

    @Test func aTypeThatIsSetStays() throws {
        var request = post
        request.headers["content-type"] = "application/x-other"
        let serialized = try PropertyListRequestSerializer().serialize(request, parameters: ["key": "value"])
        #expect(serialized.headers.values(named: "Content-Type") == ["application/x-other"])
    }

    @Test func methodsWithoutBodyGetAQuery() throws {
        let request = try PropertyListRequestSerializer()
            .serialize(HTTPRequest("http://h/"), parameters: ["key": "value"])
        #expect(request.url == "http://h/?key=value" && request.body.isNone)
    }

    @Test func aSecondBodyIsRefused() {
        var request = post
        request.body = .text("first")
        #expect(throws: SessionError.self) {
            try PropertyListRequestSerializer().serialize(request, parameters: ["key": "value"])
        }
    }

    @Test func requestSerializerCanBeArchivedAndUnarchived() throws {
        var serializer = PropertyListRequestSerializer(format: .binary)
        serializer.base.methodsEncodingParametersInURI = ["GET"]
        #expect(try archivedAndUnarchived(serializer) == serializer)
    }
}

@Suite struct PropertyListResponseSerializerTests {
    private let plist = response(200, "application/x-plist")

    @Test(arguments: [PropertyListSerialization.PropertyListFormat.xml, .binary])
    func propertyListResponseSerializerAcceptsPropertyListData(
        format: PropertyListSerialization.PropertyListFormat
    ) throws {
        let data = try PropertyListSerialization.data(fromPropertyList: ["foo": "bar"], format: format, options: 0)
        let result = PropertyListResponseSerializer().result(for: plist, body: data)
        #expect((result.value ?? nil)?.value as? [String: String] == ["foo": "bar"])
        #expect(result.error == nil)
    }

    @Test func propertyListResponseSerializerHandlesInvalidPropertyListData() throws {
        let result = PropertyListResponseSerializer().result(for: plist, body: Data(#"{"foo": "bar"}"#.utf8))
        #expect(result.value == nil)
        #expect(codes(result.error) == [.serialization])
        let error = try #require(result.error as? SessionError).nsError
        #expect(error.domain == NSCocoaErrorDomain && error.code == 3840)
    }

    @Test(arguments: [(204, nil), (200, "application/x-plist"), (200, "text/html")] as [(Int, String?)])
    func propertyListResponseSerializerHandles204(status: Int, type: String?) throws {
        let result = PropertyListResponseSerializer().result(for: response(status, type), body: Data())
        let value = try #require(result.value)
        #expect(value == nil && result.error == nil)
    }

    /// Foundation ends the process at sets and at identifiers of archives; a trailer may also point anywhere.
    @Test(arguments: [[0xC1, 0x00], [0xB0], [0x80, 0x01], [0x00]] as [[UInt8]])
    func whatNoPropertyListHasIsAnError(object: [UInt8]) {
        let offsets: [UInt8] = [8]
        var trailer = [UInt8](repeating: 0, count: 32)
        (trailer[6], trailer[7], trailer[15], trailer[31]) = (1, 1, 1, UInt8(8 + object.count))
        let body = Data(Array("bplist00".utf8) + object + offsets + trailer)
        let error = PropertyListResponseSerializer().result(for: plist, body: body).error
        #expect(codes(error) == [.serialization])
        #expect(error?.asSessionError?.message.contains("keyed archive") == true)
        for place in (body.count - 32)..<body.count {
            var broken = body
            broken[place] = 0xFF
            #expect(PropertyListResponseSerializer().result(for: plist, body: broken).value == nil)
        }
    }

    @Test(arguments: [PropertyListSerialization.PropertyListFormat.xml, .binary])
    func outermostContainerIsMutableOnRequest(format: PropertyListSerialization.PropertyListFormat) throws {
        func object(_ list: Any, _ options: PropertyListSerialization.ReadOptions) throws -> Any? {
            let data = try PropertyListSerialization.data(fromPropertyList: list, format: format, options: 0)
            return try PropertyListResponseSerializer(readOptions: options).serialize(plist, body: data)?.value
        }
        #expect(try !(object(["a": [1]], []) is NSMutableDictionary))
        for options in [.mutableContainers, .mutableContainersAndLeaves] as [PropertyListSerialization.ReadOptions] {
            let members = try #require(try object(["a": [1]], options) as? NSMutableDictionary)
            members["b"] = 2
            #expect(members.count == 2 && members["a"] as? [Int] == [1])
            #expect((members as Any as? [String: Any])?.count == 2)
            let elements = try #require(try object([1, "x"], options) as? NSMutableArray)
            elements.add(3)
            #expect(elements.count == 3)
            #expect(try object("x", options) as? String == "x")
        }
    }

    @Test func nestingIsThatOfEveryValidatingSerializer() throws {
        let data = try PropertyListSerialization.data(fromPropertyList: ["a": 1], format: .xml, options: 0)
        let refused = PropertyListResponseSerializer().result(for: response(404, "application/x-plist"), body: data)
        #expect((refused.value ?? nil)?.value as? [String: Int] == ["a": 1])
        #expect(codes(refused.error) == [.status])
        let both = PropertyListResponseSerializer().result(for: response(404, "text/html"), body: data)
        #expect(both.value == nil)
        #expect(codes(both.error) == [.status, .contentType])
        let malformed = PropertyListResponseSerializer()
            .result(for: response(500, "application/x-plist"), body: Data("{".utf8))
        #expect(codes(malformed.error) == [.serialization, .status])
    }

    @Test func responseSerializerCanBeCopied() {
        var original = PropertyListResponseSerializer(format: .binary, readOptions: [.mutableContainers])
        original.validation.acceptableStatusCodes = [100]
        original.validation.acceptableContentTypes = ["test/type"]
        let copy = original
        #expect(copy == original && copy.format == .binary && copy.readOptions == [.mutableContainers])
        original.readOptions = []
        #expect(copy != original)
    }

    @Test func responseSerializerCanBeArchivedAndUnarchived() throws {
        var serializer = PropertyListResponseSerializer(format: .binary, readOptions: [.mutableContainersAndLeaves])
        serializer.validation.acceptableContentTypes = nil
        let copy = try archivedAndUnarchived(serializer)
        #expect(copy == serializer && copy.format == .binary && copy.readOptions == [.mutableContainersAndLeaves])
    }
}
