/// The name that a URL gives a file. Pure: works on the URL's text.
enum FileName {
    /// The last segment of the path, decoded: one component that hides nothing and leads nowhere else.
    static func of(url: String) throws(UsageError) -> String {
        guard let name = decode(lastSegment(of: url)), !name.isEmpty else {
            throw UsageError("the URL ends in no file name; -o names the file")
        }
        guard name.utf8.first != UInt8(ascii: ".") else {
            throw UsageError("'\(name.printable)' would be a hidden file; -o names the file")
        }
        guard !name.utf8.contains(UInt8(ascii: "/")),
            !name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else {
            throw UsageError("'\(name.printable)' is no file name; -o names the file")
        }
        return name
    }

    private static func lastSegment(of url: String) -> ArraySlice<UInt8> {
        let bytes = Array(url.utf8)
        var rest = bytes.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        // What stands before the first slash behind "//" is a host, and no segment.
        let slashes = rest.indices.first { rest[$0...].starts(with: "//".utf8) }
        if let slashes { rest = rest[(slashes + 2)...] }
        guard let last = rest.lastIndex(of: UInt8(ascii: "/")) else { return [] }
        return rest[(last + 1)...]
    }

    /// Nil if what comes out is not UTF-8. A percent sign that encodes nothing is one.
    private static func decode(_ segment: ArraySlice<UInt8>) -> String? {
        var bytes: [UInt8] = []
        var rest = segment
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2).compactMap(hexadecimalValue)
            if byte == UInt8(ascii: "%"), digits.count == 2 {
                bytes.append(digits[0] << 4 | digits[1])
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func hexadecimalValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}
