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
        // A single word keeps its case.
        let joined =
            words.count == 1
            ? String(words[0])
            : words[0].lowercased()
                + words.dropFirst().map(\.capitalized).joined()
        return name[..<first] + joined + name[name.index(after: last)...]
    }

    /// Returns the name that `authorID` or `codeOf2fa` has after it is converted to snake case and back: `authorId`,
    /// `codeOf2Fa`. Nil for names that aren't changed by that.
    static func alternative(to name: String) -> String? {
        mayChange(name) ? decoded(encoded(name)) : nil
    }

    /// Returns whether converting the name to snake case and back may change it: an ASCII capital follows another one,
    /// as in `authorID`, or a small letter follows a character that isn't a letter, as in `codeOf2fa`.
    private static func mayChange(_ name: String) -> Bool {
        var previous = UInt8(ascii: "_")
        for byte in name.utf8 {
            if isCapital(byte) ? isCapital(previous) : isSmall(byte) && separates(previous) { return true }
            previous = byte
        }
        return false
    }

    private static func isCapital(_ byte: UInt8) -> Bool { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) }
    private static func isSmall(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }

    /// Returns whether a letter after this byte begins a word, which is capitalised when the name is converted back.
    /// Underscores don't count: `JSONDecoder` doesn't find the property `first_name` either.
    private static func separates(_ byte: UInt8) -> Bool {
        byte < 0x80 && byte != UInt8(ascii: "_") && !isCapital(byte) && !isSmall(byte)
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
