public import Foundation
public import SwiftAF

/// Encodes parameters as a property list in the body, or as a query for methods without a body.
///
/// Copies include every setting. The encoded form does, too, except for the properties of ``base`` that
/// `HTTPRequestSerializer` omits.
public struct PropertyListRequestSerializer: RequestSerializer, Hashable, Codable {
    /// The serializer for everything except the body: time limits, the methods without a body, and the encoding of
    /// their query.
    public var base: HTTPRequestSerializer

    /// `.xml` or `.binary`. `.openStep` can't be written and fails.
    public var format: PropertyListSerialization.PropertyListFormat {
        get { PropertyListSerialization.PropertyListFormat(rawValue: formatCode) ?? .xml }
        set { formatCode = newValue.rawValue }
    }

    /// Passed to Foundation, which doesn't define any option yet.
    public var writeOptions: PropertyListSerialization.WriteOptions

    private var formatCode: UInt

    /// Creates a serializer. Defaults: those of `HTTPRequestSerializer`, and XML.
    public init(
        base: HTTPRequestSerializer = HTTPRequestSerializer(),
        format: PropertyListSerialization.PropertyListFormat = .xml,
        writeOptions: PropertyListSerialization.WriteOptions = 0
    ) {
        self.base = base
        formatCode = format.rawValue
        self.writeOptions = writeOptions
    }

    /// Encodes the parameters as the body. The Content-Type is `application/x-plist` unless the request sets one.
    /// Without parameters, or with `Parameters.null`, neither a body nor a Content-Type is added.
    ///
    /// - Throws: `SessionError` with code `serialization` if the parameters can't be encoded or contain a value that a
    ///   property list can't represent: null, a set, a date that is NaN or infinite; in XML also a date outside of the
    ///   years 0000 to 9999, and text with a character that XML forbids, such as U+0000. With `invalidInput` if the
    ///   request already has a body.
    public func serialize(_ request: HTTPRequest, parameters: Parameters?) throws -> HTTPRequest {
        if base.encodesInURI(request.method) { return try base.serialize(request, parameters: parameters) }
        var request = request
        base.fillGaps(of: &request)
        if let parameters = parameters.unlessNull {
            guard request.body.isNone else { throw HTTPRequest.secondBody(request.url) }
            request.body = .data(try encode(parameters, url: request.url))
            request.headers.fillGap(name: .contentType, value: PropertyListResponseSerializer.contentType)
        }
        try request.encodeBody(with: base.bodyEncoder)
        return request
    }

    private func encode(_ parameters: Parameters, url: String) throws -> Data {
        do {
            // Foundation crashes the process when it writes OpenStep.
            if format == .openStep { throw CocoaError(.propertyListWriteInvalid) }
            let list = try parameters.propertyList()
            try PropertyListCheck(format: format).check(list)
            return try PropertyListSerialization.data(fromPropertyList: list, format: format, options: writeOptions)
        } catch let error as PropertyListCheck.Fault {
            throw SessionError(
                .serialization, message: "the parameters can't be written as a property list: \(error.reason)",
                url: url, underlying: CocoaError(.propertyListWriteInvalid))
        } catch {
            throw SessionError(
                .serialization, message: "the parameters can't be written as a property list", url: url,
                underlying: error)
        }
    }
}

extension Parameters {
    /// Returns the parameters as objects of the property list classes.
    fileprivate func propertyList() throws -> Any {
        switch self {
        case .bool(let value): return value
        case .integer(let value): return value
        case .unsigned(let value): return value
        case .double(let value): return value
        case .number(let value):
            // The number has more digits or a larger range than property lists support.
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
        case .invalid(let error): throw error
        case .null, .set: throw CocoaError(.propertyListWriteInvalid)
        }
    }

    /// Encodes a single value. `PropertyListEncoder` refuses a top-level number or string, so the value is wrapped in
    /// an array.
    private static func propertyList<Value: Encodable>(of value: Value) throws -> Any {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        let list = try PropertyListSerialization.propertyList(
            from: encoder.encode([value]), options: [], format: nil)
        guard let value = (list as? [Any])?.first else { throw CocoaError(.propertyListWriteInvalid) }
        try PropertyListCheck.refuseNulls(in: value)
        return value
    }
}
