import SwiftAF

/// A line of the overview: some commands, their arguments, and what they do.
struct Synopsis: Sendable {
    /// The names of the commands; empty for a URL without a command.
    let commands: [String]
    let arguments: String
    /// Empty if the line has no room.
    let help: String

    /// Returns the line.
    ///
    /// - Parameters:
    ///   - command: The only command to show; nil for all.
    ///   - ellipsis: What stands for `…`, which not every output has.
    func line(of command: String? = nil, ellipsis: String = "…") -> String {
        let name = (command.map { [$0] } ?? commands).joined(separator: "|")
        let words = ["swiftaf", name, arguments.replacing("…", with: ellipsis)].filter { !$0.isEmpty }
        let left = words.joined(separator: " ")
        return help.isEmpty ? "  \(left)" : "  \(left.padded(to: 46)) \(help.replacing("…", with: ellipsis))"
    }
}

/// The text of `--help`, `help TOPIC` and `COMMAND --help`. The options are generated from their table.
enum Usage {
    /// All sections, in order. A topic selects those whose title begins with it.
    static let sections: [(title: String, text: String)] =
        [("Usage", commands), ("Examples", examples), ("Items", items(withBody: true)), ("Values", values)]
        + OptionTable.groups.map { ($0.title, section($0.title, $0.entries)) }
        + [("Environment", environment), ("Exit status", exits)]

    static let text = "swiftaf: HTTP requests from the command line\n\n" + sections.map(\.text).joined(separator: "\n")

    /// Returns the text about a topic: a section, an option, a command, `options` for all options, or `man` for a
    /// manual page.
    static func text(of topic: String?) throws(Failure) -> String {
        guard let topic else { return text }
        if topic == "man" { return ManualPage.text }
        let word = topic.lowercased()
        if word == "options" { return OptionTable.groups.map { section($0.title, $0.entries) }.joined(separator: "\n") }
        if word.hasPrefix("-"), let entry = OptionTable.entry(named: topic) { return line(entry) + "\n" }
        // Only the first word is looked up: a command's own command may follow it, as in `help cache list`.
        let first = word.split(separator: " ").first.map(String.init) ?? ""
        if let kind = CommandName.kind(of: first) {
            let title = sections.first { $0.title.lowercased() == first }
            return [text(of: first, kind, without: title?.title), title?.text].compactMap(\.self)
                .joined(separator: "\n")
        }
        let found = sections.filter { section in section.title.lowercased().hasWord(startingWith: word) }
        if !found.isEmpty { return found.map(\.text).joined(separator: "\n") }
        if let entry = OptionTable.entry(named: "--" + word) { return line(entry) + "\n" }
        if let mentions = mentions(of: word) { return mentions }
        let titles = sections.map { $0.title.lowercased() }
        let known = titles + CommandName.all
        throw Failure(
            UsageError(
                """
                no help about '\(URLText(topic).withoutUserInfo.printable)'\(Suggestion.text(for: word, among: known)); \
                topics: \((titles + ["options", "man"]).joined(separator: ", ")), a command or an option
                """))
    }

    /// Returns the options whose names or help mention a word; nil if there are none.
    private static func mentions(of word: String) -> String? {
        let stem = word.hasSuffix("s") ? String(word.dropLast()) : word
        guard stem.count > 2 else { return nil }
        let groups = OptionTable.groups.compactMap { group -> String? in
            let entries = group.entries.filter { entry in
                (entry.names + [entry.help]).contains { $0.lowercased().hasWord(startingWith: stem) }
            }
            return entries.isEmpty ? nil : section(group.title, entries)
        }
        return groups.isEmpty ? nil : groups.joined(separator: "\n")
    }

    /// The words that `help` accepts. A title of several words is represented by its first one.
    static let topics: [String] = {
        let titles = sections.map { String($0.title.lowercased().prefix { $0 != " " }) } + ["options", "man"]
        return titles + CommandName.all.filter { !titles.contains($0) }
    }()

    /// Returns how a command is used, with the options that it accepts; nil if there is no such command.
    static func text(ofCommand word: String) -> String? {
        CommandName.kind(of: word).map { text(of: word, $0) }
    }

