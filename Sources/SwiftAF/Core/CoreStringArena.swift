internal import CAFCore
import FoundationEssentials

/// Copies strings into memory that the caller provides for the duration of a call. The memory must have at least the
/// sum of what ``size(of:)`` returns for all of them: `put` and `append` don't check.
struct CStringArena {
    private var next: UnsafeMutablePointer<UInt8>?

    init(_ memory: UnsafeMutableBufferPointer<UInt8>) {
        next = memory.baseAddress
    }

    /// The size of a string with its final NUL.
    static func size(of text: String) -> Int {
        text.utf8.count + 1
    }

    /// The size of names and values, which have no NUL: `afc_header` has their lengths.
    static func size(of headers: HTTPHeaders) -> Int {
        var size = 0
        for field in headers.fields { size += field.name.utf8.count + field.value.utf8.count }
        for name in headers.suppressedDefaults { size += name.utf8.count }
        return size
    }

    /// Returns a NUL-terminated copy.
    mutating func put(_ text: String) -> UnsafePointer<CChar>? {
        let start = append(text).bytes
        next?.pointee = 0
        next = next.map { $0 + 1 }
        return start
    }

    /// Returns a NUL-terminated copy of bytes.
    mutating func put(_ bytes: [UInt8]) -> UnsafePointer<CChar>? {
        let start = append(bytes).bytes
        next?.pointee = 0
        next = next.map { $0 + 1 }
        return start
    }

    /// Returns a copy of bytes.
    mutating func put(_ data: Data) -> afc_slice {
        data.withUnsafeBytes { append($0) }
    }

    /// Copies the fields, followed by the names of suppressed defaults. Returns the number of headers written.
    mutating func put(_ headers: HTTPHeaders, into core: UnsafeMutableBufferPointer<afc_header>) -> Int {
        var count = 0
        for field in headers.fields {
            let name = append(field.name)
            let value = field.isLatin1 ? append(field.rawValue) : append(field.value)
            // Only fields that the program has marked: the core itself recognises the names of credentials.
            let flags = field.isMarkedSecret ? UInt32(AFC_HEADER_SECRET) : 0
            core.initializeElement(at: count, to: afc_header(name: name, value: value, flags: flags))
            count += 1
        }
        for name in headers.suppressedDefaults {
            let header = afc_header(name: append(name), value: afc_slice(), flags: UInt32(AFC_HEADER_REMOVE))
            core.initializeElement(at: count, to: header)
            count += 1
        }
        return count
    }

    /// Returns a copy without a final NUL. The text itself may contain NUL.
    mutating func append(_ text: String) -> afc_slice {
        var text = text
        return text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
    }

    mutating func append(_ bytes: [UInt8]) -> afc_slice {
        bytes.withUnsafeBytes { append($0) }
    }

    private mutating func append(_ bytes: UnsafeRawBufferPointer) -> afc_slice {
        guard let start = next else { return afc_slice() }
        if let source = bytes.baseAddress {
            UnsafeMutableRawPointer(start).copyMemory(from: source, byteCount: bytes.count)
        }
        next = start + bytes.count
        return afc_slice(UnsafeRawBufferPointer(start: start, count: bytes.count))
    }
}

extension String {
    /// The text in an array of `char` of a C struct, up to the NUL that ends it.
    static func fromCArray(_ array: some BitwiseCopyable) -> String {
        withUnsafeBytes(of: array) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}
