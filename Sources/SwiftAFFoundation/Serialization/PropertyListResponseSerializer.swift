public import Foundation
public import SwiftAF

/// Parses the body as a property list of any format. The value is nil for an empty body.
public struct PropertyListResponseSerializer: ValidatingResponseSerializer, Hashable, Codable {
    /// The root object of the property list.
    public typealias Output = FoundationObject<Any>?

    /// The responses that are acceptable.
    public var validation: ResponseValidation

    /// The format for a `PropertyListRequestSerializer` with the same settings. Parsing detects the format itself.
    public var format: PropertyListSerialization.PropertyListFormat {
        get { PropertyListSerialization.PropertyListFormat(rawValue: formatCode) ?? .xml }
        set { formatCode = newValue.rawValue }
    }

    /// Whether containers, or containers and leaves, are mutable. On Linux only the outermost container is: an
    /// `NSMutableDictionary` or an `NSMutableArray`.
    public var readOptions: PropertyListSerialization.ReadOptions {
        get { PropertyListSerialization.ReadOptions(rawValue: readBits) }
        set { readBits = newValue.rawValue }
    }

    private var formatCode: UInt
    private var readBits: UInt

    /// The media type of property lists.
    static let contentType = MediaType.propertyList.essence

    /// The media types that AFNetworking accepts for property lists.
    public static let contentTypes: Set<String> = [contentType]

    /// Creates a serializer. By default, it accepts the types in ``contentTypes`` with status 200 to 299.
    public init(
        format: PropertyListSerialization.PropertyListFormat = .xml,
        readOptions: PropertyListSerialization.ReadOptions = [],
        validation: ResponseValidation = ResponseValidation(acceptableContentTypes: contentTypes)
    ) {
        self.validation = validation
        formatCode = format.rawValue
        readBits = readOptions.rawValue
    }

    public func parse(_ body: Data, of response: HTTPResponse) throws -> FoundationObject<Any>? {
        if body.isEmpty { return nil }
        guard BinaryPropertyList.isHarmless(body) else {
            throw SessionError(
                .serialization,
                message: """
                    the binary property list is damaged, has a set or an identifier of a keyed archive, is nested more \
                    than \(BinaryPropertyList.maximumDepth) levels deep, or would take much more memory than its size
                    """,
                underlying: CocoaError(.propertyListReadCorrupt))
        }
        let list = try PropertyListSerialization.propertyList(from: body, options: readOptions, format: nil)
        return FoundationObject(readOptions.isEmpty ? list : Self.mutable(list))
    }

    /// Returns a mutable container, because Foundation for Linux returns its mutable containers as Swift values.
    private static func mutable(_ list: Any) -> Any {
        switch list {
        case let members as [AnyHashable: Any]: NSMutableDictionary(dictionary: members)
        case let elements as [Any]: NSMutableArray(array: elements)
        default: list
        }
    }
}
