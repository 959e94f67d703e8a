import SwiftAF

/// The cookies of the command line. Those of a jar join them for each hop (``HTTPRequest/mergesCookies``).
enum GivenCookies {
    /// Returns the values of `-b` as one value.
    static func join(_ values: [RawText]) -> RawText {
        let ends = [UInt8(ascii: ";"), UInt8(ascii: " ")]
        let trimmed = values.map { value in value.bytes.reversed().drop { ends.contains($0) }.reversed() }
        return RawText(Array(trimmed.map(Array.init).joined(separator: Array("; ".utf8))))
    }
}

extension HTTPHeaders.Field {
    /// Creates a field whose value is bytes (RFC 9110, section 5.5).
    init(name: String, value: RawText) {
        guard let text = value.text else {
            self = Array(name.utf8).withUnsafeBufferPointer { name in
                value.bytes.withUnsafeBufferPointer { HTTPHeaders.Field(name: name, value: $0) }
            }
            return
        }
        self.init(name: name, value: text)
    }
}
