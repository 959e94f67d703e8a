import SwiftAF

/// The manual page, in roff, made of the sections of the help text: `swiftaf help man > swiftaf.1`.
enum ManualPage {
    static let text: String = {
        let version = LibraryVersions.current.core
        let sections = Usage.sections.map { title, text in
            ".SH \(title.uppercased())\n.nf\n" + lines(of: text) + ".fi\n"
        }
        return """
            .TH SWIFTAF 1 "" "swiftaf \(version)" "User Commands"
            .SH NAME
            swiftaf \\- HTTP requests from the command line
            .SH DESCRIPTION
            Sends HTTP requests, uploads and downloads files, and shows the certificates of servers. Without
            .B \\-\\-json
            the body is printed to standard output, while it is received; with it, one JSON object about the exchange.

            """ + sections.joined()
    }()

    /// The lines behind the title, escaped.
    private static func lines(of text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).dropFirst().dropLast().map { line in
            var escaped = ""
            for character in line {
                switch character {
                case "\\": escaped += "\\e"
                case "-": escaped += "\\-"
                default: escaped.append(character)
                }
            }
            // A line that begins with a dot or a quote would be a request of roff.
            let isRequest = escaped.first == "." || escaped.first == "'"
            return (isRequest ? "\\&" : "") + escaped + "\n"
        }
        .joined()
    }
}