    private static func text(of word: String, _ kind: CommandKinds, without title: String? = nil) -> String {
        let lines = synopses.filter { $0.commands.contains(word) }
        var parts = ["Usage\n" + lines.map { $0.line(of: word) + "\n" }.joined()]
        if lines.contains(where: { $0.arguments.contains("ITEM") }) { parts.append(items(withBody: kind != .socket)) }
        for group in OptionTable.groups where group.title != title {
            let entries = group.entries.filter { $0.commands.isSuperset(of: kind) }
            if !entries.isEmpty { parts.append(section(group.title, entries)) }
        }
        let accepted = OptionTable.groups.flatMap(\.entries).filter { $0.commands.isSuperset(of: kind) }
        if accepted.contains(where: { $0.placeholder == "S" || $0.placeholder == "BYTES" }) { parts.append(values) }
        if kind == .request {
            let others = OptionTable.groups.flatMap(\.entries).filter {
                $0.commands.isSuperset(of: .download) && !$0.commands.isSuperset(of: .request)
            }
            parts.append("With -O; --resume and -C also with -o PATH\n" + others.map { line($0) + "\n" }.joined())
        }
        return parts.joined(separator: "\n")
    }

    private static let commands = "Usage\n\(synopsis())\n\(notes.joined(separator: "\n"))\n"

    static let synopses = [
        Synopsis(
            commands: [], arguments: "URL [ITEM…] [OPTIONS]", help: "GET, or POST with a body; https is the default"),
        Synopsis(
            commands: ["get", "head", "delete", "post", "put", "patch", "options"], arguments: "URL [ITEM…] [OPTIONS]",
            help: ""),
        Synopsis(commands: ["request"], arguments: "METHOD URL [ITEM…] [OPTIONS]", help: "any method"),
        Synopsis(commands: ["upload"], arguments: "URL [ITEM…] [OPTIONS]", help: "a multipart form, streamed"),
        Synopsis(
            commands: ["download"], arguments: "URL [-o PATH] [OPTIONS]",
            help: "to a file; without -o, named by the URL"),
        Synopsis(commands: ["download"], arguments: "URL URL… [OPTIONS]", help: "several files, in parallel"),
        Synopsis(commands: ["image"], arguments: "URL [ITEM…] [OPTIONS]", help: "show a picture in the terminal"),
        Synopsis(
            commands: ["ws"], arguments: "URL [ITEM…] [OPTIONS]", help: "a WebSocket: lines in and out are messages"),
        Synopsis(
            commands: ["trust"], arguments: "HOST[:PORT] [OPTIONS]",
            help: "a server's certificates, and if they are trusted"),
        Synopsis(commands: ["cache"], arguments: "list [OPTIONS]", help: "list the stored responses, see --cache"),
        Synopsis(commands: ["cache"], arguments: "show URL [OPTIONS]", help: "print a stored response"),
        Synopsis(
            commands: ["cache"], arguments: "clear [URL] [OPTIONS]", help: "remove the responses to a URL, or all"),
        Synopsis(commands: ["cache"], arguments: "verify [OPTIONS]", help: "check the files, remove damaged ones"),
        Synopsis(commands: ["demo"], arguments: "", help: "a tour with an embedded server, without a network"),
        Synopsis(
            commands: ["help"], arguments: "[TOPIC]", help: "items, trust, options …, a command, an option, or man"),
        Synopsis(commands: ["completions"], arguments: "bash|zsh|fish", help: "a script that completes command lines"),
    ]

    /// The commands, each in a line.
    ///
    /// - Parameter ellipsis: What stands for `…`.
    static func synopsis(ellipsis: String = "…") -> String {
        synopses.map { $0.line(ellipsis: ellipsis) + "\n" }.joined()
    }

    /// What people expect to be otherwise, one sentence a line.
    static let notes = [
        "A URL without a scheme is https, or http on this machine: localhost:8080/path, :8080/path.",
        "Standard input that isn't a terminal is the body of POST, PUT and PATCH, see --ignore-stdin.",
        "Redirects are followed. A status such as 404 is a failure, see Exit status.",
    ]

