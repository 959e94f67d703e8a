/// Converts between camel case and snake case, by the rules of Foundation's key strategies.
enum SnakeCase {
    /// Converts `first_name` to `firstName`. Leading and trailing underscores are kept.
    static func decoded(_ name: String) -> String {
        guard name.utf8.contains(UInt8(ascii: "_")) else { return name }
        let isUnderscore = { (character: Character) in character == "_" }
        guard let first = name.firstIndex(where: { !isUnderscore($0) }),
            let last = name.lastIndex(where: { !isUnderscore($0) })
        else { return name }
        let words = name[first...last].split(separator: "_")
        // A single word isn't changed, including its case.
        let joined =
            words.count == 1
            ? String(words[0])
            : words[0].lowercased()
                + words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst().lowercased() }.joined()
        return name[..<first] + joined + name[name.index(after: last)...]
    }

    /// Returns the name that `authorID` has after it is converted to snake case and back, `authorId`. Nil for names that
    /// aren't changed by that.
    static func alternative(to name: String) -> String? {
        hasAcronym(name) ? decoded(encoded(name)) : nil
    }

    /// Whether two capitals in ASCII follow one another, as in `authorID`, so that converting the name to snake case and
    /// back changes it.
    private static func hasAcronym(_ name: String) -> Bool {
        var wasCapital = false
        for byte in name.utf8 {
            let isCapital = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
            if isCapital, wasCapital { return true }
            wasCapital = isCapital
        }
        return false
    }

    /// Converts `firstName` to `first_name` and `myURLProperty` to `my_url_property`. The first character is never
    /// treated as part of an acronym: `URLText` becomes `u_rl_text`, as in Foundation.
    static func encoded(_ name: String) -> String {
        let characters = Array(name)
        guard characters.dropFirst().contains(where: \.isUppercase) else { return name.lowercased() }
        var words: [ArraySlice<Character>] = []
        var wordStart = 0
        var search = 1
        while let capital = characters[search...].firstIndex(where: \.isUppercase) {
            words.append(characters[wordStart..<capital])
            wordStart = capital
            guard let small = characters[capital...].firstIndex(where: \.isLowercase) else { break }
            // The last capital of a sequence starts the next word.
            if small > capital + 1 {
                words.append(characters[capital..<small - 1])
                wordStart = small - 1
            }
            search = small + 1
        }
        words.append(characters[wordStart...])
        return words.map { String($0).lowercased() }.joined(separator: "_")
    }
}
