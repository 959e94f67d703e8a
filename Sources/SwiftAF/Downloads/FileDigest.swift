import FoundationEssentials

/// The digest that a downloaded file must have, as programs such as `sha256sum` print it:
/// ``DownloadDestination/verified(by:)``.
///
/// A text that isn't such a digest fails the download with ``SessionError/Code/invalidInput``, and nothing is sent.
public struct FileDigest: Hashable, Sendable {
    private enum Algorithm: Hashable, Sendable {
        case sha256, sha512

        var name: String {
            switch self {
            case .sha256: "sha-256"
            case .sha512: "sha-512"
            }
        }

        var digitCount: Int {
            switch self {
            case .sha256: 64
            case .sha512: 128
            }
        }
    }

    private let algorithm: Algorithm
    /// In lower case; not checked yet.
    private let digits: String

    private init(_ algorithm: Algorithm, _ digits: some StringProtocol) {
        self.algorithm = algorithm
        self.digits = ASCII.lowercased(digits)
    }

    /// A SHA-256 digest of 64 hexadecimal digits, in lower or upper case.
    public static func sha256(_ digits: some StringProtocol) -> FileDigest {
        FileDigest(.sha256, digits)
    }

    /// A SHA-512 digest of 128 hexadecimal digits, in lower or upper case.
    public static func sha512(_ digits: some StringProtocol) -> FileDigest {
        FileDigest(.sha512, digits)
    }

    /// What is wrong with the digits; nil if nothing is.
    package var fault: String? {
        guard bytes == nil else { return nil }
        let shown = ASCII.printable(digits, limit: algorithm.digitCount)
        return "invalid \(algorithm.name) digest \"\(shown)\": expected \(algorithm.digitCount) hexadecimal digits"
    }

    /// The digest as the core expects it.
    var coreText: String { "\(algorithm.name)=\(Data(bytes ?? []).base64EncodedString())" }

    /// The bytes that the digits stand for; nil if they are invalid.
    private var bytes: [UInt8]? {
        let digits = digits.utf8.compactMap { Character(UnicodeScalar($0)).hexDigitValue.map(UInt8.init) }
        guard digits.count == algorithm.digitCount, digits.count == self.digits.utf8.count else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    /// The error of a file with another digest, which names both. The core's texts have no room for two of SHA-512.
    func complete(_ error: SessionError) -> SessionError {
        guard error.reason == .digest, !error.message.contains(digits) else { return error }
        var error = error
        error.message += ", expected \(digits)"
        return error
    }
}

extension FileDigest: CustomStringConvertible {
    /// The algorithm and the digits in lower case, such as `sha-256 9f86d081…`.
    public var description: String { "\(algorithm.name) \(ASCII.printable(digits, limit: algorithm.digitCount))" }
}
