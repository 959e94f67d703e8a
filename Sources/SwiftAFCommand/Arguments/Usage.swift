import SwiftAF

/// The text of `--help` and `help TOPIC`. The options are generated from their table.
enum Usage {
    /// All sections, in order. A topic selects those whose title begins with it.
    static let sections: [(title: String, text: String)] =
        [("Usage", commands), ("Items", items)]
        + OptionTable.groups.map { ($0.title, section($0.title, $0.entries)) }
        + [("Exit status", exits)]

    static let text = "swiftaf: HTTP requests from the command line\n\n" + sections.map(\.text).joined(separator: "\n")

    /// Returns the text about a topic: a section, an option, a command, `options` for all options, or `man` for a
    /// manual page.
    static func text(of topic: String?) throws(Failure) -> String {
        guard let topic else { return text }
        if topic == "man" { return ManualPage.text }
        let word = topic.lowercased()
        if word == "options" { return OptionTable.groups.map { section($0.title, $0.entries) }.joined(separator: "\n") }
        if word.hasPrefix("-"), let entry = OptionTable.entry(named: topic) { return line(entry) + "\n" }
        let found = sections.filter { $0.title.lowercased().hasPrefix(word) }
        if !found.isEmpty { return found.map(\.text).joined(separator: "\n") }
        if CommandName.all.contains(word) { return commands }
        if let entry = OptionTable.entry(named: "--" + word) { return line(entry) + "\n" }
        let titles = sections.map { $0.title.lowercased() }
        throw Failure(
            UsageError(
                "no help about '\(URLText(topic).withoutUserInfo.printable)'\(Suggestion.text(for: word, among: titles)); topics: \((titles + ["options"]).joined(separator: ", "))"
            ))
    }

    private static let commands = "Usage\n\(synopsis)\n\(note)\n"

    /// The commands, each in a line.
    static let synopsis = """
          swiftaf URL [ITEM…] [OPTIONS]                  GET, or POST with a body; https is the default
          swiftaf get|head|delete|post|put|patch|options URL [ITEM…] [OPTIONS]
          swiftaf request METHOD URL [ITEM…] [OPTIONS]   any method
          swiftaf upload URL [ITEM…] [OPTIONS]           a multipart form, streamed
          swiftaf download URL [-o PATH] [OPTIONS]       to a file; without -o, named by the URL
          swiftaf download URL URL… [OPTIONS]            several files, in parallel
          swiftaf image URL [ITEM…] [OPTIONS]            show a picture in the terminal
          swiftaf ws URL [ITEM…] [OPTIONS]               a WebSocket: lines in and out are messages
          swiftaf trust HOST[:PORT] [OPTIONS]            show certificates, pins and the verdict
          swiftaf cache list|show URL|clear [URL]|verify stored responses, see --cache
          swiftaf demo                                   a tour with an embedded server, without a network
          swiftaf help [TOPIC]                           items, trust, options …, an option, or man
          swiftaf completions bash|zsh|fish              a script that completes command lines

        """

    static let note =
        "A URL without a scheme is https, or http on this machine: localhost:8080/path, :8080/path."

    private static let items = """
        Items (a backslash escapes a separator)
          Name:value                   header
          Name:                        remove a default header
          Name;                        header with an empty value
          name==value                  query item
          name=value                   body field, a string
          name:=json                   body field, JSON
          a[b]=value, a[]=value        body field inside an object or an array
          name=@path                   body field, the contents of a text file
          name:=@path                  body field, the JSON in a file
          Name:@path, name==@path      header or query item, the contents of a file
          name@path                    file part; optionally followed by ;type=image/png ;filename=a.png

        """

    private static let exits = """
        Exit status
          0 success   1 usage or input   2 status   3 network   4 timeout   5 TLS or trust
          6 size limit   7 credentials   8 local file   9 unreadable response   129, 130, 143 signal
          70 a failure of this program or machine
        With --json, error.code is
          1 usage, invalidInput   2 status
          3 dns, connect, connectionLost, truncated, protocol, redirect, closed
          4 timeout   5 tls, untrusted   6 tooLarge   7 authentication   8 file   9 serialization
          70 unknown and others   129, 130, 143 cancelled
        and error.reason
          of timeout: connect, idle, total
          of untrusted: expired, notYetValid, wrongHost, selfSigned, unknownIssuer, pin, revoked, weak, other

        """

    private static func section(_ title: String, _ entries: [OptionEntry]) -> String {
        ([title] + entries.map(line)).joined(separator: "\n") + "\n"
    }

    private static func line(_ entry: OptionEntry) -> String {
        "  \(entry.spelling.padded(to: 28)) \(entry.help)"
    }
}

extension OptionEntry {
    /// The spellings with the placeholder of the value.
    var spelling: String {
        let value = placeholder.map { hasOptionalValue ? $0 : " \($0)" } ?? ""
        return names.joined(separator: ", ") + value
    }
}
