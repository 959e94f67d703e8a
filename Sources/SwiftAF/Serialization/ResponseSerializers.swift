public import FoundationEssentials

/// Returns the body unchanged. Like AFNetworking's base serializer, also returns the body of unacceptable responses, in
/// addition to the error.
public struct DataResponseSerializer: ValidatingResponseSerializer, Hashable, Codable {
    /// The body.
    public typealias Output = Data

    /// The responses that are acceptable.
    public var validation: ResponseValidation

    /// Creates a serializer. By default, any content type with status 200 to 299 is acceptable.
    public init(validation: ResponseValidation = .default) {
        self.validation = validation
    }

    public func parse(_ body: Data, of response: HTTPResponse) -> Data {
        body
    }

    public func result(for response: HTTPResponse, body: Data) -> SerializedResult<Data> {
        SerializedResult(value: body, error: validation.validate(response, body: body).error)
    }
}

/// Decodes the body as text in the response's charset: UTF-8, UTF-16, US-ASCII, or one of the other charsets of the
/// [WHATWG encoding standard](https://encoding.spec.whatwg.org/#names-and-labels) that the C library converts, such as
/// ISO-8859-1 to 16, Windows-1250 to 1258, KOI8-R, GB 18030, Big5, EUC-JP, Shift_JIS and EUC-KR.
///
/// Without a charset, the body is decoded by its byte order mark; else as UTF-8 if valid; else as ISO-8859-1, HTTP's
/// historic default. A byte order mark isn't part of the text.
public struct StringResponseSerializer: ValidatingResponseSerializer, Hashable, Codable {
    /// The text of the body.
    public typealias Output = String

    /// The responses that are acceptable.
    public var validation: ResponseValidation

    /// Creates a serializer. By default, any content type with status 200 to 299 is acceptable.
    public init(validation: ResponseValidation = .default) {
        self.validation = validation
    }

    public func parse(_ body: Data, of response: HTTPResponse) throws -> String {
        guard let label = response.mediaType?.charset else { return Charset.guess(body) }
        guard let charset = Charset(label: label) else {
            let name = ASCII.printable(label, limit: 40)
            throw SessionError(.serialization, message: "the charset of the response is not supported: \(name)")
        }
        guard let text = charset.decode(body) else {
            throw SessionError(.serialization, message: "the body is not valid \(label)")
        }
        return text
    }
}

/// Parses the body as JSON. An empty body, or a single space, which some servers send instead, is ``JSONValue/null``.
public struct JSONResponseSerializer: ValidatingResponseSerializer, Hashable, Codable {
    /// The JSON document.
    public typealias Output = JSONValue

    /// The responses that are acceptable.
    public var validation: ResponseValidation

    /// Whether the top level may be a string, a number, a boolean or null, as RFC 8259 allows. Default: true; false is
    /// AFNetworking's default.
    public var allowsFragments: Bool

    /// Whether to remove null members from objects, at every level.
    public var removesKeysWithNullValues: Bool

    /// Whether to remove null elements from arrays, at every level. Later elements move up.
    public var removesNullsFromArrays: Bool

    /// The content types that AFNetworking accepts as JSON.
    public static let contentTypes: Set<String> = ["application/json", "text/json", "text/javascript"]

    /// Creates a serializer. By default, ``contentTypes`` with status 200 to 299 are acceptable.
    public init(
        validation: ResponseValidation = ResponseValidation(acceptableContentTypes: contentTypes),
        allowsFragments: Bool = true,
        removesKeysWithNullValues: Bool = false,
        removesNullsFromArrays: Bool = false
    ) {
        self.validation = validation
        self.allowsFragments = allowsFragments
        self.removesKeysWithNullValues = removesKeysWithNullValues
        self.removesNullsFromArrays = removesNullsFromArrays
    }

    public func parse(_ body: Data, of response: HTTPResponse) throws -> JSONValue {
        guard !isBlank(body) else { return .null }
        let value = try JSONValue(parsing: body)
        switch value {
        case .array, .object: break
        default:
            guard allowsFragments else {
                throw SessionError(.serialization, message: "the JSON text is neither an array nor an object")
            }
        }
        guard removesKeysWithNullValues || removesNullsFromArrays else { return value }
        return value.removingNulls(fromObjects: removesKeysWithNullValues, fromArrays: removesNullsFromArrays)
    }
}

/// Whether a body is empty or a single space.
package func isBlank(_ body: Data) -> Bool {
    body.isEmpty || (body.count == 1 && body.first == UInt8(ascii: " "))
}
