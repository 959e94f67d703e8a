/// Makes messages about values that can't be decoded, without any of the data.
enum DecodingFailure {
    /// Returns the end of a sentence whose subject is the data.
    static func text(_ error: any Error, of type: any Any.Type) -> String {
        guard let error = error as? DecodingError else { return "can't be decoded as \(type)" }
        return "can't be decoded as \(type): \(explain(error))"
    }

    /// Explains an error by its types and its path only, because its texts may contain data.
    private static func explain(_ error: DecodingError) -> String {
        switch error {
        case .typeMismatch(let type, let context) where context.debugDescription == noCaseFound:
            "expected an object with one member, named after a case of \(type)\(place(context))"
        case .typeMismatch(let type, let context): "expected \(name(of: type))\(place(context))\(hint(context))"
        case .valueNotFound(let type, let context): "expected \(name(of: type))\(place(context)), found null"
        case .keyNotFound(let key, let context): "no member \"\(key.stringValue)\"\(place(context))\(hint(context))"
        case .dataCorrupted(let context):
            // The texts of these errors contain none of the data.
            switch context.underlyingError {
            case let error as JSONParseError: "\(error)"
            case let error as UnsafePropertyList: "\(error)"
            case let error as DecodingHint: "\(error)\(place(context))"
            default: "\(cause(context.debugDescription) ?? "not a valid value")\(place(context))"
            }
        @unknown default: "not decodable"
        }
    }

    /// The text of synthesised decoding for enums with associated values, if an object doesn't have exactly one of
    /// their cases (SE-0295).
    private static let noCaseFound = "Invalid number of keys found, expected one."

    /// Texts of Foundation that contain none of the data, and the words used instead.
    private static let harmless = [
        "Attempted to decode UUID from invalid UUID string.": "not a UUID",
        "Expected date string to be ISO8601-formatted.": "not an ISO 8601 date",
        "Invalid URL string.": "not a URL",
    ]

    /// Returns the part of a text of Swift's library or Foundation that contains no data; nil for unknown texts.
    private static func cause(_ text: String) -> String? {
        if let cause = harmless[text] { return cause }
        // Cannot initialize TYPE from invalid …
        let words = text.split(separator: " ")
        guard words.starts(with: ["Cannot", "initialize"]), let end = words.firstIndex(of: "from") else { return nil }
        return "not a case of \(words[2..<end].joined(separator: " "))"
    }

    private static func place(_ context: DecodingError.Context) -> String { jsonPlace(context.codingPath) }

    private static func hint(_ context: DecodingError.Context) -> String {
        (context.underlyingError as? DecodingHint).map { ", \($0)" } ?? ""
    }

    /// Returns the type in words. Decoders report a container as a dictionary or an array of their own type of values.
    private static func name(of type: any Any.Type) -> String {
        switch type {
        case is [String: JSONValue].Type, is [String: Any].Type: "an object"
        case is [JSONValue].Type, is [Any].Type: "an array"
        default: "\(type)"
        }
    }
}

/// Makes messages about values that can't be encoded.
enum EncodingFailure {
    /// Returns the end of a sentence whose subject is the value.
    static func text(_ error: any Error) -> String {
        guard case .invalidValue(_, let context)? = error as? EncodingError else { return "" }
        return ": \(ASCII.printable(context.debugDescription, limit: 200))\(jsonPlace(context.codingPath))"
    }
}

/// Returns the place in a document, such as " at $.users[2].name"; an empty string for the document itself.
private func jsonPlace(_ codingPath: [any CodingKey]) -> String {
    guard !codingPath.isEmpty else { return "" }
    let path = codingPath.map { $0.intValue.map { "[\($0)]" } ?? ".\($0.stringValue)" }.joined()
    return " at $\(ASCII.printable(path, limit: 200))"
}
