/// Names such as `first_name`, by the rules of Foundation's key strategies.
enum SnakeCase {
    /// `first_name` → `firstName`. Underscores at both ends stay.
    static func decoded(_ name: String) -> String {
        guard name.utf8.contains(UInt8(ascii: "_")) else { return name }
        let isUnderscore = { (character: Character) in character == "_" }
        guard let first = name.firstIndex(where: { !isUnderscore($0) }),
            let last = name.lastIndex(where: { !isUnderscore($0) })
        else { return name }
        let words = name[first...last].split(separator: "_")
        // A single word is left as it is, capitals and all.
        let joined =
            words.count == 1
            ? String(words[0])
            : words[0].lowercased()
                + words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst().lowercased() }.joined()
        return name[..<first] + joined + name[name.index(after: last)...]
    }

    /// `firstName` → `first_name`, `myURLProperty` → `my_url_property`. The first character is never taken for the
    /// first of several capitals: `URLText` is `u_rl_text`, as Foundation has it.
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
            // Of several capitals the last one begins the next word.
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
