import SwiftAF

extension FileDigest {
    /// Reads the value of `--checksum`, `sha256:HEX` or `sha512:HEX`: the digest that a downloaded file must have to
    /// get its name.
    init(checksum text: String) throws(UsageError) {
        let parts = text.utf8.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
            .map { String(Substring($0)) }
        let digest: FileDigest? =
            switch (parts[0], parts.dropFirst().first) {
            case ("sha256", let digits?): .sha256(digits)
            case ("sha512", let digits?): .sha512(digits)
            default: nil
            }
        guard let digest, digest.fault == nil else {
            throw .invalid(
                text, of: "--checksum",
                expected: "sha256: and 64 hexadecimal digits, or sha512: and 128 hexadecimal digits")
        }
        self = digest
    }
}
