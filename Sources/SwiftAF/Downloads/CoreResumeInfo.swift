internal import CAFCore

/// The contents of a resume token, parsed by the core.
struct CoreResumeInfo {
    let url: String
    let received: Int64
    /// Nil if the total size is unknown.
    let total: Int64?

    init(_ text: String) throws(SessionError) {
        var failure = afc_failure()
        // Converted within the closure, because `info.url` points into the text.
        let info: CoreResumeInfo? = text.withCoreSlice { text in
            var info = afc_resume_info()
            let status = afc_resume_info_read(&info, text, &failure)
            return status == .AFC_OK ? CoreResumeInfo(info) : nil
        }
        guard let info else { throw SessionError(failure) }
        self = info
    }

    private init(_ info: afc_resume_info) {
        url = info.url.text
        received = info.received
        total = info.total < 0 ? nil : info.total
    }
}

extension ResumeToken {
    /// The number of bytes from the beginning of a file that ``isToken(_:)`` looks at.
    package static let markSize = Int(AFC_RESUME_MARK_SIZE)

    /// Returns whether a file begins like a resume token of any version. The rest of the token may be damaged.
    package static func isToken(_ beginning: [UInt8]) -> Bool {
        beginning.withUnsafeBytes { afc_resume_is_token(afc_slice($0)) }
    }
}
