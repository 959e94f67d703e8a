/// The width of text on a terminal: characters of East Asian scripts and emoji take two columns, combining marks none
/// (Unicode Standard Annex 11). The system's own table would need a locale.
extension String {
    /// The number of columns.
    var columns: Int { reduce(0) { $0 + $1.columns } }

    /// The longest beginning that fits into a number of columns.
    func prefix(columns: Int) -> Substring {
        var (end, rest) = (startIndex, columns)
        while end < endIndex {
            rest -= self[end].columns
            guard rest >= 0 else { break }
            end = index(after: end)
        }
        return self[..<end]
    }

    /// The longest end that fits into a number of columns.
    func suffix(columns: Int) -> Substring {
        var (start, rest) = (endIndex, columns)
        while start > startIndex {
            let before = index(before: start)
            rest -= self[before].columns
            guard rest >= 0 else { break }
            start = before
        }
        return self[start...]
    }
}

extension Character {
    /// A character of several scalars is as wide as the widest; an emoji variation makes it wide.
    fileprivate var columns: Int {
        unicodeScalars.reduce(0) { $1 == "\u{FE0F}" ? 2 : max($0, $1.columns) }
    }
}

extension Unicode.Scalar {
    fileprivate var columns: Int {
        if isASCII { return 1 }
        switch properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: return properties.isEmojiPresentation || Self.wide.contains { $0.contains(value) } ? 2 : 1
        }
    }

    /// The blocks whose characters are wide.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF,
        0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F900...0x1F9FF, 0x20000...0x3FFFD,
    ]
}
