public import Foundation
public import SwiftAF

/// Writes parameters as a property list in the body; as a query for methods that have none.
///
/// A copy carries every setting. So does the coded form, but for what `HTTPRequestSerializer` leaves out of ``base``.
public struct PropertyListRequestSerializer: RequestSerializer, Hashable, Codable {
    /// Default headers, the methods without a body, and how their query is written.
    public var base: HTTPRequestSerializer

    /// `.xml` or `.binary`; `.openStep` can't be written and is an error.
    public var format: PropertyListSerialization.PropertyListFormat {
        get { PropertyListSerialization.PropertyListFormat(rawValue: formatCode) ?? .xml }
        set { formatCode = newValue.rawValue }
    }

    /// Handed to Foundation, which has no option yet that means anything.
    public var writeOptions: PropertyListSerialization.WriteOptions

    private var formatCode: UInt

    /// Makes a serializer; what is left out is as in `HTTPRequestSerializer`, and the format XML.
    public init(
        base: HTTPRequestSerializer = HTTPRequestSerializer(),
        format: PropertyListSerialization.PropertyListFormat = .xml,
        writeOptions: PropertyListSerialization.WriteOptions = 0
    ) {
        self.base = base
        formatCode = format.rawValue
        self.writeOptions = writeOptions
    }

    /// The request with the parameters as its body, of type `application/x-plist` unless it has one. Without
    /// parameters there is neither body nor Content-Type.
    ///
    /// - Throws: `SessionError` with code `serialization` if the parameters contain what a property list can't
    ///   express (null, a set) or can't be encoded; with `invalidInput` if the request has a body already.
    public func serialize(_ request: HTTPRequest, parameters: Parameters?) throws -> HTTPRequest {
        if base.encodesInURI(request.method) { return try base.serialize(request, parameters: parameters) }
        var request = request
        base.fillGaps(of: &request)
        if let parameters {
            guard request.body.isNone else { throw HTTPRequestSerializer.secondBody(of: request) }
            request.body = .data(try encode(parameters, url: request.url))
            request.headers.fillGaps(from: [HTTPHeaders.Name.contentType: PropertyListResponseSerializer.contentType])
        }
        try request.encodeBody(with: base.bodyEncoder)
        return request
    }

    private func encode(_ parameters: Parameters, url: String) throws -> Data {
        do {
            // Foundation ends the process if it is asked to.
            if format == .openStep { throw CocoaError(.propertyListWriteInvalid) }
            return try PropertyListSerialization.data(
                fromPropertyList: parameters.propertyList(), format: format, options: writeOptions)
        } catch {
            throw SessionError(
                .serialization, message: "the parameters can't be written as a property list", url: url,
                underlying: error)
        }
    }
}

extension Parameters {
    /// The parameters in the classes that property lists are made of.
    fileprivate func propertyList() throws -> Any {
        switch self {
        case .bool(let value): return value
        case .integer(let value): return value
        case .unsigned(let value): return value
        case .double(let value): return value
        case .number(let value):
            // More digits or a larger range than property lists have.
            guard let value = value.double else { throw CocoaError(.propertyListWriteInvalid) }
            return value
        case .string(let value): return value
        case .date(let value): return value
        case .data(let value): return value
        case .array(let elements): return try elements.map { try $0.propertyList() }
        case .dictionary(let members):
            let pairs = try members.map { ($0.key, try $0.value.propertyList()) }
            return Dictionary(pairs) { _, last in last }
        case .encodable(let value): return try Self.propertyList(of: value)
        case .null, .set: throw CocoaError(.propertyListWriteInvalid)
        }
    }

    /// The encoder takes no single numbers or texts, but arrays of them.
    private static func propertyList<Value: Encodable>(of value: Value) throws -> Any {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        let list = try PropertyListSerialization.propertyList(
            from: encoder.encode([value]), options: [], format: nil)
        guard let value = (list as? [Any])?.first else { throw CocoaError(.propertyListWriteInvalid) }
        return value
    }
}
