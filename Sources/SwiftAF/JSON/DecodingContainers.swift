/// A container for the members of an object.
///
/// Scalars are decoded without a decoder of their own, in code that isn't generic, because the runtime would look up
/// the metadata of each type. A value that can't be decoded in this way is decoded again with a decoder, which throws
/// the error.
struct MembersContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let decoder: ValueDecoder

    var codingPath: [any CodingKey] { decoder.keys }
    var allKeys: [Key] { decoder.names.compactMap { Key(stringValue: $0) } }

    func contains(_ key: Key) -> Bool { find(key) != nil }
    func decodeNil(forKey key: Key) throws -> Bool { decoder.kind(at: try member(key)) == .null }

    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
        if let member = find(key), let value = decoder.bool(at: member) { return value }
        return try child(key).decode(type)
    }

    func decode(_ type: String.Type, forKey key: Key) throws -> String {
        if let member = find(key), let value = decoder.string(at: member) { return value }
        return try child(key).decode(type)
    }

    func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
        if let member = find(key), let value = decoder.double(at: member) { return value }
        return try child(key).decode(type)
    }

    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try child(key).decode(type) }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int {
        try integer(key) ?? child(key).decode(type)
    }

    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 {
        try integer(key) ?? child(key).decode(type)
    }

    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 {
        try integer(key) ?? child(key).decode(type)
    }

    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 {
        try integer(key) ?? child(key).decode(type)
    }

    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 {
        try integer(key) ?? child(key).decode(type)
    }

    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 {
        try integer(key) ?? child(key).decode(type)
    }

    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt {
        try integer(key) ?? child(key).decode(type)
    }

    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 {
        try integer(key) ?? child(key).decode(type)
    }

    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 {
        try integer(key) ?? child(key).decode(type)
    }

    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 {
        try integer(key) ?? child(key).decode(type)
    }

    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 {
        try integer(key) ?? child(key).decode(type)
    }

    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 {
        try integer(key) ?? child(key).decode(type)
    }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try decoder.decode(type, at: member(key), key: key)
    }

    // Implemented because the default implementation looks up a member three times.

    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
        guard let member = present(key) else { return nil }
        return try decoder.bool(at: member) ?? child(key).decode(type)
    }

    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
        guard let member = present(key) else { return nil }
        return try decoder.string(at: member) ?? child(key).decode(type)
    }

    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
        guard let member = present(key) else { return nil }
        return try decoder.double(at: member) ?? child(key).decode(type)
    }

    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
        guard let member = present(key) else { return nil }
        return try decoder.integer(at: member) ?? child(key).decode(type)
    }

    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? {
        guard let member = present(key) else { return nil }
        return try decoder.integer(at: member) ?? child(key).decode(type)
    }

    func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        guard let member = present(key) else { return nil }
        return try decoder.decode(type, at: member, key: key)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        try child(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try child(key).unkeyedContainer()
    }

    func superDecoder() -> any Decoder {
        decoder.child(at: decoder.find(TreeKey.super.stringValue), key: TreeKey.super, below: decoder)
    }

    func superDecoder(forKey key: Key) -> any Decoder {
        decoder.child(at: find(key), key: key, below: decoder)
    }

    /// Returns the position of a member.
    @inline(__always)
    private func find(_ key: Key) -> Int? { decoder.find(key.stringValue) }

    /// Returns the position of a member; nil if it is missing or null.
    @inline(__always)
    private func present(_ key: Key) -> Int? {
        guard let member = find(key), decoder.kind(at: member) != .null else { return nil }
        return member
    }

    /// Returns an integer; nil if the member is missing or doesn't fit.
    @inline(__always)
    private func integer<Number: FixedWidthInteger>(_ key: Key) -> Number? {
        guard let member = find(key) else { return nil }
        return decoder.integer(at: member)
    }

    private func child(_ key: Key) throws -> ValueDecoder {
        decoder.child(at: try member(key), key: key, below: decoder)
    }

    private func member(_ key: Key) throws -> Int {
        guard let member = find(key) else { throw decoder.missing(key) }
        return member
    }
}

/// A container for the elements of an array.
struct ElementsContainer: UnkeyedDecodingContainer {
    private let elements: ValueDecoder.Elements
    /// The position of the current element.
    private var position: Int
    private(set) var currentIndex = 0

    init(_ elements: ValueDecoder.Elements) {
        self.elements = elements
        position = elements.first
    }

    var codingPath: [any CodingKey] { elements.decoder.keys }
    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex >= elements.count }

    mutating func decodeNil() throws -> Bool {
        try check(JSONValue.self)
        guard elements.decoder.kind(at: position) == .null else { return false }
        advance()
        return true
    }

    // Implemented because the default implementations of these two throw.

    mutating func decode(_ type: Int128.Type) throws -> Int128 { try decodeElement(type) }
    mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try decodeElement(type) }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try decodeElement(type) }

    private mutating func decodeElement<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try check(type)
        let value = try elements.decoder.decode(type, at: position, index: currentIndex)
        advance()
        return value
    }

    mutating func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        let container = try current([String: JSONValue].self).container(keyedBy: type)
        advance()
        return container
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        let container = try current([JSONValue].self).unkeyedContainer()
        advance()
        return container
    }

    mutating func superDecoder() throws -> any Decoder {
        let decoder = try current(JSONValue.self)
        advance()
        return decoder
    }

    private mutating func advance() {
        position = elements.decoder.element(after: position)
        currentIndex += 1
    }

    private func current(_ type: any Any.Type) throws -> ValueDecoder {
        try check(type)
        return elements.decoder.child(at: position, index: currentIndex)
    }

    private func check(_ type: any Any.Type) throws {
        guard isAtEnd else { return }
        let context = DecodingError.Context(
            codingPath: codingPath + [TreeKey(intValue: currentIndex)], debugDescription: "the array has ended")
        throw DecodingError.valueNotFound(type, context)
    }
}

/// An array whose elements are decoded in a loop of this module. The result is the same as that of `Array.init(from:)`,
/// which is slower because it grows the array several times and calls the container as an existential (measured by the
/// row `json_64` of `Benchmarks/run`).
protocol ElementwiseDecodable {
    /// Decodes the elements.
    ///
    /// - Parameter type: `Self`, as the generic parameter of the caller.
    static func decode<Value>(_ type: Value.Type, from elements: ValueDecoder.Elements) throws -> Value
}

extension Array: ElementwiseDecodable where Element: Decodable {
    static func decode<Value>(_ type: Value.Type, from elements: ValueDecoder.Elements) throws -> Value {
        var array: [Element] = []
        // At most 64 KiB are reserved, because a hostile text could have many short elements for a large type.
        array.reserveCapacity(Swift.min(elements.count, 65_536 / MemoryLayout<Element>.stride))
        var container = ElementsContainer(elements)
        while !container.isAtEnd { array.append(try container.decode(Element.self)) }
        return unsafeBitCast(array, to: type)
    }
}
