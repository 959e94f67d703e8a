package import FoundationEssentials

/// Encodes parameters as a query or a form: flattening, order and escaping. By default, the result is byte for byte the
/// same as AFNetworking's, except for dates and data. Deterministic: equal parameters give equal bytes.
///
/// - A dictionary's members are sorted by key; nested keys are `parent[child]`.
/// - An array's elements keep their order; ``arrayStyle`` determines their keys.
/// - A set's elements are sorted; each has the key `parent`, without brackets.
/// - A date is RFC 3339 in UTC, such as `2024-02-29T12:00:00Z`. Data is Base64.
/// - Null is encoded as its key without `=`; empty containers are left out.
/// - At the top level, a string has an empty key (`=text`), and an array's elements have the key `(null)`.
public struct ParameterEncoder: Sendable, Hashable, Codable {
    /// The style of the keys of array elements. Servers differ; most frameworks support one or two of these.
    public enum ArrayStyle: String, Sendable, Hashable, Codable {
        /// `a[]=1&a[]=2`. The members of dictionaries in an array can't be distinguished: `a[][x]=1&a[][x]=2`.
        case brackets
        /// `a=1&a=2`
        case none
        /// `a[0]=1&a[1]=2`, which keeps the members of each dictionary together: `a[0][x]=1&a[1][x]=2`.
        case indexed
    }

    /// The encoding of booleans.
    public enum BooleanStyle: String, Sendable, Hashable, Codable {
        /// `1` and `0`
        case numeric
        /// `true` and `false`
        case literal
    }

    /// The style of the keys of array elements. Default: brackets.
    public var arrayStyle: ArrayStyle
    /// The encoding of booleans. Default: numeric.
    public var booleanStyle: BooleanStyle

    /// A `key=value` pair before escaping; without a value, only the key.
    public struct Pair: Sendable, Hashable {
        /// The flattened key; nil for values without a key.
        public let key: String?
        /// The value as it is sent in a multipart form; data as raw bytes.
        package let content: Content
        /// The value as text; nil for null.
        public var value: String? {
            switch content {
            case .null: nil
            case .text(let text): text
            case .data(let data): data.base64EncodedString()
            }
        }

        package enum Content: Sendable, Hashable {
            case null
            case text(String)
            case data(Data)
        }

        /// An estimate of the escaped size in bytes.
        fileprivate var sizeHint: Int {
            let size =
                switch content {
                case .null: 0
                case .text(let text): text.utf8.count
                case .data(let data): data.count / 3 * 4
                }
            return (key?.utf8.count ?? 0) + size + 8
        }
    }

    /// Creates an encoder. The defaults are AFNetworking's.
    public init(arrayStyle: ArrayStyle = .brackets, booleanStyle: BooleanStyle = .numeric) {
        self.arrayStyle = arrayStyle
        self.booleanStyle = booleanStyle
    }

    /// Encodes `parameters` as a query or a form; empty if there are no pairs.
    ///
    /// - Throws: The errors of an `Encodable`.
    public func encode(_ parameters: Parameters) throws -> String {
        let pairs = try pairs(parameters)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(pairs.reduce(0) { $0 + $1.sizeHint })
        for (index, pair) in pairs.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: "&")) }
            if let key = pair.key { Self.escape(key.utf8, into: &bytes) }
            guard let value = pair.value else { continue }
            bytes.append(UInt8(ascii: "="))
            Self.escape(value.utf8, into: &bytes)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the pairs in the order in which they are sent, before escaping.
    public func pairs(_ parameters: Parameters) throws -> [Pair] {
        var pairs: [Pair] = []
        try flatten(parameters, key: nil, into: &pairs)
        return pairs
    }

    /// Percent-encodes the UTF-8 bytes of everything except letters, digits and `- . _ ~ / ?`, in upper-case
    /// hexadecimal.
    public static func escape(_ text: String) -> String {
        escape(text.utf8)
    }

    /// Percent-encodes bytes, which needn't be UTF-8, like ``escape(_:)-(String)``.
    package static func escape(_ text: some Collection<UInt8>) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        escape(text, into: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func escape(_ text: some Collection<UInt8>, into bytes: inout [UInt8]) {
        for byte in text {
            if isUnescaped(byte) {
                bytes.append(byte)
            } else {
                bytes.append(UInt8(ascii: "%"))
                bytes.append(hexadecimalDigits[Int(byte >> 4)])
                bytes.append(hexadecimalDigits[Int(byte & 15)])
            }
        }
    }

    private func flatten(_ value: Parameters, key: String?, into pairs: inout [Pair]) throws {
        switch value {
        case .dictionary(let members):
            for member in members.sorted(by: { Self.precedes($0.key, $1.key) }) {
                try flatten(member.value, key: key.map { "\($0)[\(member.key)]" } ?? member.key, into: &pairs)
            }
        case .array(let elements):
            for (index, element) in elements.enumerated() {
                try flatten(element, key: elementKey(key ?? "(null)", index), into: &pairs)
            }
        case .set(let elements):
            let described = elements.map { (element: $0, text: sortText($0)) }
            for (element, _) in described.sorted(by: { Self.precedes($0.text, $1.text) }) {
                try flatten(element, key: key, into: &pairs)
            }
        case .encodable(let encodable):
            try flatten(Self.expand(encodable), key: key, into: &pairs)
        case .invalid(let error):
            throw error
        case .date(let date) where DateText.text(of: date) == nil:
            throw DateText.error(date, at: [])
        default:
            pairs.append(Pair(key: key, content: content(of: value)))
        }
    }

    private func elementKey(_ array: String, _ index: Int) -> String {
        switch arrayStyle {
        case .brackets: "\(array)[]"
        case .none: array
        case .indexed: "\(array)[\(index)]"
        }
    }

    private func content(of value: Parameters) -> Pair.Content {
        if case .data(let data) = value { return .data(data) }
        return text(of: value).map { .text($0) } ?? .null
    }

    /// Returns the text of a scalar; nil for null.
    private func text(of value: Parameters) -> String? {
        switch value {
        case .bool(let value): text(of: value)
        case .integer(let value): String(value)
        case .unsigned(let value): String(value)
        case .double(let value): Self.text(of: value)
        case .number(let value): value.text
        case .string(let value): value
        case .date(let value): DateText.text(of: value)
        case .data(let value): value.base64EncodedString()
        case .null, .array, .set, .dictionary, .encodable, .invalid: nil
        }
    }

    private func text(of value: Bool) -> String {
        switch booleanStyle {
        case .numeric: value ? "1" : "0"
        case .literal: value ? "true" : "false"
        }
    }

    /// Returns the shortest digits that parse as the same number, without a zero fraction.
    private static func text(of value: Double) -> String {
        let text = value.description
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }

    /// Returns the text that the elements of a set are sorted by.
    private func sortText(_ value: Parameters) -> String {
        text(of: value) ?? (try? encode(value)) ?? ""
    }

    private static func expand(_ value: any Encodable & Sendable) throws -> Parameters {
        Parameters(try JSONCoder(dates: .iso8601).encodeTree(value))
    }

    /// Compares by UTF-16 code units, as AFNetworking does.
    private static func precedes(_ left: String, _ right: String) -> Bool {
        left.utf16.lexicographicallyPrecedes(right.utf16)
    }

    private static let hexadecimalDigits = Array("0123456789ABCDEF".utf8)

    private static func isUnescaped(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: "/"),
            UInt8(ascii: "?"):
            true
        default: ASCII.isLetter(byte) || ASCII.isDigit(byte)
        }
    }
}
