/// What `--print` selects for standard output.
struct PrintedParts: OptionSet, Sendable {
    let rawValue: Int

    static let requestHead = PrintedParts(rawValue: 1)
    static let requestBody = PrintedParts(rawValue: 2)
    static let responseHead = PrintedParts(rawValue: 4)
    static let responseBody = PrintedParts(rawValue: 8)
    static let metrics = PrintedParts(rawValue: 16)

    init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// Parses letters: H and B for the request, h and b for the response, m for the metrics.
    init(letters: String, of option: String) throws(UsageError) {
        self = []
        for letter in letters {
            switch letter {
            case "H": insert(.requestHead)
            case "B": insert(.requestBody)
            case "h": insert(.responseHead)
            case "b": insert(.responseBody)
            case "m": insert(.metrics)
            default:
                throw .invalid(
                    letters, of: option,
                    expected: "letters of hHbBm (headers, bodies and timings; capitals for the request)")
            }
        }
    }
}
