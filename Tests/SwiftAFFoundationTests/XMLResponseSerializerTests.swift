import Foundation
import FoundationXML
import SwiftAF
import Testing

@testable import SwiftAFFoundation

/// Counts the elements and the instructions.
private final class Events: NSObject, XMLParserDelegate {
    var count = 0

    func parser(
        _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
        attributes: [String: String] = [:]
    ) {
        count += 1
    }

    func parser(_ parser: XMLParser, foundProcessingInstructionWithTarget target: String, data: String?) { count += 1 }
}

private let sample = Data("<?xml version=\"1.0\"?><foo a=\"1\"><bar>b&amp;r</bar></foo>".utf8)

@Suite struct XMLParserResponseSerializerTests {
    private let serializer = XMLParserResponseSerializer()

    @Test func xmlParserResponseSerializerAcceptsApplicationXMLMimeType() {
        #expect(serializer.result(for: response(200, "application/xml"), body: sample).error == nil)
    }

    @Test func xmlParserResponseSerializerAcceptsTextXMLMimeType() {
        #expect(serializer.result(for: response(200, "text/xml; charset=utf-8"), body: sample).error == nil)
    }

    @Test func xmlParserResponseSerializerDoesNotAcceptNonStandardXMLMimeType() {
        let result = serializer.result(for: response(200, "nonstandard/xml"), body: sample)
        #expect(codes(result.error) == [.contentType] && result.value == nil)
    }

    @Test func xmlParserResponseSerializerReturnsXMLParserObjectForValidXML() throws {
        final class Names: NSObject, XMLParserDelegate {
            var names: [String] = []
            func parser(
                _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
                attributes: [String: String] = [:]
            ) {
                names.append(name)
            }
        }
        let parser = try serializer.serialize(response(200, "text/xml"), body: sample).value
        let names = Names()
        parser.delegate = names
        #expect(parser.parse())
        #expect(names.names == ["foo", "bar"])
    }

    /// The parser doesn't even get the beginning: an end isn't looked for again in each of the sections.
    @Test(arguments: ["<!--", "<![CDATA[", "<?", "<!-- <?x ?>", "<?x ?><!-- ->"])
    func parserGetsNothingOfADocumentWithASectionWithoutEnd(section: String) throws {
        let text = "<a><?x ?><b/>" + String(repeating: section, count: 20_000)
        let parser = try serializer.serialize(response(200, "text/xml"), body: Data(text.utf8)).value
        let events = Events()
        parser.delegate = events
        _ = parser.parse()
        #expect(events.count == 0 && parser.parserError != nil)
    }

    @Test(arguments: [nil, "text/xml", "text/html"])
    func anEmptyBodyGivesAParserToo(type: String?) {
        let result = serializer.result(for: response(204, type), body: Data())
        #expect(result.value != nil && result.error == nil)
    }

    @Test func aRefusedStatusGivesAParserAndAnError() {
        let result = serializer.result(for: response(500, "text/xml"), body: sample)
        #expect(result.value != nil && codes(result.error) == [.status])
    }

    @Test func xmlParserResponseSerializerCanBeCopied() throws {
        var original = serializer
        original.validation.acceptableStatusCodes = [100]
        let copy = original
        #expect(copy == original && copy != serializer)
        #expect(try archivedAndUnarchived(original) == original)
    }
}

@Suite struct XMLDocumentResponseSerializerTests {
    private let serializer = XMLDocumentResponseSerializer()
    private let xml = response(200, "application/xml")

    private func document(_ text: String) throws -> XMLDocument {
        try serializer.serialize(xml, body: Data(text.utf8)).value
    }

    @Test func xmlDocumentResponseSerializerAcceptsApplicationXMLMimeType() {
        #expect(serializer.result(for: response(200, "application/xml"), body: sample).error == nil)
    }

    @Test func xmlDocumentResponseSerializerAcceptsTextXMLMimeType() {
        #expect(serializer.result(for: response(200, "text/xml"), body: sample).error == nil)
    }

