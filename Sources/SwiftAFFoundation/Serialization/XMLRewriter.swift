import Foundation
import FoundationXML
import SwiftAF

/// Parses a document as events and writes it again: well-formed, in UTF-8, without a document type and entities.
final class XMLRewriter: NSObject, XMLParserDelegate {
    /// The maximum size of a text or comment in bytes. Less than the size at which libxml2 stops building a tree, which
    /// makes Foundation crash.
    private static let maximumTextSize = 8 << 20
    /// The maximum size of an attribute in bytes. Escaping makes it up to six times as large.
    private static let maximumAttributeSize = 1 << 20

    private var output: [UInt8] = []
    private var cost = XMLCost()
    private var names = XMLNames()
    private var elements = 0
    private var textSize = 0
    private var failure: (any Error)?

    /// - Throws: The parser's error (`NSXMLParserErrorDomain`), or a `SessionError` for a document that isn't accepted.
    static func rewrite(_ document: Data) throws -> Data {
        let rewriter = XMLRewriter()
        let parser = XMLParser(data: try XMLText.utf8(document))
        parser.shouldResolveExternalEntities = false
        parser.delegate = rewriter
        let isComplete = parser.parse()
        if let failure = rewriter.failure { throw failure }
        guard isComplete, rewriter.elements > 0, rewriter.cost.depth == 0 else {
            throw CocoaError(.fileReadCorruptFile)
        }
        return Data(rewriter.output)
    }

    func parser(
        _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
        attributes: [String: String] = [:]
    ) {
        elements += 1
        textSize = 0
        do {
            try cost.begin(attributes)
            if let value = attributes["xml:id"] { try names.add(value) }
        } catch {
            return stop(parser, error)
        }
        put("<\(name)")
        for (name, value) in attributes.sorted(by: { $0.key < $1.key }) {
            guard value.utf8.count <= Self.maximumAttributeSize else {
                return stop(parser, XMLCost.error("an attribute has more than \(Self.maximumAttributeSize) bytes"))
            }
            put(" \(name)=\"")
            putEscaped(value, blanks: 0x09...0x0D)
            put("\"")
        }
        put(">")
    }

    func parser(
        _ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?
    ) {
        cost.end()
        textSize = 0
        put("</\(name)>")
    }

    func parser(_ parser: XMLParser, foundCharacters text: String) {
        guard admit(text.utf8.count, parser) else { return }
        putEscaped(text, blanks: 0x0D...0x0D)
    }

    func parser(_ parser: XMLParser, foundCDATA block: Data) {
        guard admit(block.count, parser) else { return }
        // A CDATA section can't contain `]]>`, so it can be copied unescaped.
        put("<![CDATA[")
        output.append(contentsOf: block)
        put("]]>")
    }

    func parser(_ parser: XMLParser, foundComment comment: String) {
        guard comment.utf8.count <= Self.maximumTextSize else {
            return stop(parser, XMLCost.error("a comment has more than \(Self.maximumTextSize) bytes"))
        }
        guard admitNode(parser) else { return }
        put("<!--\(comment)-->")
    }

    func parser(_ parser: XMLParser, foundProcessingInstructionWithTarget target: String, data: String?) {
        guard admitNode(parser) else { return }
        put("<?\(target) \(data ?? "")?>")
    }

    /// Aborts at the first error. On Linux, the parser would continue in places that ``XMLText`` hasn't checked, and
    /// could crash.
    func parser(_ parser: XMLParser, parseErrorOccurred error: any Error) {
        failure = failure ?? error
        parser.abortParsing()
    }

    private func admitNode(_ parser: XMLParser) -> Bool {
        do {
            try cost.addNodes()
            return true
        } catch {
            stop(parser, error)
            return false
        }
    }

    private func admit(_ size: Int, _ parser: XMLParser) -> Bool {
        textSize += size
        if textSize <= Self.maximumTextSize { return true }
        stop(parser, XMLCost.error("a text has more than \(Self.maximumTextSize) bytes"))
        return false
    }

    private func stop(_ parser: XMLParser, _ error: SessionError) {
        failure = failure ?? error
        parser.abortParsing()
    }

    private func put(_ text: String) {
        output.append(contentsOf: text.utf8)
    }

    /// - Parameter blanks: White space that a parser would normalise, and that is therefore written as character
    ///   references: in attributes all except the space, in text the carriage return.
    private func putEscaped(_ text: String, blanks: ClosedRange<UInt8>) {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "&"): put("&amp;")
            case UInt8(ascii: "<"): put("&lt;")
            case UInt8(ascii: ">"): put("&gt;")
            case UInt8(ascii: "\""): put("&quot;")
            case blanks: put("&#\(byte);")
            default: output.append(byte)
            }
        }
    }
}
