import SwiftAF

/// Finds credentials in the text of a netrc file: `machine NAME login USER password SECRET`.
enum Netrc {
    struct Entry: Equatable {
        var user: String
        var password: String
    }

    /// The value of an entry begins with a quote that isn't closed, so its end is unknown.
    struct OpenQuote: Error, Equatable {
        /// `login`, `password` or `account`.
        let name: String
        /// The number of the line.
        let line: Int
    }

    private struct Word {
        var text: String
        var line: Int
        /// Whether the quote at its beginning isn't closed in the line.
        var isOpen: Bool
    }

    /// What a `machine` or `default` has.
    private struct Values {
        var user: String?
        var password: String?
        var fault: OpenQuote?
    }

    /// Returns the credentials of a host: those of its `machine`, which may have none; those of `default` if there is
    /// no such machine.
    ///
    /// With a login, entries with another one are skipped, also that of `default`. A password without a login is for
    /// every login that has no entry of its own.
    ///
    /// Hosts may be spelled in any way that URLs allow: `bücher.test` is `xn--bcher-kva.test`.
    ///
    /// - Throws: If an entry that would be used has a quote that isn't closed.
    static func entry(for host: String, login: String? = nil, in text: String) throws(OpenQuote) -> Entry? {
        var (ofMachine, ofDefault, isNamed) = (Match(login: login), Match(login: login), false)
        let host = normalised(host)
        var words = words(of: text)[...]
        while let word = words.popFirst() {
            switch word.text {
            case "machine":
                let name = words.popFirst()?.text
                let values = readEntry(&words)
                guard name.map(normalised) == host else { continue }
                ofMachine.add(values)
                isNamed = true
            case "default": ofDefault.add(readEntry(&words))
            default: break
            }
        }
        let entry = try ofMachine.found
        if entry != nil || (isNamed && login == nil) { return entry }
        return try ofDefault.found
    }

    /// The entries of one `machine`, or of `default`, that match a login.
    private struct Match {
        /// The login to look for; nil accepts any.
        let login: String?
        private var withLogin: Values?
        private var withoutLogin: Values?

        init(login: String?) { self.login = login }

        /// The first entry with the login; otherwise the first password without a login, as in curl.
        var found: Entry? {
            get throws(OpenQuote) {
                guard let values = withLogin ?? withoutLogin, let user = values.user ?? login else { return nil }
                if let fault = values.fault { throw fault }
                return Entry(user: user, password: values.password ?? "")
            }
        }

        mutating func add(_ values: Values) {
            if let user = values.user, login == nil || user == login {
                withLogin = withLogin ?? values
            } else if values.user == nil, login != nil, values.password != nil {
                withoutLogin = withoutLogin ?? values
            }
        }
    }

    private static func normalised(_ host: String) -> String {
        let isIPv6 = host.utf8.contains(UInt8(ascii: ":"))
        return CoreURL.host(of: isIPv6 ? "https://[\(host)]/" : "https://\(host)/") ?? host.lowercased()
    }

    private static func readEntry(_ words: inout ArraySlice<Word>) -> Values {
        var values = Values()
        while let word = words.first, word.text != "machine", word.text != "default" {
            words.removeFirst()
            guard ["login", "password", "account"].contains(word.text), let value = words.popFirst() else { continue }
            switch word.text {
            case "login": values.user = value.text
            case "password": values.password = value.text
            // Not used, but its open quote may have taken the login or the password.
            default: break
            }
            if value.isOpen { values.fault = OpenQuote(name: word.text, line: value.line) }
        }
        return values
    }

    /// Words are separated by white space, or quoted. A macro ends at an empty line.
    private static func words(of text: String) -> [Word] {
        var words: [Word] = []
        var isInMacro = false
        // A line may end with CR LF, which is one character.
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: { $0 == "\n" || $0 == "\r\n" })
        for (index, line) in lines.enumerated() {
            if isInMacro {
                isInMacro = !line.allSatisfy(\.isWhitespace)
                continue
            }
            let ofLine = Self.words(of: line, number: index + 1)
            if ofLine.first?.text.hasPrefix("#") == true { continue }
            if let macro = ofLine.firstIndex(where: { $0.text == "macdef" }) {
                words += ofLine[..<macro]
                isInMacro = true
            } else {
                words += ofLine
            }
        }
        return words
    }

    private static func words(of line: Substring, number: Int) -> [Word] {
        var (words, word, isQuoted, isEscaped) = ([Word](), String.UnicodeScalarView?.none, false, false)
        // By scalar: a space or a quote with a combining mark is a `Character` of its own, which differs from both.
        for scalar in line.unicodeScalars {
            if isEscaped {
                word = (word ?? .init()) + [scalar]
                isEscaped = false
            } else if scalar == "\\", isQuoted {
                isEscaped = true
            } else if scalar == "\"", isQuoted || word == nil {
                // A quote inside a word is a part of it, for example of a password.
                isQuoted.toggle()
                word = word ?? .init()
            } else if scalar.properties.isWhitespace, !isQuoted {
                if let word { words.append(Word(text: String(word), line: number, isOpen: false)) }
                word = nil
            } else {
                word = (word ?? .init()) + [scalar]
            }
        }
        if let word { words.append(Word(text: String(word), line: number, isOpen: isQuoted)) }
        return words
    }
}

/// The file of `--netrc`.
enum NetrcFile: Sendable, Equatable {
    /// `~/.netrc`
    case ofHome
    case path(RawText)
}
