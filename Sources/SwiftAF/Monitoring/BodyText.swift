import FoundationEssentials

extension String {
    /// Creates a text from the first bytes of a body; nil if they aren't UTF-8.
    ///
    /// - Parameter size: The maximum number of bytes. A character that the limit cuts is left out.
    init?(startOf body: Data, upTo size: Int) {
        let start = body.prefix(size)
        // If the limit has cut a character, up to three of its bytes are at the end.
        for cut in 0...(start.count < body.count ? 3 : 0) {
            guard let text = String(validating: start.dropLast(cut), as: UTF8.self) else { continue }
            self = text
            return
        }
        return nil
    }
}