    private static let examples = """
        Examples
          swiftaf example.org/users/7                    GET; print the body
          swiftaf -i example.org q==c Accept:text/html   a query and a header; print the headers too
          swiftaf example.org/users name=Ada age:=36     POST {"name": "Ada", "age": 36}
          swiftaf put example.org/a -d @a.txt            the content of a file
          swiftaf upload example.org/photos photo@a.png  a form with a file
          swiftaf download example.org/film --resume     to the file film, or the rest of it
          swiftaf example.org -u joe                     ask for the password
          swiftaf example.org/a --json                   status, headers, body and timings for a script

        """

    /// - Parameter withBody: Whether the command sends a body.
    private static func items(withBody: Bool) -> String {
        withBody ? itemsOfHead + itemsOfBody + "\n" : itemsOfHead + "\n"
    }

    private static let itemsOfHead = """
        Items (a backslash escapes a separator)
          Name:value                   header
          Name:                        remove a default header
          Name;                        header with an empty value
          name==value                  query item
          Name:@path, name==@path      header or query item, the contents of a file
        """

    private static let itemsOfBody = """

          name=value                   body field, a string
          name:=json                   body field, JSON
          a[b]=value, a[]=value        body field inside an object or an array
          name=@path                   body field, the contents of a text file
          name:=@path                  body field, the JSON in a file
          name@path                    file part; optionally followed by ;type=image/png ;filename=a.png
        """

    private static let environment = """
        Environment
          http_proxy, https_proxy, all_proxy, no_proxy
                                       proxies, and the hosts without one, unless --proxy is given
          NO_COLOR, TERM               no colours if NO_COLOR is set, or TERM is dumb or unset
          HOME, XDG_CONFIG_HOME, XDG_CACHE_HOME
                                       the folders of --netrc, --session and --cache
          SSL_CERT_FILE, SSL_CERT_DIR  the trusted certificates, instead of the system's

        """

    /// What the placeholders of ``Argument/seconds(_:of:)`` and ``Argument/size(_:of:in:)`` stand for.
    private static let values = """
        Values
          S                            seconds, such as 2.5, or a time with a unit: 500ms, 2s, 1m, 1h;
                                       0 is no limit, and 49 days the longest
          BYTES                        a number of bytes, or one with a unit of 1024: 64k, 1.5M, 2G

        """

    private static let exits = """
        Exit status
          0                            success: status 2xx, that of --accept-status, 3xx with --no-redirects
          1                            the command line or an input is wrong; nothing was sent
          2                            another status, such as 404
          3                            the network or the server: no address, refused, lost, invalid
          4                            a time limit
          5                            TLS failed, or the server isn't trusted
          6                            a size limit
          7                            credentials are needed or were refused: status 401 or 407
          8                            a local file or standard output
          9                            the body isn't the JSON or picture that it should be
          70                           a failure of this program or machine
          129, 130, 143                a signal: SIGHUP, SIGINT (Ctrl-C) or SIGTERM
        With --json, error.code is
          1 usage, invalidInput   2 status
          3 dns, connect, connectionLost, truncated, protocol, redirect, closed
          4 timeout   5 tls, untrusted   6 tooLarge   7 authentication   8 file
          9 serialization   70 unknown and others   129, 130, 143 cancelled
        and error.reason
          of timeout: connect, idle, total
          of untrusted: expired, notYetValid, wrongHost, selfSigned, unknownIssuer, pin, revoked, weak, other

        """

    private static func section(_ title: String, _ entries: [OptionEntry]) -> String {
        ([title] + entries.map(line)).joined(separator: "\n") + "\n"
    }

    /// The width of the column of spellings. A longer spelling has a line of its own.
    static let column = 28

    private static func line(_ entry: OptionEntry) -> String {
        let spelling = entry.spelling
        guard spelling.count > column else { return "  \(spelling.padded(to: column)) \(entry.help)" }
        return "  \(spelling)\n  \("".padded(to: column)) \(entry.help)"
    }
}

extension String {
    /// Whether one of the words, or the end of the text from one on, starts with `prefix`.
    fileprivate func hasWord(startingWith prefix: String) -> Bool {
        indices.contains { index in
            let isStart = index == startIndex || !self[self.index(before: index)].isLetter
            return isStart && self[index...].hasPrefix(prefix)
        }
    }
}