    @Test func xmlDocumentResponseSerializerDoesNotAcceptNonStandardXMLMimeType() {
        let result = serializer.result(for: response(200, "nonstandard/xml"), body: sample)
        #expect(codes(result.error) == [.contentType] && result.value == nil)
    }

    @Test func xmlDocumentResponseSerializerReturnsXMLDocumentObjectForValidXML() throws {
        let root = try #require(try serializer.serialize(xml, body: sample).value.rootElement())
        #expect(root.name == "foo" && root.attribute(forName: "a")?.stringValue == "1")
        #expect(root.elements(forName: "bar").first?.stringValue == "b&r")
    }

    /// Some of these ended the process when Foundation read them itself.
    @Test(arguments: [
        "<foo", "", "x", "<a>", "<a></b>", "<a/><b/>", "<a>&nope;</a>", "<a b='1' b='2'/>", "<p:a/>", "<!-- -->",
        "<a>\u{1}</a>", "<?xml version='1.0' encoding='klingon'?><a></a>",
        String(repeating: "<a>", count: 3000) + String(repeating: "</a>", count: 3000),
        "<!DOCTYPE a [<!ENTITY e 'text'>]><a>&e;</a>",
        "<!DOCTYPE a [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><a>&e;</a>",
        "<!DOCTYPE a SYSTEM 'file:///etc/passwd'><a>&e;</a>",
    ])
    func xmlDocumentResponseSerializerReturnsErrorForInvalidXML(text: String) {
        let result = serializer.result(for: xml, body: Data(text.utf8))
        #expect(result.value == nil && codes(result.error) == [.serialization])
    }

    @Test func entitiesThatGrowWithoutEndAreRefused() {
        let levels = (1...9).map { "<!ENTITY e\($0) '" + String(repeating: "&e\($0 - 1);", count: 10) + "'>" }
        let text = "<!DOCTYPE a [<!ENTITY e0 'x'>\(levels.joined())]><a b='&e9;'>&e9;</a>"
        let result = serializer.result(for: xml, body: Data(text.utf8))
        #expect(result.value == nil && codes(result.error) == [.serialization])
    }

    @Test(arguments: [
        "<a>1 &lt; 2 &amp; \"3\" &gt; ]]&gt;</a>", "<a b=\"&lt;&amp;&quot;'&#10;&#9;x\"></a>",
        "<a><!-- c --><?pi d?><![CDATA[<x>&]]></a>", "<a xmlns=\"u:d\" xmlns:p=\"u:p\"><p:b p:c=\"1\"></p:b></a>",
        "<a>é\u{1F600}</a>", "<a>line\n\ttab&#13;</a>",
    ])
    func everyNodeSurvives(text: String) throws {
        let options: XMLNode.Options = [.nodePreserveWhitespace]
        let serializer = XMLDocumentResponseSerializer(options: options)
        let document = try serializer.serialize(xml, body: Data(text.utf8)).value
        let expected = try XMLDocument(data: Data(text.utf8), options: options)
        #expect(document.xmlString == expected.xmlString)
    }

    @Test func namespacesAreKnown() throws {
        let root = try #require(try document("<a xmlns='u:d' xmlns:p='u:p'><p:b/></a>").rootElement())
        #expect(root.uri == "u:d" && (root.children?.first as? XMLElement)?.uri == "u:p")
    }

    @Test func blanksBetweenElementsGoUnlessTheyArePreserved() throws {
        let text = "<a>\n  <b></b>\n</a>"
        #expect(try document(text).rootElement()?.childCount == 1)
        let preserving = XMLDocumentResponseSerializer(options: [.nodePreserveWhitespace])
        #expect(try preserving.serialize(xml, body: Data(text.utf8)).value.rootElement()?.childCount == 3)
    }

    @Test func otherEncodingsAreRead() throws {
        let utf16 = try #require("<a>é</a>".data(using: .utf16))
        #expect(try serializer.serialize(xml, body: utf16).value.rootElement()?.stringValue == "é")
        let latin1 = Data("<?xml version='1.0' encoding='ISO-8859-1'?><a>".utf8) + [0xE9] + Data("</a>".utf8)
        #expect(try serializer.serialize(xml, body: latin1).value.rootElement()?.stringValue == "é")
        let marks = "\u{FEFF}<?xml version='1.0'?>\u{FEFF}<a>é</a>"
        #expect(try document(marks).rootElement()?.stringValue == "é")
    }

