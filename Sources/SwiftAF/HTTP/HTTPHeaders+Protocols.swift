import FoundationEssentials

extension HTTPHeaders: RandomAccessCollection {
    public var startIndex: Int { 0 }
    public var endIndex: Int { fieldCount }

    /// The field at an index from 0 to `count - 1`.
    public subscript(position: Int) -> Field { field(at: position) }

    public func makeIterator() -> IndexingIterator<[Field]> { fields.makeIterator() }
}

extension HTTPHeaders: ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral {
    /// `["Accept": "text/html", "Accept": "text/plain", "If-None-Match": tag]`: in order, repeats kept. A field whose
    /// value is nil is omitted, as if it weren't written: the manager's field or the default is then sent.
    public init(dictionaryLiteral elements: (String, String?)...) {
        // Iterates by index, so that an empty literal, the default of most calls, allocates nothing
        // (RequestAllocationTests).
        var fields: [Field] = []
        fields.reserveCapacity(elements.count)
        for index in elements.indices {
            if let value = elements[index].1 { fields.append(Field(name: elements[index].0, value: value)) }
        }
        self.init(fields)
    }

    /// `[("Accept", "text/html"), ("Accept", "text/plain")]`: in order, repeats kept.
    public init(arrayLiteral elements: (String, String)...) {
        self.init(elements)
    }
}

extension HTTPHeaders: Hashable {
    /// Equal fields in the same order and equal suppressed defaults; names are case-insensitive.
    // Not inlined, because several comparisons call it.
    @inline(never)
    public static func == (left: HTTPHeaders, right: HTTPHeaders) -> Bool {
        left.fields == right.fields
            && left.suppressedDefaults.elementsEqual(right.suppressedDefaults, by: ASCII.equalIgnoringCase)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(fields)
        hasher.combine(suppressedDefaults.count)
    }
}

extension HTTPHeaders.Field: Hashable {
    public static func == (left: HTTPHeaders.Field, right: HTTPHeaders.Field) -> Bool {
        left.isNamed(right.name) && left.value == right.value && left.isMarkedSecret == right.isMarkedSecret
    }

    public func hash(into hasher: inout Hasher) {
        for byte in name.utf8 { hasher.combine(ASCII.lowercased(byte)) }
        hasher.combine(value)
    }
}

/// Encoded as an array of fields, including secrets: protect what you store.
extension HTTPHeaders: Codable {
    private enum CodingKeys: String, CodingKey {
        case fields, suppressedDefaults
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(try container.decode([Field].self, forKey: .fields))
        for name in try container.decodeIfPresent([String].self, forKey: .suppressedDefaults) ?? [] {
            suppressDefault(name)
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(fields, forKey: .fields)
        if !suppressedDefaults.isEmpty {
            try container.encode(suppressedDefaults, forKey: .suppressedDefaults)
        }
    }
}

extension HTTPHeaders.Field: Codable {
    private enum CodingKeys: String, CodingKey {
        case name, value, isSecret, isLatin1
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            name: try container.decode(String.self, forKey: .name),
            value: try container.decode(String.self, forKey: .value),
            isSecret: try container.decodeIfPresent(Bool.self, forKey: .isSecret) ?? false,
            isLatin1: try container.decodeIfPresent(Bool.self, forKey: .isLatin1) ?? false)
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encode(value, forKey: .value)
        if isMarkedSecret {
            try container.encode(true, forKey: .isSecret)
        }
        // Encoded, so that a value that was received in ISO-8859-1 isn't sent in UTF-8 after it was decoded.
        if isLatin1 {
            try container.encode(true, forKey: .isLatin1)
        }
    }
}

extension HTTPHeaders.Field: CustomStringConvertible {
    /// `Name: value`, or `Name: <hidden>` for a secret.
    public var description: String {
        "\(name): \(isSecret ? Redaction.placeholder : value)"
    }
}

extension HTTPHeaders: CustomStringConvertible, CustomDebugStringConvertible {
    /// One line per field, with secrets hidden.
    public var description: String {
        fields.map(\.description).joined(separator: "\n")
    }

    public var debugDescription: String { description }

    /// One line per field with every value, including secrets.
    public var fullDescription: String {
        fields.map { "\($0.name): \($0.value)" }.joined(separator: "\n")
    }
}

/// Replaces the default mirror, which would show secrets in `dump` and in test failures.
extension HTTPHeaders.Field: CustomReflectable {
    public var customMirror: Mirror {
        Mirror(self, children: ["name": name, "value": isSecret ? Redaction.placeholder : value])
    }
}
