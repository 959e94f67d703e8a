import SwiftAF

/// The manual page, in roff, made of the table of options and the sections of the help text:
/// `swiftaf help man > swiftaf.1`.
enum ManualPage {
    static let text: String = {
        let version = LibraryVersions.current.core
        let groups = OptionTable.groups.map { ".SS \(escaped($0.title))\n" + $0.entries.map(paragraph).joined() }
        let others = Usage.sections.filter { section in !OptionTable.groups.contains { $0.title == section.title } }
        return """
            .TH SWIFTAF 1 "" "swiftaf \(escaped(version))" "User Commands"
            .SH NAME
            swiftaf \\- HTTP requests from the command line
            .SH SYNOPSIS
            .nf
            \(lines(of: Usage.synopsis(ellipsis: "..."))).fi
            .SH DESCRIPTION
            Sends HTTP requests, uploads and downloads files, and shows the certificates of servers. Without
            .B \\-\\-json
            the body is printed to standard output, while it is received; with it, one JSON object about the exchange.
            .PP
            \(Usage.notes.map(escaped).joined(separator: "\n.PP\n"))

            """ + verbatim(others.filter { ["Items", "Values"].contains($0.title) }) + ".SH OPTIONS\n" + groups.joined()
                + verbatim(others.filter { ["Environment", "Examples", "Exit status"].contains($0.title) })
    }()

    private static func paragraph(_ entry: OptionEntry) -> String {
        ".TP\n.B \(escaped(entry.spelling))\n\(escapedLine(entry.help))\n"
    }

    /// Sections whose lines stay as they are.
    private static func verbatim(_ sections: [(title: String, text: String)]) -> String {
        sections.map { title, text in
            // The first line is the title.
            let body = text.drop { $0 != "\n" }.dropFirst()
            return ".SH \(escaped(title.uppercased()))\n.nf\n\(lines(of: String(body))).fi\n"
        }
        .joined()
    }

    private static func lines(of text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map { escapedLine(String($0)) + "\n" }
            .joined()
    }

    /// A line that begins with a dot would be a request of roff.
    private static func escapedLine(_ line: String) -> String {
        (line.hasPrefix(".") ? "\\&" : "") + escaped(line)
    }

    /// The text in ASCII, with what formatters replace by typographic characters escaped.
    private static func escaped(_ text: String) -> String {
        text.reduce(into: "") { escaped, character in
            switch character {
            case "\\": escaped += "\\e"
            case "-": escaped += "\\-"
            case "'": escaped += "\\(aq"
            case "~": escaped += "\\(ti"
            case "^": escaped += "\\(ha"
            case "`": escaped += "\\(ga"
            case "…": escaped += "..."
            default: escaped.append(character)
            }
        }
    }
}
