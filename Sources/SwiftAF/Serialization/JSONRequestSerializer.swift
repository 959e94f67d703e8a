public import FoundationEssentials

/// Writes parameters as JSON in the body; as a query for methods that have none.
///
/// Values are encoded by ``JSONCoder`` unless there is an ``encoder``.
///
/// A copy carries every setting. So does the coded form, but for the ``encoder``, which is code and nil after
/// decoding, and what ``HTTPRequestSerializer`` leaves out of ``base``. Equal serializers have the same ``encoder``.
public struct JSONRequestSerializer: RequestSerializer {
    /// Default headers, the methods without a body, and how their query is written.
    public var base: HTTPRequestSerializer

    /// How JSON is written.
    public var writingOptions: JSONValue.WritingOptions

    /// Whether a text, a number, a boolean or null may be sent by itself, as RFC 8259 allows.
    public var allowsFragments: Bool

    /// How ``Parameters/encodable(_:)`` is encoded: names of members, dates, infinities. Not used if there is an
    /// ``encoder``.
    public var coder: JSONCoder

    /// Encodes ``Parameters/encodable(_:)`` instead of ``coder``; of one that stands alone also its ``writingOptions``
    /// are the encoder's. Not to be changed once requests are made.
    public var encoder: JSONEncoder?

    private static let contentType = MediaType.json.essence

    /// Makes a serializer; what is left out is as in ``HTTPRequestSerializer``, and JSON compact.
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

    /// That of ``base``.
    public var parameterEncoder: ParameterEncoder { base.parameterEncoder }

    /// The request with the parameters as its body. Without parameters there is neither body nor Content-Type.
    ///
    /// - Throws: ``SessionError`` with code ``SessionError/Code/serialization`` if the parameters are neither an
    ///   array nor a dictionary and ``allowsFragments`` is false, or contain what JSON can't express; with
    ///   ``SessionError/Code/invalidInput`` if the request has a body already; what an `Encodable` throws, as the
    ///   error's underlying one.
    public func serialize(_ request: HTTPRequest, parameters: Parameters?) throws -> HTTPRequest {
        if base.encodesInURI(request.method) { return try base.serialize(request, parameters: parameters) }
        var request = request
        base.fillGaps(of: &request)
        if let parameters {
            guard request.body.isNone else { throw HTTPRequestSerializer.secondBody(of: request) }
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

    /// Writes a value that is all there is to send.
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