    @Test(arguments: [
        ("<a><?target?></a>", "<a><?target ?></a>"), ("<?t?><a><?x y?><?z?></a>", nil), ("<a><!--<?t?>--></a>", nil),
        ("<a><![CDATA[<?t?>]]></a>", nil), ("<?xml version='1.0'?><?t?><a></a>", nil),
    ])
    func instructionsWithoutDataAreRead(text: String, expected: String?) throws {
        let root = try #require(try document(text).rootElement())
        #expect(root.name == "a")
        if let expected { #expect(root.xmlString == expected) }
        if text.contains("!") { #expect(root.stringValue == "<?t?>") }
    }

    @Test(arguments: [
        "<a><!--\u{C3}--></a>", "<?xml version='1.0' encoding='klingon'?><a/>", "<?xml encoding='utf-8'?><a>\u{C3}</a>",
    ])
    func textsOfNoKnownEncodingAreErrors(text: String) throws {
        let body = try #require(text.data(using: .isoLatin1))
        #expect(codes(serializer.result(for: xml, body: body).error) == [.serialization])
        let parser = try XMLParserResponseSerializer().serialize(xml, body: body).value
        #expect(!parser.parse() && parser.parserError != nil)
    }

    @Test(arguments: ["a", "a PUBLIC '-//X>' \"u:]\"", "a SYSTEM 'file:///etc/passwd'"])
    func documentTypesAreLeftOut(type: String) throws {
        let document = try document("<?xml version='1.0'?>\n<!DOCTYPE \(type)><a>text</a>")
        #expect(document.rootElement()?.stringValue == "text" && !document.xmlString.contains("DOCTYPE"))
    }

    @Test(arguments: ["<!ATTLIST a b CDATA #IMPLIED>", "<!ENTITY e 'x'>", ""])
    func declarationsOfADocumentTypeAreRefused(declarations: String) throws {
        let body = Data("<!DOCTYPE a [\(declarations)]><a/>".utf8)
        #expect(codes(serializer.result(for: xml, body: body).error) == [.serialization])
        let parser = try XMLParserResponseSerializer().serialize(xml, body: body + body).value
        _ = parser.parse()
    }

    @Test func sizesAtAndBeyondTheLimits() throws {
        let deepest = String(repeating: "<a>", count: 200) + String(repeating: "</a>", count: 200)
        #expect(try document(deepest).rootElement() != nil)
        #expect(throws: SessionError.self) { try document("<b>" + deepest + "</b>") }
        let quotes = String(repeating: "&quot;", count: 1 << 17)
        #expect(try document("<a b=\"\(quotes)\">\(quotes)</a>").rootElement()?.stringValue?.utf8.count == 1 << 17)
        let long = String(repeating: "x", count: 1 << 20)
        #expect(try document("<a b='\(long)'/>").rootElement() != nil)
        #expect(throws: SessionError.self) { try document("<a b='\(long)x'/>") }
        let text = String(repeating: long, count: 8)
        #expect(try document("<a>\(text)</a>").rootElement()?.stringValue?.utf8.count == 8 << 20)
        #expect(throws: SessionError.self) { try document("<a>\(text)x</a>") }
    }

    @Test func aParserErrorStandsAboveTheStatus() throws {
        let result = serializer.result(for: response(500, "text/xml"), body: Data("<foo".utf8))
        #expect(codes(result.error) == [.serialization, .status])
        let plain = serializer.result(for: xml, body: Data("<foo".utf8))
        #expect(try #require(plain.error as? SessionError).nsError.domain == XMLParser.errorDomain)
    }

    @Test func anEmptyBodyIsNoDocument() {
        #expect(codes(serializer.result(for: response(204, nil), body: Data()).error) == [.serialization])
        #expect(codes(serializer.result(for: response(200, "text/html"), body: Data()).error) == [.serialization])
    }

    @Test func xmlDocumentResponseSerializerCanBeCopied() throws {
        var original = XMLDocumentResponseSerializer(options: [.nodePreserveWhitespace])
        original.validation.acceptableContentTypes = ["test/type"]
        let copy = original
        #expect(copy == original && copy.options == [.nodePreserveWhitespace] && copy != serializer)
        #expect(try archivedAndUnarchived(original) == original)
    }
}

/// Documents in which Foundation's parser finds an instruction without data, or a declaration, where a simple scan
/// doesn't see one. It crashes the process on these.
@Suite struct HiddenMarkupTests {
    private let xml = response(200, "text/xml")

    private func events(_ body: Data) throws -> (count: Int, isParsed: Bool, error: (any Error)?) {
        let parser = try XMLParserResponseSerializer().serialize(xml, body: body).value
        let events = Events()
        parser.delegate = events
        let isParsed = parser.parse()
        return (events.count, isParsed, parser.parserError)
    }

    private func errorOfBoth(_ body: Data) throws {
        let result = XMLDocumentResponseSerializer().result(for: xml, body: body)
        #expect(result.value == nil && codes(result.error) == [.serialization])
        let (count, isParsed, error) = try events(body)
        #expect(count == 0 && !isParsed && error != nil)
    }

    @Test(arguments: [
        "", "x", "<a>",
        // Marks that overlap.
        "<a><!--><![CDATA[ --><?t?>]]></a>", "<a><!---><![CDATA[ --><?t?>]]></a>", "<a><?><!--?><?t?>--></a>",
        // A document type whose removal joins what is around it.
        "<a><<!DOCTYPE x>?t?></a>", "<a><!<!DOCTYPE x>--<?t?>--></a>",
        "<!DOC<!DOCTYPE x>TYPE a [<!NOTATION n SYSTEM 'x'>]><a/>",
        // Characters that end a comment or an instruction for the parser.
        "<a><!--\u{1}<?t?>--></a>", "<a><!--\u{FFFE}<?t?>--></a>", "<a><?x \u{FFFF}<?t?> ?></a>", "<a>\u{0}<?t?></a>",
        // A second declaration, which names another encoding.
        "<?xml version='1.0'?><?xml version='1.0' encoding='UTF-7'?>+ADw-a+AD4APA-?t?+AD4APA-/a+AD4-",
        "<!DOCTYPE a><?xml version='1.0' encoding='UTF-7'?>+ADw-a+AD4APA-?t?+AD4APA-/a+AD4-",
        // Instructions without a name, in the middle of which the parser would go on.
        "<r><?<a/><?t?></r>", "<r><?<!----><a/><?t?></r>", "<r><?[<?t?></r>",
        "<r><a/>\r<?<!----><a b='&#10;&#9;'/><?t?>></r>",
        "<r>-<?[<a b='1' b='2'><a b='&foo;text<?t?>&lt;<!DOC<a b=''/></r>",
    ])
    func malformedDocumentsAreErrors(text: String) throws {
        try errorOfBoth(Data(text.utf8))
    }

    @Test func documentsOfAnotherEncodingThanDeclaredAreErrors() throws {
        let text = "<a><?t?></a>"
        try errorOfBoth(Data("<a><!--".utf8) + [0xFF] + Data("<?t?>--></a>".utf8))
        try errorOfBoth(Data(text.unicodeScalars.flatMap { [0, 0, 0, UInt8(ascii: $0)] }))
        try errorOfBoth(Data(text.unicodeScalars.flatMap { [UInt8(ascii: $0), 0, 0, 0] }))
        let declaration = "<?xml version='1.0' encoding='UTF-16LE'?>"
        let wide = Data((declaration + text).utf8.flatMap { [$0, 0] })
        try errorOfBoth(Data("<?xml version='1.0'?>".utf8) + wide)
    }

    @Test(arguments: [
        "<a><!--><![CDATA[ --><?t?><!--]]>--></a>", "<a><!---><![CDATA[ --><?t?><!--]]>--></a>",
        "<a><?x <!-- ?><?t?><?y --> ?></a>",
    ])
    func instructionsAreFoundBehindMisleadingMarks(text: String) throws {
        let document = try XMLDocumentResponseSerializer().serialize(xml, body: Data(text.utf8)).value
        #expect(document.rootElement()?.childCount == 3)
        let (count, isParsed, error) = try events(Data(text.utf8))
        #expect(count >= 2 && isParsed && error == nil)
    }

    @Test(arguments: [
        "<a xmlns='relative'/>", "<a xmlns='http://a b'/>", "<a xml:space='x'/>", "<p:a q:b='c'/>", "<a:/>",
        "<?x:y z?><a/>", "<a xmlns:p='u' xmlns:q='u' p:x='' q:x=''/>", "\n<?xml version='1.0'?><a/>",
        "<a><?xml-x y?></a>", "<!DOCTYPE html SYSTEM 'x'><a b='&nbsp;'>&nbsp;</a>",
    ])
    func eventsAreReportedDespiteErrorsInNamesAndValues(text: String) throws {
        let (count, _, error) = try events(Data(text.utf8))
        #expect(count > 0 && error != nil)
    }
}

/// Documents of which libxml2 would take much time, and what it would print.
@Suite struct XMLLimitTests {
    private let xml = response(200, "text/xml")

    /// The message of the document serializer's error, or nil.
    private func complaint(_ text: String) throws -> String? {
        guard let error = XMLDocumentResponseSerializer().result(for: xml, body: Data(text.utf8)).error else {
            return nil
        }
        let failure = try #require(error as? SessionError)
        #expect(failure.code == .serialization)
        return failure.message
    }

    /// Whether the parser reports all of the document, or else nothing but an error.
    private func isParsed(_ text: String) throws -> Bool {
        let parser = try XMLParserResponseSerializer().serialize(xml, body: Data(text.utf8)).value
        let events = Events()
        parser.delegate = events
        let isParsed = parser.parse()
        #expect(isParsed == (events.count > 0) && isParsed == (parser.parserError == nil))
        return isParsed
    }

    private static func element(_ count: Int, _ quote: String = "'", in name: String = "a") -> String {
        "<\(name)" + (0..<count).map { " b\($0) = \(quote)>\(quote)" }.joined() + "/>"
    }

    @Test(arguments: ["'", "\""])
    func attributesOfAnElementAreLimited(quote: String) throws {
        let (most, tooMany) = (Self.element(1024, quote), Self.element(1025, quote))
        #expect(try complaint(most) == nil)
        #expect(try isParsed(most))
        for text in [
            tooMany, "<r>\(most)<!-- < --> x\(tooMany)</r>", "<r c='\(quote == "'" ? "\"" : "'")'>\(tooMany)</r>",
        ] {
            #expect(try complaint(text) == "an element has more than 1024 attributes")
            #expect(try !isParsed(text))
        }
        // What only looks like a tag.
        let others = [
            "<!--\(tooMany)-->", "<![CDATA[\(tooMany)]]>", "<?x \(tooMany)?>", String(repeating: quote, count: 3000),
        ]
        for other in others {
            #expect(try complaint("<r>\(other)</r>") == nil)
            #expect(try isParsed("<r>\(other)</r>"))
        }
        let rows = "<r>" + String(repeating: most, count: 3) + "</r>"
        #expect(try complaint(rows) == nil)
        #expect(try isParsed(rows))
    }

    private static func nested(_ count: Int, _ attributes: (Int) -> String = { _ in "" }) -> String {
        (0..<count).map { "<a\(attributes($0))>" }.joined() + String(repeating: "</a>", count: count)
    }

    @Test func nestingIsLimited() throws {
        #expect(try complaint(Self.nested(200)) == nil)
        #expect(try isParsed(Self.nested(200)))
        #expect(try complaint(Self.nested(201)) == "elements are nested more than 200 deep")
        #expect(try !isParsed(Self.nested(201)))
        let siblings = "<r>" + String(repeating: Self.nested(199), count: 3) + "</r>"
        #expect(try complaint(siblings) == nil)
        #expect(try isParsed(siblings))
    }

    /// Beyond it, libxml2 itself reports an internal error.
    @Test func sizeIsLimited() throws {
        let (head, tail) = ("<?xml version='1.0' encoding='UTF-8'?><r>", "</r>")
        // As it is in UTF-8, with a declaration.
        func text(_ size: Int) -> String {
            let element = "<a>" + String(repeating: "x", count: 1 << 20) + "</a>"
            let elements = String(repeating: element, count: 9)
            let rest = size - head.utf8.count - elements.utf8.count - tail.utf8.count
            return head + elements + String(repeating: "y", count: rest) + tail
        }
        #expect(try complaint(text(10_000_000)) == nil)
        #expect(try isParsed(text(10_000_000)))
        #expect(try complaint(text(10_000_001)) == "the document has more than 10000000 bytes")
        #expect(try !isParsed(text(10_000_001)))
    }

    @Test func numberOfNodesIsLimited() throws {
        let message = "the document has more than 1000000 elements, attributes and comments"
        // An element with an attribute, a comment and an instruction are four nodes; the root is the one too many.
        let nodes = String(repeating: "<a b=''/><!----><?a ?>", count: 250_000)
        #expect(try complaint("<r>\(nodes)</r>") == message)
        #expect(try !isParsed("<r>\(nodes)</r>"))
        var cost = XMLCost()
        try cost.addNodes(999_997)
        try cost.begin(["a": "", "b": ""])
        #expect(throws: SessionError.self) { try cost.addNodes() }
    }

    @Test func cancelledTaskStopsParsing() async {
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            let serializer = XMLDocumentResponseSerializer()
            return codes(serializer.result(for: response(200, "application/xml"), body: Data("<a/>".utf8)).error)
        }
        task.cancel()
        #expect(await task.value == [.cancelled])
    }

    @Test func namespacesInScopeAreLimited() throws {
        let expected = "an element has more than 256 namespaces in scope"
        func declarations(_ count: Int) -> String { (0..<count).map { " xmlns:p\($0)='u:\($0)'" }.joined() }
        let (most, tooMany) = ("<a xmlns='u:'\(declarations(255))/>", "<a xmlns='u:'\(declarations(256))/>")
        let deep = Self.nested(65) { " xmlns='u:\($0)'" + declarations(3) }
        for (text, message) in [
            (most, nil), ("<r>\(most)\(most)</r>", nil), (tooMany, expected), (deep, expected),
            ("<r xmlns='u:'>\(most)</r>", expected), ("<r xmlnsp='u:'>\(most)</r>", nil),
        ] {
            #expect(try complaint(text) == message)
            #expect(try isParsed(text) == (message == nil))
        }
    }

    /// libxml2 would print these, with the line breaks of the value, when it makes the tree.
    @Test(arguments: [
        "x&#10;2026-01-01 INFO a line of its own&#10;", "", "1", "a b", "a:b", "-a", "\u{B7}a", "a\u{D7}", "a\u{85}",
        "a\u{2028}",
    ])
    func identifiersThatAreNotNamesAreErrors(value: String) throws {
        let text = "<r><a xml:id=\"\(value)\"/></r>"
        #expect(try complaint(text) == "the value of an attribute xml:id isn't a name")
        // The parser prints nothing.
        #expect(try isParsed(text))
    }

    @Test func identifiersAreUnique() throws {
        #expect(try complaint("<r xml:id='a'><b xml:id=' a&#10;'/></r>") == "two elements have the same xml:id")
        let text =
            "<r xml:id='a'><b xml:id=' _1.-\u{B7} '/><b id='a'/><b xml:id='\u{E9}\u{4E00}\u{C4A5}\u{5D0}\u{E01}\u{302}'/></r>"
        let document = try XMLDocumentResponseSerializer().serialize(xml, body: Data(text.utf8)).value
        #expect(document.rootElement()?.attribute(forName: "xml:id")?.stringValue == "a")
        #expect(document.rootElement()?.childCount == 3)
    }
}
