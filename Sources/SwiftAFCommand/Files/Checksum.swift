import SwiftAF

extension FileDigest {
    /// Reads the value of `--checksum`, `sha256:HEX`: the digest that a downloaded file must have to get its name.
    init(checksum text: String) throws(UsageError) {
        let prefix = "sha256:"
        let digest = FileDigest.sha256(text.dropFirst(prefix.count))
        guard text.hasPrefix(prefix), digest.fault == nil else {
            throw .invalid(text, of: "--checksum", expected: "sha256: and 64 hexadecimal digits")
        }
        self = digest
    }
}
