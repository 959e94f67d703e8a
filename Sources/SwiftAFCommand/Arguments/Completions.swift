/// Scripts that complete command lines in a shell, made of the table of options.
enum Completions {
    enum Shell: String, Sendable {
        case bash, zsh, fish
    }

    static func script(for shell: Shell) -> String {
        switch shell {
        case .bash: bash
        case .zsh: zsh
        case .fish: fish
        }
    }

    private static var entries: [OptionEntry] { OptionTable.groups.flatMap(\.entries) }

    /// The options whose value is a file, in the next word. An optional value is in the same one, behind a `=`.
    private static var fileOptions: [String] { entries.filter(takesFile).flatMap(\.names) }

    private static func takesFile(_ entry: OptionEntry) -> Bool {
        !entry.hasOptionalValue && ["PATH", "DIR"].contains(entry.placeholder)
    }

    private static var bash: String {
        let options = entries.flatMap(\.names).joined(separator: " ")
        return """
            # bash completion of swiftaf: source <(swiftaf completions bash)
            _swiftaf() {
                local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
                case $previous in
                \(fileOptions.joined(separator: "|"))) COMPREPLY=($(compgen -f -- "$word")); return ;;
                esac
                case $word in
                -*) COMPREPLY=($(compgen -W "\(options)" -- "$word")) ;;
                *@*) COMPREPLY=($(compgen -P "${word%%@*}@" -f -- "${word#*@}")) ;;
                *) [ "$COMP_CWORD" -ne 1 ] || COMPREPLY=($(compgen -W "\(CommandName.all.joined(separator: " "))" -- "$word")) ;;
                esac
            }
            complete -o default -F _swiftaf swiftaf

            """
    }

    private static var zsh: String {
        let specifications = entries.flatMap { entry in
            entry.names.map { name -> String in
                let help = entry.help.map { "[]:'".contains($0) ? " " : String($0) }.joined()
                guard let text = entry.placeholder?.filter(\.isLetter) else { return "        '\(name)[\(help)]'" }
                guard !entry.hasOptionalValue else {
                    // `=-`: the value is in the same word. Only the long spelling takes one.
                    return name.hasPrefix("--")
                        ? "        '\(name)=-[\(help)]::\(text):_files'" : "        '\(name)[\(help)]'"
                }
                return "        '\(name)[\(help)]:\(text):\(takesFile(entry) ? "_files" : "")'"
            }
        }
        return """
            #compdef swiftaf
            # zsh completion of swiftaf: swiftaf completions zsh > a folder of $fpath, as _swiftaf
            _swiftaf() {
                local -a commands=(\(CommandName.all.joined(separator: " ")))
                _arguments -s \\
            \(specifications.map { $0 + " \\" }.joined(separator: "\n"))
                    '1:command or URL:($commands)' \\
                    '*:item:_files'
            }
            _swiftaf "$@"

            """
    }

    private static var fish: String {
        let commands = CommandName.all.joined(separator: " ")
        let lines = entries.map { entry -> String in
            let names = entry.names.map { name in
                name.hasPrefix("--") ? "-l \(name.dropFirst(2))" : "-s \(name.dropFirst())"
            }
            let hasValue = entry.placeholder != nil && !entry.hasOptionalValue
            let value = hasValue ? takesFile(entry) ? " -r -F" : " -x" : ""
            let help = entry.help.map { $0 == "'" ? "\\'" : String($0) }.joined()
            return "complete -c swiftaf \(names.joined(separator: " "))\(value) -d '\(help)'"
        }
        return """
            # fish completion of swiftaf: swiftaf completions fish | source
            complete -c swiftaf -n __fish_use_subcommand -a '\(commands)'
            \(lines.joined(separator: "\n"))

            """
    }
}
