/// A hint why a value can't be decoded, such as which option of ``JSONCoder`` would help. It is the underlying error of
/// a `DecodingError`: messages that omit the error's own text can add the hint, because it contains none of the data.
enum DecodingHint: Error, CustomStringConvertible {
    /// A member is missing, but the object has one with this name, which is the key in snake case.
    case snakeCase(String)
    /// A member is missing because its coding key isn't in camel case. It would be found with this key.
    case camelCase(String)
    /// The value has this kind, not the expected one.
    case kind(JSONKind)
    /// A date is expected as a number, but the value is a string. `isISO8601` is whether the string is a date of ISO
    /// 8601.
    case dateInString(isISO8601: Bool)
    /// The reason why the value isn't one of the type.
    case cause(String)

    /// The end of a sentence whose subject is the value.
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
