import SwiftAF

/// The bytes of an argument that are a secret, up to its end.
struct SecretPlace: Sendable, Equatable {
    /// The number of the argument, without the program's name.
    var argument: Int
    /// The offset of the first byte.
    var offset: Int
}

/// The part of a value that may be a secret, which is hidden from other processes.
enum SecretPart: Sendable {
    case none
    case whole
    /// The user and password of a URL.
    case userInfo
    /// The value of a header field with credentials.
    case field

    /// Returns the offset at which the secret begins; nil if there is none.
    func offset(in value: RawText) -> Int? {
        switch self {
        case .none: nil
        case .whole: 0
        case .userInfo: Self.userInfo(in: value.bytes[...])
        case .field: Self.fieldValue(in: value.bytes)
        }
    }

    private static func fieldValue(in line: [UInt8]) -> Int? {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon + 1 < line.count else { return nil }
        let name = String(decoding: line[..<colon], as: UTF8.self)
        if HTTPHeaders.Field(name: name, value: "").isSecret { return colon + 1 }
        return name.lowercased() == "referer" ? userInfo(in: line[(colon + 1)...]) : nil
    }

    /// Also finds a password with a slash, although that should be escaped.
    private static func userInfo(in url: ArraySlice<UInt8>) -> Int? {
        let at = UInt8(ascii: "@")
        guard url.contains(at) else { return nil }
        let start = ShortURL.schemeEnd(of: url) ?? url.startIndex
        return url[start...].prefix { !"?#".utf8.contains($0) }.contains(at) ? start : nil
    }
}
