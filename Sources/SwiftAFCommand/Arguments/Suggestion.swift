/// Suggests corrections of misspelled words.
enum Suggestion {
    /// Returns `; did you mean WORD?` for the closest candidate, or an empty string if none is close.
    static func text(for word: String, among candidates: some Sequence<String>) -> String {
        // Longer words may contain more mistakes.
        let most = max(1, word.drop { $0 == "-" }.count / 3)
        let letters = Array(word.lowercased())
        var best: (distance: Int, word: String)?
        for candidate in candidates {
            let others = Array(candidate.lowercased())
            // The time of a comparison grows with both lengths, and words of very different lengths aren't close.
            guard abs(letters.count - others.count) <= most, !areOpposites(word, candidate) else { continue }
            let distance = distance(letters, others)
            if distance <= most, best.map({ distance < $0.distance }) ?? true { best = (distance, candidate) }
        }
        return best.map { "; did you mean \($0.word)?" } ?? ""
    }

    /// Whether one of two options would do the opposite of the other, such as `--no-follow` and `--follow`.
    private static func areOpposites(_ left: String, _ right: String) -> Bool {
        let (left, right) = (parts(left), parts(right))
        return left.contains("no") != right.contains("no") && left.filter { $0 != "no" } == right.filter { $0 != "no" }
            || left.contains("min") && right.contains("max") || left.contains("max") && right.contains("min")
    }

    private static func parts(_ option: String) -> [Substring] { option.lowercased().split(separator: "-") }

    /// The number of insertions, deletions, replacements and exchanges of neighbours that turn one word into the other.
    private static func distance(_ left: [Character], _ right: [Character]) -> Int {
        var rows = [Array(0...right.count)]
        for (i, letter) in left.enumerated() {
            var row = [i + 1]
            for (j, other) in right.enumerated() {
                var cost = min(rows[i][j + 1] + 1, row[j] + 1, rows[i][j] + (letter == other ? 0 : 1))
                if i > 0, j > 0, letter == right[j - 1], left[i - 1] == other {
                    cost = min(cost, rows[i - 1][j - 1] + 1)
                }
                row.append(cost)
            }
            rows.append(row)
        }
        return rows[left.count][right.count]
    }
}
