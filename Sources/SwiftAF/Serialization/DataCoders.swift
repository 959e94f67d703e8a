public import FoundationEssentials

/// A decoder for bodies: ``JSONCoder``, Foundation's decoders for JSON and property lists, or one for another format.
public protocol DataDecoder: Sendable {
    /// Decodes a value. May be called concurrently.
    func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value

    /// The media types of the format, without parameters, which a manager accepts for values that it decodes unless its
    /// validation lists others (``ResponseValidation/acceptableContentTypes``). Default:
    /// ``JSONResponseSerializer/contentTypes``, with which types such as `application/problem+json` are accepted, too.
    var contentTypes: Set<String> { get }
}

extension DataDecoder {
    public var contentTypes: Set<String> { JSONResponseSerializer.contentTypes }
}

/// An encoder for JSON bodies: ``JSONCoder`` or Foundation's `JSONEncoder`.
public protocol DataEncoder: Sendable {
    /// Encodes a value. May be called concurrently.
    func encode<Value: Encodable>(_ value: Value) throws -> Data
}

extension DataEncoder {
    /// Encodes a value as a tree.
    func tree(of value: some Encodable) throws -> JSONValue {
        // Another encoder decides about names and order; parsing its text keeps the digits of numbers.
        guard let coder = self as? JSONCoder else { return try JSONValue(parsing: encode(value)) }
        return try coder.encodeTree(value)
    }
}

extension JSONCoder: DataDecoder, DataEncoder {
    public func encode<Value: Encodable>(_ value: Value) throws -> Data {
        try encode(value, options: [])
    }
}

extension JSONDecoder: DataDecoder {}
extension PropertyListDecoder: DataDecoder {
    /// `application/x-plist`.
    public var contentTypes: Set<String> { Self.acceptableContentTypes }

    static let acceptableContentTypes: Set = [MediaType.propertyList.essence]
}
extension JSONEncoder: DataEncoder {}

/// A type whose value stands for an empty body, such as that of a 204 response.
public protocol EmptyResponse {
    /// The value of an empty body.
    static var emptyValue: Self { get }
}

/// A type without a value: decodes from every body, empty or not.
///
/// ```swift
/// let _: Empty = try await manager.post("logout")
/// ```
public struct Empty: Codable, Hashable, Sendable, EmptyResponse {
    /// Creates the value.
    public init() {}
    public init(from decoder: any Decoder) throws {}
    public func encode(to encoder: any Encoder) throws {}
    public static var emptyValue: Empty { Empty() }
}
