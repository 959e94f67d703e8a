/// What would probably help to decode a value. It is the underlying error of a `DecodingError`, so that messages which
/// leave out the error's own text can add it. It contains none of the data.
enum DecodingHint: Error, CustomStringConvertible {
    /// A member is missing, but the object has this name, which is the key in snake case.
    case snakeCase(String)
    /// A member is missing, because its key isn't in camel case, as it would be found with this name.
    case camelCase(String)
    /// The value has this kind.
    case kind(JSONKind)
    /// A date is expected as a number, and is a string. Whether the string is a date of ISO 8601.
    case dateInString(isISO8601: Bool)
    /// Why the value isn't one of the type.
    case cause(String)

    /// The end of a sentence about the error.
    var description: String {
        switch self {
        case .snakeCase(let name): "but \"\(name)\", which JSONCoder(keys: .snakeCase) finds"
        case .camelCase(let name):
            "because JSONCoder(keys: .snakeCase) converts names to camel case: name the key \"\(name)\", "
                + "or leave the option out"
        case .kind(let kind): "found \(kind.rawValue)"
        case .dateInString(isISO8601: true): "found a date in a string, which JSONCoder(dates: .iso8601) decodes"
        case .dateInString(isISO8601: false): "found a string that isn't an ISO 8601 date"
        case .cause(let text): text
        }
    }
}
