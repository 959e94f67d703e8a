import Glibc

/// The standard error stream of the process.
enum StandardError {
    /// Writes the text, with a single write() if the system accepts all of it. After an error, the rest is dropped.
    static func write(_ text: String) {
        var text = text
        text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while let start = rest.baseAddress, rest.count > 0 {
                let count = Glibc.write(STDERR_FILENO, start, rest.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return }
                rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
            }
        }
    }
}
