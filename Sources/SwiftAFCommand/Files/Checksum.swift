/// `--checksum sha256:HEX`: what a downloaded file must hash to before it gets its name.
struct Checksum: Sendable, Equatable {
    let digest: [UInt8]

    init(_ text: String) throws(UsageError) {
        let digits = text.hasPrefix("sha256:") ? text.dropFirst(7).compactMap(\.hexDigitValue) : []
        guard digits.count == 64, text.utf8.count == 71 else {
            throw .invalid(text, of: "--checksum", expected: "sha256: and 64 hexadecimal digits")
        }
        digest = stride(from: 0, to: 64, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}
