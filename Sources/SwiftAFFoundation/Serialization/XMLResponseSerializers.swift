public import Foundation
public import FoundationXML
public import SwiftAF

/// The media types that AFNetworking accepts for XML.
private let xmlTypes: Set<String> = ["application/xml", "text/xml"]

/// Returns an `XMLParser` for the body that hasn't been started. An empty body or one that isn't XML is reported by the
/// parser only when it runs.
///
/// The parser gets the body converted to UTF-8 and without its document type. Of a body that isn't well-formed, or has
/// a document type with its own declarations, it reports only an error, because Foundation's parser continues after
/// errors and crashes the process on some such documents. The same applies to a body with more than 1,024 attributes of
/// an element, 200 nested elements or 256 namespaces in scope, which would take long to parse, and for one of more than
/// 10,000,000 bytes in UTF-8, or 1,000,000 elements, attributes, comments and instructions. Therefore, the body is
/// parsed once in advance. External entities aren't loaded unless you change the parser's policy; don't do that for a
/// body from the network. On Linux, `parse()` may return true even though `parserError` is set: check both.
public struct XMLParserResponseSerializer: ValidatingResponseSerializer, Hashable, Codable {
    /// A parser that has not begun.
    public typealias Output = FoundationObject<XMLParser>

    /// Which responses are acceptable.
    public var validation: ResponseValidation

    /// The content types that are acceptable by default.
    public static let contentTypes = xmlTypes

    /// Creates a serializer. By default, it accepts the types in ``contentTypes`` with status 200 to 299.
    public init(validation: ResponseValidation = ResponseValidation(acceptableContentTypes: contentTypes)) {
        self.validation = validation
    }

    public func parse(_ body: Data, of response: HTTPResponse) -> FoundationObject<XMLParser> {
        let parser = XMLParser(data: XMLText.wellFormed(body))
        parser.shouldResolveExternalEntities = false
        return FoundationObject(parser)
    }
}

/// Parses the body as a tree. An empty body is an error.
///
/// Foundation's own parser crashes the process on some malformed documents, and includes local files that a document
/// refers to. So the body is parsed as events first. Invalid XML, and a document type with its own declarations are
/// errors. So are more than 10,000,000 bytes in UTF-8, 1,000,000 elements, attributes, comments and instructions, of
/// which a tree takes about 250 MB, 200 nested elements, 1,024 attributes of an element, 256 namespaces in scope, 8 MiB
/// of a text or comment or 1 MiB of an attribute, and an attribute `xml:id` whose value isn't a name or is there twice:
/// its value would be printed to the standard error. Any other document type is omitted from the tree. Text is
/// converted to UTF-8.
public struct XMLDocumentResponseSerializer: ValidatingResponseSerializer, Hashable, Codable {
    /// The document as a tree.
    public typealias Output = FoundationObject<XMLDocument>

    /// Which responses are acceptable.
    public var validation: ResponseValidation

    /// How the tree is built. On Linux, only `.nodePreserveWhitespace` has an effect.
    public var options: XMLNode.Options {
        get { XMLNode.Options(rawValue: optionBits) }
        set { optionBits = newValue.rawValue }
    }

    private var optionBits: UInt

    /// The content types that are acceptable by default.
    public static let contentTypes = xmlTypes

    /// Creates a serializer. By default, it accepts the types in ``contentTypes`` with status 200 to 299.
    public init(
        options: XMLNode.Options = [],
        validation: ResponseValidation = ResponseValidation(acceptableContentTypes: contentTypes)
    ) {
        self.validation = validation
        optionBits = options.rawValue
    }

    public func parse(_ body: Data, of response: HTTPResponse) throws -> FoundationObject<XMLDocument> {
        let harmless = try XMLRewriter.rewrite(body)
        return FoundationObject(
            try XMLDocument(data: harmless, options: options.union(.nodeLoadExternalEntitiesNever)))
    }
}
