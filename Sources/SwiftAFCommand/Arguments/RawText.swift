/// An argument as the system gives it: bytes, which are text if they are UTF-8.
struct RawText: Sendable, Hashable, ExpressibleByStringLiteral {
    let bytes: [UInt8]

    init(_ bytes: some Sequence<UInt8>) {
        self.bytes = Array(bytes)
    }

    init(_ text: String) {
        bytes = Array(text.utf8)
    }

    init(stringLiteral text: String) {
        self.init(text)
    }

    /// Nil if the bytes aren't UTF-8.
    var text: String? { String(validating: bytes, as: UTF8.self) }

    /// For messages: what isn't UTF-8 is replaced.
    var shown: String { String(decoding: bytes, as: UTF8.self) }

    /// The text.
    ///
    /// - Parameter subject: What it is, such as "the URL".
    func text(of subject: @autoclosure () -> String) throws(UsageError) -> String {
        guard let text else { throw UsageError("\(subject()) is not UTF-8") }
        return text
    }

    func hasPrefix(_ prefix: StaticString) -> Bool {
        bytes.starts(with: UnsafeBufferPointer(start: prefix.utf8Start, count: prefix.utf8CodeUnitCount))
    }

    /// The bytes with a NUL behind them, for a call of the system. There is none in them: arguments can't hold it.
    func withCString<Result>(_ use: (UnsafePointer<CChar>) -> Result) -> Result {
        (bytes.map { CChar(bitPattern: $0) } + [0]).withUnsafeBufferPointer { buffer in
            // An array of at least one element has an address.
            buffer.baseAddress.map(use) ?? use([0])
        }
    }
}
