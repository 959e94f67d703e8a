/// The text of `--help`. The options are generated from their table.
enum Usage {
    static let text: String = ([commands, items] + OptionTable.groups.map(section) + [exits]).joined(separator: "\n")

    private static let commands = """
        swiftaf: HTTP requests from the command line

        Usage
          swiftaf get|head|delete|post|put|patch|options URL [ITEM…] [OPTIONS]
          swiftaf request METHOD URL [ITEM…] [OPTIONS]   any method
          swiftaf upload URL [ITEM…] [OPTIONS]           a multipart form, streamed
          swiftaf download URL [-o PATH] [OPTIONS]       to a file; without -o, named by the URL
          swiftaf download URL URL… [OPTIONS]            several files, in parallel
          swiftaf image URL [ITEM…] [OPTIONS]            show a picture in the terminal
          swiftaf trust HOST[:PORT] [OPTIONS]            show certificates, pins and the verdict
          swiftaf demo                                   a tour with an embedded server, without a network
          swiftaf help

        """

    private static let items = """
        Items (a backslash escapes a separator)
          Name:value                   header
          Name:                        remove a default header
          name==value                  query item
          name=value                   body field, a string
          name:=json                   body field, JSON
          name=@path                   body field, the contents of a text file
          name@path                    file part; optionally followed by ;type=image/png ;filename=a.png

        """

    private static let exits = """
        Exit status
          0 success   1 usage or input   2 status   3 network   4 timeout   5 TLS or trust
          6 size limit   7 credentials   8 local file   9 unreadable response   129, 130, 143 signal

        """

    private static func section(_ title: String, _ entries: [OptionEntry]) -> String {
        let lines = entries.map { entry in
            let placeholder = entry.placeholder.map { " \($0)" } ?? ""
            let spelling = entry.names.joined(separator: ", ") + placeholder
            return "  \(spelling.padded(to: 28)) \(entry.help)"
        }
        return ([title] + lines).joined(separator: "\n") + "\n"
    }
}
