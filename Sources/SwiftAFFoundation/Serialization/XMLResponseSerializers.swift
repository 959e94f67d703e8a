public import Foundation
public import FoundationXML
public import SwiftAF

/// The types that AFNetworking takes for XML.
private let xmlTypes: Set<String> = ["application/xml", "text/xml"]

/// The body in a parser that has not been started, also if it is empty or no XML: that only starting it tells.
///
/// The parser is given the body in UTF-8, whatever it came in, and without its document type; a document type with
/// declarations of its own is an error that the parser reports. External entities are not loaded unless you change the
/// parser's policy, which a body from the network gives no reason for. On Linux `parse()` may answer true although
/// `parserError` is set; look at both.
public struct XMLParserResponseSerializer: ValidatingResponseSerializer, Hashable, Codable {
    public typealias Output = FoundationObject<XMLParser>

    /// Which responses are acceptable.
    public var validation: ResponseValidation

    /// The types that are acceptable at first.
    public static let contentTypes = xmlTypes

    /// Makes a serializer; at first the types in ``contentTypes`` with status 200 to 299 are acceptable.
    public init(validation: ResponseValidation = ResponseValidation(acceptableContentTypes: contentTypes)) {
        self.validation = validation
    }

    public func parse(_ body: Data, of response: HTTPResponse) -> FoundationObject<XMLParser> {
        let parser = XMLParser(data: XMLText.utf8(body))
        parser.shouldResolveExternalEntities = false
        return FoundationObject(parser)
    }
}

/// The body as a tree. An empty body is none, and an error.
///
/// Foundation's own reading of a document would end the process at some that are malformed, and put files of this
/// machine into one that names them. So a body is read as events first: what is not well-formed, is nested deeper
/// than 200 elements, or has a document type with declarations of its own, is an error. Any other document type is
/// left out of the tree, and texts come out in UTF-8, whatever they came in.
public struct XMLDocumentResponseSerializer: ValidatingResponseSerializer, Hashable, Codable {
    public typealias Output = FoundationObject<XMLDocument>

    /// Which responses are acceptable.
    public var validation: ResponseValidation

    /// How the tree is made; `.nodePreserveWhitespace` is the one that matters on Linux.
    public var options: XMLNode.Options {
        get { XMLNode.Options(rawValue: optionBits) }
        set { optionBits = newValue.rawValue }
    }

    private var optionBits: UInt

    /// The types that are acceptable at first.
    public static let contentTypes = xmlTypes

    /// Makes a serializer; at first the types in ``contentTypes`` with status 200 to 299 are acceptable.
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
