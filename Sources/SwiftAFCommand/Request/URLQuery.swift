import SwiftAF

/// What the command line does to URLs, on their text: splitting a URL that is wrong must not change it.
enum URLQuery {
    /// The URL with query items behind those it has, before the fragment.
    static func append(_ items: [(name: String, value: String)], to url: String) -> String {
        guard !items.isEmpty else { return url }
        let end = url.utf8.firstIndex(of: UInt8(ascii: "#")) ?? url.endIndex
        let address = url[..<end]
        let query =
            items
            .map { "\(ParameterEncoder.escape($0.name))=\(ParameterEncoder.escape($0.value))" }
            .joined(separator: "&")
        return "\(address)\(separator(after: address))\(query)\(url[end...])"
    }

    private static func separator(after address: Substring) -> String {
        guard address.utf8.contains(UInt8(ascii: "?")) else { return "?" }
        let last = address.utf8.last
        return last == UInt8(ascii: "?") || last == UInt8(ascii: "&") ? "" : "&"
    }

    /// The URL without what stands before the `@` of its authority, for output.
    static func withoutUserInfo(_ url: String) -> String {
        let bytes = Array(url.utf8)
        guard let slashes = firstRange(of: Array("//".utf8), in: bytes) else { return url }
        let start = slashes + 2
        let end = bytes[start...].firstIndex { "/?#".utf8.contains($0) } ?? bytes.endIndex
        guard let at = bytes[start..<end].lastIndex(of: UInt8(ascii: "@")) else { return url }
        return String(decoding: bytes[..<start] + bytes[(at + 1)...], as: UTF8.self)
    }

    private static func firstRange(of pattern: [UInt8], in bytes: [UInt8]) -> Int? {
        bytes.indices.first { bytes[$0...].starts(with: pattern) }
    }
}
