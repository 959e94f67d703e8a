public import Foundation
public import SwiftAF

/// The body as a property list in any format; nil for an empty one.
public struct PropertyListResponseSerializer: ValidatingResponseSerializer, Hashable, Codable {
    public typealias Output = FoundationObject<Any>?

    /// Which responses are acceptable.
    public var validation: ResponseValidation

    /// For `PropertyListRequestSerializer` made alike. Reading finds the format by itself.
    public var format: PropertyListSerialization.PropertyListFormat {
        get { PropertyListSerialization.PropertyListFormat(rawValue: formatCode) ?? .xml }
        set { formatCode = newValue.rawValue }
    }

    /// Whether containers, or containers and leaves, can be changed.
    public var readOptions: PropertyListSerialization.ReadOptions {
        get { PropertyListSerialization.ReadOptions(rawValue: readBits) }
        set { readBits = newValue.rawValue }
    }

    private var formatCode: UInt
    private var readBits: UInt

    /// The type that property lists are sent as.
    static let contentType = "application/x-plist"

    /// The types that AFNetworking takes for property lists.
    public static let contentTypes: Set<String> = [contentType]

    /// Makes a serializer; at first the types in ``contentTypes`` with status 200 to 299 are acceptable.
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
        guard BinaryPropertyList.isHarmless(body) else { throw CocoaError(.propertyListReadCorrupt) }
        return FoundationObject(
            try PropertyListSerialization.propertyList(from: body, options: readOptions, format: nil))
    }
}
