/// Scripts that complete command lines in a shell, generated from the table of options.
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
    private static let topicWords = Usage.topics.joined(separator: " ")

    /// The spellings whose value is the next word.
    private static let valueOptions = entries.filter { $0.placeholder != nil && !$0.hasOptionalValue }.flatMap(\.names)

    /// The spellings with fixed values.
    private static let choices = entries.filter { !$0.choices.isEmpty }.map {
        (names: $0.names, words: $0.choices.joined(separator: " "))
    }

    /// The kinds of commands with their names. Any other word is a URL or a method, and so a request.
    private static let kinds: [(name: String, kind: CommandKinds, commands: [String])] = [
        ("upload", .upload), ("download", .download), ("image", .image), ("trust", .trust), ("local", .local),
        ("cache", .cache), ("socket", .socket),
    ].map { name, kind in (name, kind, CommandName.all.filter { CommandName.kind(of: $0) == kind }) }

    private static let request = (name: "request", kind: CommandKinds.request)

    /// Returns the names of the kinds that accept an option.
    private static func names(of commands: CommandKinds) -> [String] {
        ([request] + kinds.map { ($0.name, $0.kind) }).filter { commands.isSuperset(of: $0.kind) }.map(\.name)
    }

    /// The spellings of the options that a kind of command accepts; nil for all.
    private static func options(of kind: CommandKinds?) -> String {
        entries.filter { entry in kind.map { entry.commands.isSuperset(of: $0) } ?? true }.flatMap(\.names)
            .joined(separator: " ")
    }

    /// If the script offers no word, bash completes file names (`-o default`): with their spaces escaped and a slash
    /// behind folders.
    private static var bash: String {
        let optionCases = kinds.map { kind in
            "    \(kind.commands.joined(separator: "|"))) options=\"\(options(of: kind.kind))\" ;;"
        }
        let choices = choices.map {
            "    \($0.names.joined(separator: "|"))) COMPREPLY=($(compgen -W \"\($0.words)\" -- \"$word\")); return ;;"
        }
        return """
            # bash completion of swiftaf: source <(swiftaf completions bash)
            _swiftaf() {
                local name options command= index=1 word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
                COMPREPLY=()
                # The shell splits words at `=`.
                if [[ $word == = ]]; then word=
                elif [[ $previous == = ]] && ((COMP_CWORD > 2)); then previous=${COMP_WORDS[COMP_CWORD-2]}
                fi
                # The command is the first word that is neither an option nor its value.
                while ((index < COMP_CWORD)); do
                    case ${COMP_WORDS[index]} in
                    \(valueOptions.joined(separator: "|")))
                        [[ ${COMP_WORDS[index+1]} != = ]] || ((index += 1))
                        ((index += 1)) ;;
                    -*) [[ ${COMP_WORDS[index+1]} != = ]] || ((index += 2)) ;;
                    *) command=${COMP_WORDS[index]}; break ;;
                    esac
                    ((index += 1))
                done
                case $command in
                ''|help) options="\(self.options(of: nil))" ;;
            \(optionCases.joined(separator: "\n"))
                *) options="\(self.options(of: .request))" ;;
                esac
                case $previous in
            \(choices.joined(separator: "\n"))
                \(fileOptions.joined(separator: "|"))) return ;;
                esac
                case $word in
                -*) COMPREPLY=($(compgen -W "$options" -- "$word")); return ;;
                *@*)
                    while IFS= read -r name; do
                        [ ! -d "${name#*@}" ] || name+=/
                        COMPREPLY+=("$name")
                    done < <(compgen -P "${word%%@*}@" -f -- "${word#*@}")
                    compopt -o filenames 2>/dev/null
                    [[ ${#COMPREPLY[@]} -ne 1 || $COMPREPLY != */ ]] || compopt -o nospace 2>/dev/null
                    return ;;
                esac
                # The value of an option.
                ((index <= COMP_CWORD)) || return
                case $command in
                '') COMPREPLY=($(compgen -W "\(commandWords)" -- "$word")); return ;;
                esac
                ((index == COMP_CWORD - 1)) || return
                case $command in
                completions) COMPREPLY=($(compgen -W "\(shellWords)" -- "$word")) ;;
                cache) COMPREPLY=($(compgen -W "\(cacheWords)" -- "$word")) ;;
                help) COMPREPLY=($(compgen -W "\(topicWords)" -- "$word")) ;;
                esac
            }
            complete -o default -F _swiftaf swiftaf

            """
    }

    private static var zsh: String {
        let specifications = entries.flatMap { entry in
            entry.names.map { name in
                "    (( kind & \(entry.commands.rawValue) )) && options+=(\(specification(of: entry, name)))"
            }
        }
        let cases = kinds.map { "        \($0.commands.joined(separator: "|"))) kind=\($0.kind.rawValue) ;;" }
        return """
            #compdef swiftaf
            # zsh completion of swiftaf: swiftaf completions zsh > a folder of $fpath, as _swiftaf
            # A file behind the `@` of a value, and nothing else.
            _swiftaf_value() {
                compset -P 1 '*@' && _files
            }
            _swiftaf_item() {
                case $command in
                cache) [[ $words[CURRENT-1] == cache ]] && compadd -- \(cacheWords) ;;
                completions) [[ $words[CURRENT-1] == completions ]] && compadd -- \(shellWords) ;;
                help) [[ $words[CURRENT-1] == help ]] && compadd -- \(topicWords) ;;
                *) compset -P 1 '*@'; _files ;;
                esac
            }
            _swiftaf() {
                local -a commands=(\(commandWords)) options
                local command= word
                local -i kind=\(CommandKinds.all.rawValue) skips=0
                # The command is the first word that is neither an option nor its value.
                for word in "${(@)words[2,CURRENT-1]}"; do
                    if (( skips )); then skips=0; continue; fi
                    case $word in
                    \(valueOptions.joined(separator: "|"))) skips=1; continue ;;
                    -*) continue ;;
                    esac
                    command=$word
                    case $command in
                    # Any option is a topic.
                    help) ;;
            \(cases.joined(separator: "\n"))
                    *) kind=\(request.kind.rawValue) ;;
                    esac
                    break
                done
            \(specifications.joined(separator: "\n"))
                _arguments -s $options \\
                    '1:command or URL:($commands)' \\
                    '*:item:_swiftaf_item'
            }
            _swiftaf "$@"

            """
    }

    private static func specification(of entry: OptionEntry, _ name: String) -> String {
        // An apostrophe would end the quoted word of the shell; brackets and colons would end a part of zsh's
        // specification.
        let help = entry.help.map { $0 == "'" ? "'\\''" : "[]:".contains($0) ? " " : String($0) }.joined()
        // Without a star, an option is offered once.
        let star = entry.isRepeatable ? "*" : ""
        guard let text = entry.placeholder?.filter(\.isLetter) else { return "'\(star)\(name)[\(help)]'" }
        guard !entry.hasOptionalValue else {
            // `=-`: the value is in the same word. Only the long spelling takes one.
            return name.hasPrefix("--") ? "'\(name)=-[\(help)]::\(text):_files'" : "'\(name)[\(help)]'"
        }
        guard entry.choices.isEmpty else {
            // `=`: the value is in the same word or in the next one.
            let mark = name.hasPrefix("--") ? "=" : ""
            let message = text.isEmpty ? "position" : text
            return "'\(name)\(mark)[\(help)]:\(message):(\(entry.choices.joined(separator: " ")))'"
        }
        return "'\(star)\(name)[\(help)]:\(text):\(takesFile(entry) ? "_files" : "_swiftaf_value")'"
    }

    private static var fish: String {
        let lines = entries.map { entry -> String in
            let names = entry.names.map { name in
                name.hasPrefix("--") ? "-l \(name.dropFirst(2))" : "-s \(name.dropFirst())"
            }
            let hasValue = entry.placeholder != nil && !entry.hasOptionalValue
            let words = entry.choices.isEmpty ? "(__swiftaf_files)" : entry.choices.joined(separator: " ")
            let value = hasValue ? takesFile(entry) ? " -r -F" : " -x -a '\(words)'" : ""
            let help = entry.help.map { $0 == "'" ? "\\'" : String($0) }.joined()
            let kinds = self.names(of: entry.commands).joined(separator: " ")
            return
                "complete -c swiftaf -n '__swiftaf_is none help \(kinds)' \(names.joined(separator: " "))\(value) -d '\(help)'"
        }
        let cases = kinds.map { kind in
            "            case \(kind.commands.joined(separator: " "))\n                echo \(kind.name)"
        }
        return """
            # fish completion of swiftaf: swiftaf completions fish | source
            # Prints the kind of the command, which is the first word that is neither an option nor its value.
            function __swiftaf_kind
                set -l skips 0
                set -l words (commandline -opc)
                for word in $words[2..-1]
                    if test $skips = 1
                        set skips 0
                        continue
                    end
                    switch $word
                        case \(valueOptions.joined(separator: " "))
                            set skips 1
                            continue
                        case '-*'
                            continue
                        case help
                            echo help
            \(cases.joined(separator: "\n"))
                        case '*'
                            echo request
                    end
                    return
                end
                echo none
            end
            function __swiftaf_is
                contains -- (__swiftaf_kind) $argv
            end
            # Prints the word with each file that its end, behind the first `@`, may stand for.
            function __swiftaf_files
                set -l word (commandline -ct)
                string match -q '*@*' -- $word; or return
                set -l parts (string split -m 1 @ -- $word)
                for name in (complete -C "'' $parts[2]")
                    echo $parts[1]@$name
                end
            end
            complete -c swiftaf -n '__swiftaf_is none' -f -a '\(commandWords)'
            complete -c swiftaf -n '__swiftaf_is \(self.names(of: .exchanges).joined(separator: " "))' -a '(__swiftaf_files)'
            complete -c swiftaf -n '__fish_seen_subcommand_from completions' -f -a '\(shellWords)'
            complete -c swiftaf -n '__fish_seen_subcommand_from cache' -f -a '\(cacheWords)'
            complete -c swiftaf -n '__fish_seen_subcommand_from help' -f -a '\(topicWords)'
            \(lines.joined(separator: "\n"))

            """
    }
}
