import FoundationEssentials

/// Encodes parameters as JSON in the body, or as a query for methods without a body.
///
/// Dates, data and `Encodable` values are written by ``HTTPSessionManager/encoder``, unless an ``encoder`` is set.
///
/// Copies include every setting. The encoded form leaves out an ``encoder`` that isn't a ``JSONCoder`` (it is nil after
/// decoding), and the properties of ``base`` that ``HTTPRequestSerializer`` leaves out. Equal serializers have equal
/// coders, or the same object, as their ``encoder``.
public struct JSONRequestSerializer: RequestSerializer {
    /// The methods without a body, and the encoding of their query.
    public var base: HTTPRequestSerializer

    /// The format of the JSON text.
    public var writingOptions: JSONValue.WritingOptions

    /// Whether a string, a number or a boolean may be sent at the top level, as RFC 8259 allows.
    public var allowsFragments: Bool

    /// The encoder of dates, data, infinities and ``Parameters/encodable(_:)``, instead of the manager's. If such a
    /// value is the whole body, the formatting of an encoder other than ``JSONCoder`` is used instead of
    /// ``writingOptions``. Don't modify an object once requests have been made. Default: nil.
    public var encoder: (any DataEncoder)?

    private static let contentType = MediaType.json.essence

    /// Creates a serializer. The defaults are those of ``HTTPRequestSerializer``, and compact JSON.
    public init(
        base: HTTPRequestSerializer = HTTPRequestSerializer(),
        writingOptions: JSONValue.WritingOptions = [],
        allowsFragments: Bool = false,
        encoder: (any DataEncoder)? = nil
    ) {
        self.base = base
        self.writingOptions = writingOptions
        self.allowsFragments = allowsFragments
        self.encoder = encoder
    }

    /// The parameter encoder of ``base``.
    public var parameterEncoder: ParameterEncoder { base.parameterEncoder }

    /// Returns the request with the parameters as its body, written by ``encoder`` or a `JSONCoder()`. Without
    /// parameters, or with ``Parameters/null``, it gets neither a body nor a Content-Type.
    ///
    /// - Throws: ``SessionError/Code/serialization`` if the parameters are neither an array nor a dictionary and
    ///   ``allowsFragments`` is false, or contain a value that JSON can't express; ``SessionError/Code/invalidInput``
    ///   if the request already has a body. An error of an `Encodable` is the ``SessionError/underlying`` one.
    public func serialize(_ request: HTTPRequest, parameters: Parameters?) throws -> HTTPRequest {
        try serialize(request, parameters: parameters, encoder: JSONCoder())
    }

    public func serialize(
        _ request: HTTPRequest, parameters: Parameters?, encoder: any DataEncoder
    ) throws -> HTTPRequest {
        if base.encodesInURI(request.method) { return try base.serialize(request, parameters: parameters) }
        var request = request
        base.fillGaps(of: &request)
        if let parameters = parameters.unlessNull {
            guard request.body.isNone else { throw HTTPRequest.secondBody(request.url) }
            request.body = .data(try encode(parameters, url: request.url, encoder: self.encoder ?? encoder))
            request.headers.fillGap(name: .contentType, value: Self.contentType)
        }
        try request.encodeBody(with: base.bodyEncoder)
        return request
    }

    private func encode(_ parameters: Parameters, url: String, encoder: any DataEncoder) throws -> Data {
        do {
            if case .encodable(let value) = parameters { return try encode(value, encoder: encoder) }
            if !allowsFragments { try refuseFragment(parameters.isContainer) }
            return try parameters.jsonValue(encoder: encoder).data(options: writingOptions)
        } catch var error as SessionError {
            error.url = url
            throw error
        } catch {
            throw SessionError(
                .serialization, message: "the parameters can't be written as JSON", url: url, underlying: error)
        }
    }

    /// Returns the body for a value that isn't part of a container.
    private func encode(_ value: any Encodable, encoder: any DataEncoder) throws -> Data {
        let coder = encoder as? JSONCoder
        let data = try coder.map { try $0.encode(value, options: writingOptions) } ?? encoder.encode(value)
        if !allowsFragments { try refuseFragment(data.first == UInt8(ascii: "{") || data.first == UInt8(ascii: "[")) }
        return data
    }

    private func refuseFragment(_ isContainer: Bool) throws(SessionError) {
        guard !isContainer else { return }
        throw SessionError(.serialization, message: "the parameters are neither an array nor a dictionary")
    }
}

extension JSONRequestSerializer: Codable {
    private enum CodingKeys: String, CodingKey {
        case base, writingOptions, allowsFragments, coder
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            base: try container.decode(HTTPRequestSerializer.self, forKey: .base),
            writingOptions: try container.decode(JSONValue.WritingOptions.self, forKey: .writingOptions),
            allowsFragments: try container.decode(Bool.self, forKey: .allowsFragments),
            encoder: try container.decodeIfPresent(JSONCoder.self, forKey: .coder))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(base, forKey: .base)
        try container.encode(writingOptions, forKey: .writingOptions)
        try container.encode(allowsFragments, forKey: .allowsFragments)
        try container.encodeIfPresent(self.encoder as? JSONCoder, forKey: .coder)
    }
}

extension JSONRequestSerializer: Hashable {
    public static func == (left: JSONRequestSerializer, right: JSONRequestSerializer) -> Bool {
        left.base == right.base && left.writingOptions == right.writingOptions
            && left.allowsFragments == right.allowsFragments && areEqual(left.encoder, right.encoder)
    }

    /// Compares encoders. An encoder that is neither a ``JSONCoder`` nor an object has no identity, so it is never
    /// equal.
    private static func areEqual(_ left: (any DataEncoder)?, _ right: (any DataEncoder)?) -> Bool {
        guard let left, let right else { return left == nil && right == nil }
        if let left = left as? JSONCoder { return left == right as? JSONCoder }
        guard type(of: left) is AnyClass, type(of: right) is AnyClass else { return false }
        return left as AnyObject === right as AnyObject
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(base)
        hasher.combine(writingOptions)
        hasher.combine(allowsFragments)
        hasher.combine(encoder as? JSONCoder)
    }
}
