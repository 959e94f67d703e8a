public import FoundationEssentials

/// Encodes parameters as JSON in the body, or as a query for methods without a body.
///
/// Values are encoded by ``JSONCoder``, unless an ``encoder`` is set.
///
/// Copies include every setting. The encoded form leaves out the ``encoder``, which is nil after decoding, and the
/// properties of ``base`` that ``HTTPRequestSerializer`` leaves out. Equal serializers have the same ``encoder``.
public struct JSONRequestSerializer: RequestSerializer {
    /// The methods without a body, and the encoding of their query.
    public var base: HTTPRequestSerializer

    /// The format of the JSON text.
    public var writingOptions: JSONValue.WritingOptions

    /// Whether a string, a number, a boolean or null may be sent at the top level, as RFC 8259 allows.
    public var allowsFragments: Bool

    /// The encoding of ``Parameters/encodable(_:)``: names of members, dates, infinities. Ignored if there is an
    /// ``encoder``.
    public var coder: JSONCoder

    /// Encodes ``Parameters/encodable(_:)`` instead of ``coder``. If such a value is the whole body, the encoder's
    /// formatting is used instead of ``writingOptions``. Don't modify it once requests have been made. Default: nil.
    public var encoder: JSONEncoder?

    private static let contentType = MediaType.json.essence

    /// Makes a serializer. The defaults are those of ``HTTPRequestSerializer``, and compact JSON.
    public init(
        base: HTTPRequestSerializer = HTTPRequestSerializer(),
        writingOptions: JSONValue.WritingOptions = [],
        allowsFragments: Bool = false,
        coder: JSONCoder = JSONCoder(),
        encoder: JSONEncoder? = nil
    ) {
        self.base = base
        self.writingOptions = writingOptions
        self.allowsFragments = allowsFragments
        self.coder = coder
        self.encoder = encoder
    }

    /// The parameter encoder of ``base``.
    public var parameterEncoder: ParameterEncoder { base.parameterEncoder }

    /// Returns the request with the parameters as its body. Without parameters it gets neither a body nor a
    /// Content-Type.
    ///
    /// - Throws: ``SessionError/Code/serialization`` if the parameters are neither an array nor a dictionary and
    ///   ``allowsFragments`` is false, or contain a value that JSON can't express; ``SessionError/Code/invalidInput``
    ///   if the request already has a body. An error of an `Encodable` is the ``SessionError/underlying`` one.
    public func serialize(_ request: HTTPRequest, parameters: Parameters?) throws -> HTTPRequest {
        if base.encodesInURI(request.method) { return try base.serialize(request, parameters: parameters) }
        var request = request
        base.fillGaps(of: &request)
        if let parameters {
            guard request.body.isNone else { throw HTTPRequest.secondBody(request.url) }
            request.body = .data(try encode(parameters, url: request.url))
            request.headers.fillGap(name: HTTPHeaders.Name.contentType, value: Self.contentType)
        }
        try request.encodeBody(with: base.bodyEncoder)
        return request
    }

    private func encode(_ parameters: Parameters, url: String) throws -> Data {
        do {
            if case .encodable(let value) = parameters { return try encode(value) }
            if !allowsFragments { try refuseFragment(parameters.isContainer) }
            return try parameters.jsonValue { try encodeTree($0) }.data(options: writingOptions)
        } catch var error as SessionError {
            error.url = url
            throw error
        } catch {
            throw SessionError(
                .serialization, message: "the parameters can't be written as JSON", url: url, underlying: error)
        }
    }

    /// Encodes a value that is the whole body.
    private func encode(_ value: any Encodable) throws -> Data {
        let data = try encoder.map { try $0.encode(value) } ?? coder.encode(value, options: writingOptions)
        if !allowsFragments { try refuseFragment(data.first == UInt8(ascii: "{") || data.first == UInt8(ascii: "[")) }
        return data
    }

    private func encodeTree(_ value: any Encodable) throws -> JSONValue {
        guard let encoder else { return try coder.encodeTree(value) }
        return try JSONValue(parsing: encoder.encode(value))
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
}

extension JSONRequestSerializer: Hashable {
    public static func == (left: JSONRequestSerializer, right: JSONRequestSerializer) -> Bool {
        left.base == right.base && left.writingOptions == right.writingOptions
            && left.allowsFragments == right.allowsFragments && left.coder == right.coder
            && left.encoder === right.encoder
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(base)
        hasher.combine(writingOptions)
        hasher.combine(allowsFragments)
        hasher.combine(coder)
    }
}
