import Foundation
import FoundationXML
import SwiftAF

/// Parses a document only to find out whether it is well-formed and within the limits of ``XMLCost``.
final class XMLCheck: NSObject, XMLParserDelegate {
    private var isWellFormed = true
    private var cost = XMLCost()

    /// - Parameter document: A result of ``XMLText/utf8(_:)``.
    static func isWellFormed(_ document: Data) -> Bool {
        let check = XMLCheck()
        let parser = XMLParser(data: document)
        parser.shouldResolveExternalEntities = false
        parser.delegate = check
        // The result is ignored: on Linux, it may be true after an error, and false after a harmless one.
        _ = parser.parse()
        return check.isWellFormed
    }

    func parser(
        _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
        attributes: [String: String] = [:]
    ) {
        count(parser) { cost throws(SessionError) in try cost.begin(attributes) }
    }

    func parser(
        _ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?
    ) {
        cost.end()
    }

    func parser(_ parser: XMLParser, foundComment comment: String) {
        count(parser) { cost throws(SessionError) in try cost.addNodes() }
    }

    func parser(_ parser: XMLParser, foundProcessingInstructionWithTarget target: String, data: String?) {
        count(parser) { cost throws(SessionError) in try cost.addNodes() }
    }

    private func count(_ parser: XMLParser, _ add: (inout XMLCost) throws(SessionError) -> Void) {
        do {
            try add(&cost)
        } catch {
            isWellFormed = false
            parser.abortParsing()
        }
    }

    /// Aborts at the first error. On Linux, the parser would continue in places that ``XMLText`` hasn't checked, and
    /// could crash.
    func parser(_ parser: XMLParser, parseErrorOccurred error: any Error) {
        if Self.isHarmless((error as NSError).code) { return }
        isWellFormed = false
        parser.abortParsing()
    }

    /// Returns whether an error concerns only a name or a value, so that the parser has read the markup correctly. The
    /// codes are those of libxml2 (`xmlParserErrors`), which Foundation passes on.
    private static func isHarmless(_ code: Int) -> Bool {
        switch code {
        case 26: true  // An entity that isn't declared. The document type, which is left out, may have declared it.
        case 64: true  // An instruction whose name begins with `xml`.
        case 99, 100, 102: true  // The address of a namespace, a relative one, and the value of `xml:space`.
        case 200...205: true  // Colons and prefixes.
        default: false
        }
    }
}
