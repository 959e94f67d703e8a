import FoundationEssentials

extension DataDecoder {
    /// Decodes bytes that a server has sent. Foundation's decoder of property lists is recursive and copies referenced
    /// objects, so a few hundred kilobytes could exhaust the stack and crash the process. This function throws for such
    /// a list instead.
    func decodeReceived<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
        if self is PropertyListDecoder, !isHarmlessPropertyList(data) {
            let error = UnsafePropertyList()
            throw DecodingError.dataCorrupted(
                .init(codingPath: [], debugDescription: "\(error)", underlyingError: error))
        }
        return try decode(type, from: data)
    }
}

/// The error of a property list that isn't passed to Foundation's decoder.
struct UnsafePropertyList: Error, CustomStringConvertible {
    var description: String {
        """
        the property list isn't XML in UTF-8 or a binary list of plain values, is nested more than \
        \(BinaryPropertyList.maximumDepth) levels deep, or would take much more memory than its size
        """
    }
}

private func isHarmlessPropertyList(_ data: Data) -> Bool {
    if BinaryPropertyList.isBinary(data) { return BinaryPropertyList.isHarmless(data) }
    return data.withUnsafeBytes { bytes in
        var tags = XMLTags(bytes)
        return tags.areNested(atMost: BinaryPropertyList.maximumDepth + 1)
    }
}

/// Finds the tags of an XML property list by the rules of Foundation's decoder. Parts that the decoder skips are
/// skipped; for text that it refuses, the result doesn't matter.
private struct XMLTags {
    private var rest: Slice<UnsafeRawBufferPointer>

    init(_ bytes: UnsafeRawBufferPointer) {
        rest = bytes[...]
    }

    /// Returns whether elements are nested at most to this depth. False for text that isn't UTF-8; other encodings of
    /// XML are recognised by their NUL bytes or first byte.
    mutating func areNested(atMost maximumDepth: Int) -> Bool {
        guard !rest.contains(0), rest.first.map({ $0 < 0xFE }) ?? true else { return false }
        var depth = 0
        while skip(through: "<") {
            if rest.starts(with: "!--".utf8) {
                rest = rest.dropFirst(3)
                guard skip(through: "-->") else { return true }
            } else if rest.starts(with: "![CDATA[".utf8) {
                guard skip(through: "]]>") else { return true }
            } else if rest.first == UInt8(ascii: "?") {
                rest = rest.dropFirst()
                // `<?>` is invalid everywhere. Foundation reads it as a whole instruction inside a list, but as the
                // start of one at the top level, so it is refused.
                if rest.first == UInt8(ascii: ">") { return false }
                guard skip(through: "?>") else { return true }
            } else {
                let first = rest.first
                let start = rest
                guard skip(through: ">") else { return true }
                let isEmpty = start[..<rest.startIndex].dropLast().last == UInt8(ascii: "/")
                if first == UInt8(ascii: "/") {
                    depth -= 1
                } else if first != UInt8(ascii: "!"), !isEmpty {
                    depth += 1
                    guard depth <= maximumDepth else { return false }
                }
            }
        }
        return true
    }

    /// Moves past the next occurrence of a text. Returns false if the rest doesn't contain the text.
    private mutating func skip(through text: StaticString) -> Bool {
        let text = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        while let place = rest.firstIndex(of: text[0]) {
            rest = rest[place...]
            if rest.starts(with: text) {
                rest = rest.dropFirst(text.count)
                return true
            }
            rest = rest.dropFirst()
        }
        rest = rest[rest.endIndex...]
        return false
    }
}
