import SwiftAF

/// Finds credentials in the text of a netrc file: `machine NAME login USER password SECRET`.
enum Netrc {
    struct Entry: Equatable {
        var user: String
        var password: String
    }

    /// Returns the credentials of a host: those of its `machine`, which may have none; those of `default` if there is
    /// no such machine.
    ///
    /// With a login, entries with another one are skipped, also that of `default`. A password without a login is for
    /// every login that has no entry of its own.
    ///
    /// Hosts may be spelled in any way that URLs allow: `bücher.test` is `xn--bcher-kva.test`.
    static func entry(for host: String, login: String? = nil, in text: String) -> Entry? {
        var (ofMachine, ofDefault, isNamed) = (Match(login: login), Match(login: login), false)
        let host = normalised(host)
        var words = words(of: text)[...]
        while let word = words.popFirst() {
            switch word {
            case "machine":
                let name = words.popFirst()
                let (user, password) = readEntry(&words)
                guard name.map(normalised) == host else { continue }
                ofMachine.add(user, password)
                isNamed = true
            case "default":
                let (user, password) = readEntry(&words)
                ofDefault.add(user, password)
            default: break
            }
        }
        return isNamed && login == nil ? ofMachine.entry : ofMachine.entry ?? ofDefault.entry
    }

    /// What was found for one `machine`, or for `default`.
    private struct Match {
        /// The login to look for; nil accepts any.
        let login: String?
        private var own: Entry?
        private var withoutLogin: Entry?

        init(login: String?) { self.login = login }

        /// The first entry with the login; otherwise the first password without a login, as in curl.
        var entry: Entry? { own ?? withoutLogin }

        mutating func add(_ user: String?, _ password: String?) {
            if let user, login == nil || user == login {
                own = own ?? Entry(user: user, password: password ?? "")
            } else if user == nil, let login, let password {
                withoutLogin = withoutLogin ?? Entry(user: login, password: password)
            }
        }
    }

    private static func normalised(_ host: String) -> String {
        let isIPv6 = host.utf8.contains(UInt8(ascii: ":"))
        return CoreURL.host(of: isIPv6 ? "https://[\(host)]/" : "https://\(host)/") ?? host.lowercased()
    }

    private static func readEntry(_ words: inout ArraySlice<String>) -> (user: String?, password: String?) {
        var (user, password) = (String?.none, String?.none)
        while let word = words.first, word != "machine", word != "default" {
            words.removeFirst()
            switch word {
            case "login": user = words.popFirst()
            case "password": password = words.popFirst()
            case "account": _ = words.popFirst()
            default: break
            }
        }
        return (user, password)
    }

    /// Words are separated by white space, or quoted. A macro ends at an empty line.
    private static func words(of text: String) -> [String] {
        var words: [String] = []
        var isInMacro = false
        // A line may end with CR LF, which is one character.
        for line in text.split(omittingEmptySubsequences: false, whereSeparator: { $0 == "\n" || $0 == "\r\n" }) {
            if isInMacro {
                isInMacro = !line.allSatisfy(\.isWhitespace)
                continue
            }
            let ofLine = Self.words(ofLine: line)
            if ofLine.first?.hasPrefix("#") == true { continue }
            if let macro = ofLine.firstIndex(of: "macdef") {
                words += ofLine[..<macro]
                isInMacro = true
            } else {
                words += ofLine
            }
        }
        return words
    }

    private static func words(ofLine line: Substring) -> [String] {
        var (words, word, isQuoted, isEscaped) = ([String](), String.UnicodeScalarView?.none, false, false)
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
                if let word { words.append(String(word)) }
                word = nil
            } else {
                word = (word ?? .init()) + [scalar]
            }
        }
        if let word { words.append(String(word)) }
        return words
    }
}

/// The file of `--netrc`.
enum NetrcFile: Sendable, Equatable {
    /// `~/.netrc`
    case ofHome
    case path(RawText)
}
