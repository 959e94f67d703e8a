public import FoundationEssentials

/// The body as it is. Like AFNetworking's base serializer it gives the bytes of refused responses too, beside
/// the error.
public struct DataResponseSerializer: ValidatingResponseSerializer, Hashable, Codable {
    public typealias Output = Data

    /// Which responses are acceptable.
    public var validation: ResponseValidation

    /// Makes a serializer; at first any type with status 200 to 299 is acceptable.
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

/// The body as text, in the charset that the response names: UTF-8, UTF-16, US-ASCII, ISO-8859-1 or Windows-1252.
///
/// Without a charset it is what a byte order mark says, else UTF-8 if it is valid as such, else ISO-8859-1, HTTP's
/// historic default. A byte order mark isn't part of the text.
public struct StringResponseSerializer: ValidatingResponseSerializer, Hashable, Codable {
    public typealias Output = String

    /// Which responses are acceptable.
    public var validation: ResponseValidation

    /// Makes a serializer; at first any type with status 200 to 299 is acceptable.
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

/// The body as JSON. An empty body, or a single space, which some servers send instead, is ``JSONValue/null``.
public struct JSONResponseSerializer: ValidatingResponseSerializer, Hashable, Codable {
    public typealias Output = JSONValue

    /// Which responses are acceptable.
    public var validation: ResponseValidation

    /// Whether a text, a number, a boolean or null may be all there is, as RFC 8259 allows. At first false, as in
    /// AFNetworking: what most servers say that way is that something is wrong.
    public var allowsFragments: Bool

    /// Whether members of objects that are null are left out, at every level.
    public var removesKeysWithNullValues: Bool

    /// Whether elements of arrays that are null are left out, at every level. What is behind them moves up.
    public var removesNullsFromArrays: Bool

    /// The types that AFNetworking takes for JSON.
    public static let contentTypes: Set<String> = ["application/json", "text/json", "text/javascript"]

    /// Makes a serializer; at first the types in ``contentTypes`` with status 200 to 299 are acceptable.
    public init(
        validation: ResponseValidation = ResponseValidation(acceptableContentTypes: contentTypes),
        allowsFragments: Bool = false,
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

/// Whether a body stands for nothing at all.
package func isBlank(_ body: Data) -> Bool {
    body.isEmpty || (body.count == 1 && body.first == UInt8(ascii: " "))
}
