/// Scripts that complete command lines in a shell, made of the table of options.
enum Completions {
    enum Shell: String, CaseIterable, Sendable {
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

    private static let commandWords = CommandName.all.joined(separator: " ")
    private static let shellWords = Shell.allCases.map(\.rawValue).joined(separator: " ")
    private static let cacheWords = CacheCommand.names.joined(separator: " ")
    private static let schemeWords = Options.Authentication.allCases.map(\.rawValue).joined(separator: " ")

    /// Without a word of its own it leaves the word to `-o default`, which completes file names: with their spaces
    /// escaped and a slash behind folders.
    private static var bash: String {
        let options = entries.flatMap(\.names).joined(separator: " ")
        return """
            # bash completion of swiftaf: source <(swiftaf completions bash)
            _swiftaf() {
                local name word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
                COMPREPLY=()
                case $previous in
                \(fileOptions.joined(separator: "|"))) return ;;
                --auth) COMPREPLY=($(compgen -W "\(schemeWords)" -- "$word")); return ;;
                esac
                case $word in
                -*) COMPREPLY=($(compgen -W "\(options)" -- "$word")); return ;;
                *@*)
                    while IFS= read -r name; do
                        [ ! -d "${name#*@}" ] || name+=/
                        COMPREPLY+=("$name")
                    done < <(compgen -P "${word%%@*}@" -f -- "${word#*@}")
                    compopt -o filenames 2>/dev/null
                    [[ ${#COMPREPLY[@]} -ne 1 || $COMPREPLY != */ ]] || compopt -o nospace 2>/dev/null
                    return ;;
                esac
                case $COMP_CWORD:$previous in
                1:*) COMPREPLY=($(compgen -W "\(commandWords)" -- "$word")) ;;
                2:completions) COMPREPLY=($(compgen -W "\(shellWords)" -- "$word")) ;;
                2:cache) COMPREPLY=($(compgen -W "\(cacheWords)" -- "$word")) ;;
                esac
            }
            complete -o default -F _swiftaf swiftaf

            """
    }

    private static var zsh: String {
        let specifications = entries.flatMap { entry in
            entry.names.map { name -> String in
                let help = entry.help.map { "[]:'".contains($0) ? " " : String($0) }.joined()
                // Without a star, an option is offered once.
                let star = entry.isRepeatable ? "*" : ""
                guard let text = entry.placeholder?.filter(\.isLetter) else {
                    return "        '\(star)\(name)[\(help)]'"
                }
                guard !entry.hasOptionalValue else {
                    // `=-`: the value is in the same word. Only the long spelling takes one.
                    return name.hasPrefix("--")
                        ? "        '\(name)=-[\(help)]::\(text):_files'" : "        '\(name)[\(help)]'"
                }
                // The only value of -C.
                guard !text.isEmpty else { return "        '\(name)[\(help)]:position:(-)'" }
                let action = name == "--auth" ? "(\(schemeWords))" : takesFile(entry) ? "_files" : ""
                return "        '\(star)\(name)[\(help)]:\(text):\(action)'"
            }
        }
        return """
            #compdef swiftaf
            # zsh completion of swiftaf: swiftaf completions zsh > a folder of $fpath, as _swiftaf
            _swiftaf_item() {
                case $words[2] in
                cache) (( CURRENT == 3 )) && compadd -- \(cacheWords) ;;
                completions) (( CURRENT == 3 )) && compadd -- \(shellWords) ;;
                *) _files ;;
                esac
            }
            _swiftaf() {
                local -a commands=(\(commandWords))
                _arguments -s \\
            \(specifications.map { $0 + " \\" }.joined(separator: "\n"))
                    '1:command or URL:($commands)' \\
                    '*:item:_swiftaf_item'
            }
            _swiftaf "$@"

            """
    }

    private static var fish: String {
        let lines = entries.map { entry -> String in
            let names = entry.names.map { name in
                name.hasPrefix("--") ? "-l \(name.dropFirst(2))" : "-s \(name.dropFirst())"
            }
            let hasValue = entry.placeholder != nil && !entry.hasOptionalValue
            var value = hasValue ? takesFile(entry) ? " -r -F" : " -x" : ""
            if entry.names.contains("--auth") { value += " -a '\(schemeWords)'" }
            let help = entry.help.map { $0 == "'" ? "\\'" : String($0) }.joined()
            return "complete -c swiftaf \(names.joined(separator: " "))\(value) -d '\(help)'"
        }
        return """
            # fish completion of swiftaf: swiftaf completions fish | source
            complete -c swiftaf -n __fish_use_subcommand -a '\(commandWords)'
            complete -c swiftaf -n '__fish_seen_subcommand_from completions' -f -a '\(shellWords)'
            complete -c swiftaf -n '__fish_seen_subcommand_from cache' -f -a '\(cacheWords)'
            \(lines.joined(separator: "\n"))

            """
    }
}
