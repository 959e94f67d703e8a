import Foundation
import FoundationXML
import SwiftAF
import SwiftAFFoundation
import Testing

/// Bodies that no server should send: what Foundation makes of them must never end the process.
@Suite struct MutationTests {
    private static let rounds = 1000

    private static let documents = [
        #"<?xml version="1.0"?><a x="1&amp;2" xmlns:p="u"><p:b p:c="d">text<![CDATA[<]]></p:b><!-- c --><?pi d?></a>"#,
        "<!DOCTYPE a [<!ELEMENT a ANY><!ATTLIST a b CDATA 'c'><!ENTITY e 'f'>]><a>&e;&#233;</a>",
    ].map { Data($0.utf8) }

    @Test(arguments: documents)
    func mutatedDocumentsGiveAValueOrAnError(seed: Data) {
        check(seed, XMLDocumentResponseSerializer(), "text/xml")
    }

    @Test func mutatedDocumentsCanBeParsed() throws {
        var random = Random(state: 0x5EED)
        let delegate = AllEvents()
        for seed in Self.documents {
            for _ in 0..<Self.rounds { try parse(random.mutate(seed), delegate) }
        }
        #expect(delegate.count > 0)
    }

    /// What a parser may take for the beginning or the end of markup, and the instructions and declarations that crash
    /// Foundation. Changed bytes don't make these.
    private static let tokens = [
        "<!-->", "<!--->", "<!--", "-->", "<!---->", "<!", "-", "<![CDATA[", "]]>", "<![CDATA[x]]>", "[", "]>", "<?",
        "?>", "<?>", "<?t?>", "?t?>", "<?t d?>", "<?xml version='1.0'?>", "<?xml version='1.0' encoding='UTF-7'?>",
        "+ADw-?t?+AD4-", "<!DOCTYPE x>", "<!DOCTYPE x SYSTEM '>'>", "<!DOC", "TYPE a [<!NOTATION n SYSTEM 'x'>]>",
        "<!DOCTYPE a [<!NOTATION n SYSTEM 'x'>]>", "<a>", "</a>", "<a/>", "<a b='", "'/>", "<a b='&#10;'/>",
        "<a b='1' b='2'>", "<p:a>", "<a xmlns='u'>", "&foo;", "&lt;", "&#1;", "<", ">", "&", "'", "\r", " ", "x",
        "\u{0}", "\u{1}", "\u{FEFF}", "\u{FFFE}", "é",
    ]

    @Test func documentsOfTokensGiveAValueOrAnError() throws {
        var random = Random(state: 0x5EED)
        let delegate = AllEvents()
        for _ in 0..<5 * Self.rounds {
            let body = random.document(of: Self.tokens)
            let result = XMLDocumentResponseSerializer().result(for: response(200, "text/xml"), body: body)
            #expect((result.value == nil) != (result.error == nil))
            try parse(body, delegate)
        }
        #expect(delegate.count > 0)
    }

    private func parse(_ body: Data, _ delegate: AllEvents) throws {
        let parser = try XMLParserResponseSerializer().serialize(response(200, "text/xml"), body: body).value
        parser.delegate = delegate
        _ = parser.parse()
    }

    @Test(arguments: [PropertyListSerialization.PropertyListFormat.binary, .xml])
    func mutatedPropertyListsGiveAValueOrAnError(format: PropertyListSerialization.PropertyListFormat) throws {
        let list: [String: Any] = [
            "a": [1, true, 2.5, "text", ["b": Data([1, 2])]] as [Any], "date": Date(timeIntervalSinceReferenceDate: 0),
        ]
        let seed = try PropertyListSerialization.data(fromPropertyList: list, format: format, options: 0)
        check(seed, PropertyListResponseSerializer(), "application/x-plist")
    }

    @Test func mutatedJSONGivesAValueOrAnError() {
        let seed = Data(#"{"a":[1,null,true,-2.5e3,"t\u00e9\n"],"b":{"c":null}}"#.utf8)
        let serializer = FoundationJSONResponseSerializer(
            readingOptions: [.fragmentsAllowed], removesKeysWithNullValues: true, removesNullsFromArrays: true)
        check(seed, serializer, "application/json")
    }

    private func check(_ seed: Data, _ serializer: some ResponseSerializer, _ type: String) {
        var random = Random(state: 0x5EED)
        for _ in 0..<Self.rounds {
            let result = serializer.result(for: response(200, type), body: random.mutate(seed))
            #expect((result.value == nil) != (result.error == nil))
        }
    }
}

/// Takes every event that carries text, so that the parser makes it.
private final class AllEvents: NSObject, XMLParserDelegate {
    var count = 0

    func parser(
        _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
        attributes: [String: String] = [:]
    ) {
        count += 1
    }

    func parser(_ parser: XMLParser, foundCharacters text: String) { count += 1 }
    func parser(_ parser: XMLParser, foundComment comment: String) { count += 1 }
    func parser(_ parser: XMLParser, foundCDATA block: Data) { count += 1 }
    func parser(_ parser: XMLParser, foundProcessingInstructionWithTarget target: String, data: String?) { count += 1 }
}

/// The same numbers on every run (xorshift).
private struct Random {
    var state: UInt64

    mutating func next(below bound: Int) -> Int {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return Int(state % UInt64(bound))
    }

    /// Up to 14 tokens, mostly in an element.
    mutating func document(of tokens: [String]) -> Data {
        let text = (0...next(below: 14)).map { _ in tokens[next(below: tokens.count)] }.joined()
        switch next(below: 8) {
        case 0: return Data(text.utf8)
        case 1:
            let wide = text.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
            return Data("<?xml version='1.0'?>".utf8) + wide
        default: return Data("<r>\(text)</r>".utf8)
        }
    }

    /// One to four bytes changed, left out, doubled or put elsewhere.
    mutating func mutate(_ seed: Data) -> Data {
        var bytes = Array(seed)
        for _ in 0...next(below: 4) where !bytes.isEmpty {
            let place = next(below: bytes.count)
            switch next(below: 5) {
            case 0: bytes[place] = UInt8(next(below: 256))
            case 1: bytes[place] ^= 1 << next(below: 8)
            case 2: bytes.remove(at: place)
            case 3: bytes.insert(bytes[next(below: bytes.count)], at: place)
            default: bytes.removeLast(min(bytes.count, next(below: 16)))
            }
        }
        return Data(bytes)
    }
}
