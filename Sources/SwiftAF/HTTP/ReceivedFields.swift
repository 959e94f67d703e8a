/// Received header fields in a single allocation. A field becomes a string only when it is accessed, because most
/// fields never are.
package final class ReceivedFields: @unchecked Sendable {
    // Sendable, because the memory is written before the object is shared and never modified later.
    /// The bytes of a field, which are copied.
    package typealias Source = (
        name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>
    )

    /// The offsets of the ends of a field's name and value in the bytes. A field begins where the previous one ends.
    private struct Ends {
        var name: UInt32
        var value: UInt32
    }

    let count: Int
    private let ends: UnsafeMutablePointer<Ends>
    private let bytes: UnsafeMutablePointer<UInt8>

    /// - Parameter field: Returns the field at a position; called twice per position. If all fields together exceed 4
    ///   GiB, the rest is cut off.
    package init(count: Int, _ field: (Int) -> Source) {
        self.count = count
        var size = 0
        for index in 0..<count {
            let (name, value) = field(index)
            size += name.count + value.count
        }
        let raw = UnsafeMutableRawPointer.allocate(
            byteCount: count * MemoryLayout<Ends>.stride + size, alignment: MemoryLayout<Ends>.alignment)
        ends = raw.bindMemory(to: Ends.self, capacity: count)
        bytes = (raw + count * MemoryLayout<Ends>.stride).bindMemory(to: UInt8.self, capacity: size)
        var end: UInt32 = 0
        for index in 0..<count {
            let (name, value) = field(index)
            let middle = Self.copy(name, to: bytes, from: end)
            end = Self.copy(value, to: bytes, from: middle)
            (ends + index).initialize(to: Ends(name: middle, value: end))
        }
    }

    /// Copies a name or a value, and returns the offset of its end.
    private static func copy(
        _ part: UnsafeBufferPointer<UInt8>, to bytes: UnsafeMutablePointer<UInt8>, from offset: UInt32
    ) -> UInt32 {
        let size = UInt32(clamping: min(part.count, Int(UInt32.max - offset)))
        if let start = part.baseAddress { (bytes + Int(offset)).initialize(from: start, count: Int(size)) }
        return offset + size
    }

    deinit {
        UnsafeMutableRawPointer(ends).deallocate()
    }

    var fields: [HTTPHeaders.Field] {
        var fields: [HTTPHeaders.Field] = []
        fields.reserveCapacity(count)
        forEach { fields.append(HTTPHeaders.Field(name: $0, value: $1)) }
        return fields
    }

    subscript(position: Int) -> HTTPHeaders.Field {
        precondition(position >= 0 && position < count, "no field at this position")
        let (name, value) = parts(at: position)
        return HTTPHeaders.Field(name: name, value: value)
    }

    func values(named name: String) -> [String] {
        var values: [String] = []
        withValues(of: name) { value in
            values.append(HTTPHeaders.Field.text(of: value).text)
            return true
        }
        return values
    }

    func firstValue(of name: String) -> (value: String, isOnly: Bool)? {
        var first: String?
        var isOnly = true
        withValues(of: name) { value in
            guard first == nil else {
                isOnly = false
                return false
            }
            first = HTTPHeaders.Field.text(of: value).text
            return true
        }
        return first.map { ($0, isOnly) }
    }

    func contains(_ name: String) -> Bool {
        var isThere = false
        withValues(of: name) { _ in
            isThere = true
            return false
        }
        return isThere
    }

    private func withValues(of name: String, _ use: (UnsafeBufferPointer<UInt8>) -> Bool) {
        var name = name
        name.withUTF8 { wanted in
            for index in 0..<count {
                let (name, value) = parts(at: index)
                if ASCII.equalIgnoringCase(name, wanted), !use(value) { return }
            }
        }
    }

    private func forEach(_ use: (UnsafeBufferPointer<UInt8>, UnsafeBufferPointer<UInt8>) -> Void) {
        for index in 0..<count {
            let (name, value) = parts(at: index)
            use(name, value)
        }
    }

    private func parts(at index: Int) -> Source {
        let start = index == 0 ? 0 : Int(ends[index - 1].value)
        let (middle, end) = (Int(ends[index].name), Int(ends[index].value))
        return (
            UnsafeBufferPointer(start: bytes + start, count: middle - start),
            UnsafeBufferPointer(start: bytes + middle, count: end - middle)
        )
    }
}
