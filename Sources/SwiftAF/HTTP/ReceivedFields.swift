/// Received header fields in a single allocation. A field becomes a string only when it is accessed, because most
/// fields never are.
package final class ReceivedFields: @unchecked Sendable {
    // Sendable, because the memory is written before the object is shared and never modified later.
    /// The bytes of a field, which are copied.
    package typealias Source = (
        name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>
    )

    private struct Sizes {
        var name: UInt32
        var value: UInt32
    }

    let count: Int
    private let sizes: UnsafeMutablePointer<Sizes>
    private let bytes: UnsafeMutablePointer<UInt8>

    /// - Parameter field: Returns the field at a position; called twice per position. Parts longer than 4 GiB are
    ///   truncated.
    package init(count: Int, _ field: (Int) -> Source) {
        self.count = count
        var size = 0
        for index in 0..<count {
            let (name, value) = field(index)
            size += name.count + value.count
        }
        let raw = UnsafeMutableRawPointer.allocate(
            byteCount: count * MemoryLayout<Sizes>.stride + size, alignment: MemoryLayout<Sizes>.alignment)
        sizes = raw.bindMemory(to: Sizes.self, capacity: count)
        bytes = (raw + count * MemoryLayout<Sizes>.stride).bindMemory(to: UInt8.self, capacity: size)
        var next = bytes
        for index in 0..<count {
            let (name, value) = field(index)
            (sizes + index).initialize(
                to: Sizes(
                    name: UInt32(truncatingIfNeeded: name.count), value: UInt32(truncatingIfNeeded: value.count)))
            next = Self.copy(name, to: next)
            next = Self.copy(value, to: next)
        }
    }

    private static func copy(
        _ part: UnsafeBufferPointer<UInt8>, to next: UnsafeMutablePointer<UInt8>
    ) -> UnsafeMutablePointer<UInt8> {
        if let start = part.baseAddress { next.initialize(from: start, count: part.count) }
        return next + part.count
    }

    deinit {
        UnsafeMutableRawPointer(sizes).deallocate()
    }

    var fields: [HTTPHeaders.Field] {
        var fields: [HTTPHeaders.Field] = []
        fields.reserveCapacity(count)
        forEach { fields.append(HTTPHeaders.Field(name: $0, value: $1)) }
        return fields
    }

    subscript(position: Int) -> HTTPHeaders.Field {
        precondition(position >= 0 && position < count, "no field at this position")
        var start = UnsafePointer(bytes)
        for index in 0..<position { start += Int(sizes[index].name) + Int(sizes[index].value) }
        let (name, value) = parts(at: position, start)
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
            var start = UnsafePointer(bytes)
            for index in 0..<count {
                let (name, value) = parts(at: index, start)
                if ASCII.equalIgnoringCase(name, wanted), !use(value) { return }
                start += name.count + value.count
            }
        }
    }

    private func forEach(_ use: (UnsafeBufferPointer<UInt8>, UnsafeBufferPointer<UInt8>) -> Void) {
        var start = UnsafePointer(bytes)
        for index in 0..<count {
            let (name, value) = parts(at: index, start)
            use(name, value)
            start += name.count + value.count
        }
    }

    private func parts(at index: Int, _ start: UnsafePointer<UInt8>) -> Source {
        let (name, value) = (Int(sizes[index].name), Int(sizes[index].value))
        return (
            UnsafeBufferPointer(start: start, count: name), UnsafeBufferPointer(start: start + name, count: value)
        )
    }
}
