public import FoundationEssentials

extension JSONValue {
    /// The format of written JSON. Without options: compact, members in their order, and `/` escaped as `\/`, which is
    /// safe within HTML and the default of Foundation.
    public struct WritingOptions: OptionSet, Sendable, Hashable, Codable {
        public let rawValue: Int

        public init(rawValue: Int) {
            self.rawValue = rawValue
        }

        /// One member or element per line, indented by two spaces.
        public static let prettyPrinted = WritingOptions(rawValue: 1)
        /// Sorts members by key, byte by byte.
        public static let sortedKeys = WritingOptions(rawValue: 2)
        /// Doesn't escape `/`.
        public static let withoutEscapingSlashes = WritingOptions(rawValue: 4)
    }

    /// The reason why a value can't be written.
    public enum WritingError: Error, Sendable, Hashable, CustomStringConvertible {
        /// The value contains NaN or an infinity, which JSON can't express.
        case nonFiniteNumber
        /// Arrays and objects are nested more deeply than ``JSONValue/maximumDepth``.
        case tooDeep

        public var description: String {
            switch self {
            case .nonFiniteNumber: "a number is NaN or infinite, which JSON can't express"
            case .tooDeep: "arrays and objects are nested more than \(JSONValue.maximumDepth) deep"
            }
        }
    }

    /// The maximum nesting of arrays and objects for reading and writing: 512.
    public static let maximumDepth = 512

    /// Returns the value as JSON text in UTF-8.
    public func data(options: WritingOptions = []) throws(WritingError) -> Data {
        var writer = JSONWriter(options: options)
        try writer.write(self)
        return Data(writer.bytes)
    }

    /// Returns the value as JSON text.
    public func text(options: WritingOptions = []) throws(WritingError) -> String {
        var writer = JSONWriter(options: options)
        try writer.write(self)
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}

/// Writes values as JSON text by RFC 8259.
struct JSONWriter {
    private(set) var bytes: [UInt8] = []
    private let options: JSONValue.WritingOptions
    private let replacesNonFinite: Bool
    private var depth = 0

    init(options: JSONValue.WritingOptions, replacesNonFinite: Bool = false) {
        self.options = options
        self.replacesNonFinite = replacesNonFinite
        // Enough for most requests.
        bytes.reserveCapacity(256)
    }

    mutating func write(_ value: JSONValue) throws(JSONValue.WritingError) {
        switch value {
        case .null: bytes += "null".utf8
        case .bool(let value): bytes += (value ? "true" : "false").utf8
        case .number(let value): try write(value)
        case .string(let value): write(value)
        case .array(let elements): try write(elements)
        case .object(let object): try write(object)
        }
    }

    private mutating func write(_ number: JSONNumber) throws(JSONValue.WritingError) {
        switch number.storage {
        case .digits(let digits): digits.append(to: &bytes)
        case .text(let text): bytes += text.utf8
        case .binary(let value) where value.isFinite: bytes += value.description.utf8
        case .binary:
            guard replacesNonFinite else { throw .nonFiniteNumber }
            bytes += "null".utf8
        }
    }

    private mutating func write(_ elements: [JSONValue]) throws(JSONValue.WritingError) {
        try open("[")
        for (index, element) in elements.enumerated() {
            separate(isFirst: index == 0)
            try write(element)
        }
        close("]", isEmpty: elements.isEmpty)
    }

    private mutating func write(_ object: JSONObject) throws(JSONValue.WritingError) {
        try open("{")
        if options.contains(.sortedKeys) {
            let keys = object.keys
            let order = keys.indices.sorted { keys[$0].utf8.lexicographicallyPrecedes(keys[$1].utf8) }
            for (index, position) in order.enumerated() {
                try write(keys[position], object[position].value, isFirst: index == 0)
            }
        } else {
            for (index, member) in object.enumerated() { try write(member.key, member.value, isFirst: index == 0) }
        }
        close("}", isEmpty: object.isEmpty)
    }

    private mutating func write(
        _ key: String, _ value: JSONValue, isFirst: Bool
    ) throws(JSONValue.WritingError) {
        separate(isFirst: isFirst)
        write(key)
        bytes += (options.contains(.prettyPrinted) ? ": " : ":").utf8
        try write(value)
    }

    private mutating func open(_ bracket: Unicode.Scalar) throws(JSONValue.WritingError) {
        guard depth < JSONValue.maximumDepth else { throw .tooDeep }
        depth += 1
        bytes.append(UInt8(ascii: bracket))
    }

    private mutating func close(_ bracket: Unicode.Scalar, isEmpty: Bool) {
        depth -= 1
        if !isEmpty { breakLine() }
        bytes.append(UInt8(ascii: bracket))
    }

    private mutating func separate(isFirst: Bool) {
        if !isFirst { bytes.append(UInt8(ascii: ",")) }
        breakLine()
    }

    private mutating func breakLine() {
        guard options.contains(.prettyPrinted) else { return }
        bytes.append(UInt8(ascii: "\n"))
        bytes.append(contentsOf: repeatElement(UInt8(ascii: " "), count: depth * 2))
    }

    private mutating func write(_ text: String) {
        var text = text
        bytes.append(UInt8(ascii: "\""))
        text.withUTF8 { utf8 in
            var start = 0
            for (index, byte) in utf8.enumerated() where needsEscape(byte) {
                bytes.append(contentsOf: utf8[start..<index])
                escape(byte)
                start = index + 1
            }
            bytes.append(contentsOf: utf8[start...])
        }
        bytes.append(UInt8(ascii: "\""))
    }

    @inline(__always)
    private func needsEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
            || (byte == UInt8(ascii: "/") && !options.contains(.withoutEscapingSlashes))
    }

    private mutating func escape(_ byte: UInt8) {
        bytes.append(UInt8(ascii: "\\"))
        switch byte {
        case 0x08: bytes.append(UInt8(ascii: "b"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        case 0x0A: bytes.append(UInt8(ascii: "n"))
        case 0x0C: bytes.append(UInt8(ascii: "f"))
        case 0x0D: bytes.append(UInt8(ascii: "r"))
        case 0x00..<0x20:
            bytes += "u00".utf8
            bytes.append(UInt8(ascii: "0") + byte >> 4)
            bytes.append(contentsOf: String(byte & 15, radix: 16).utf8)
        default: bytes.append(byte)
        }
    }
}
