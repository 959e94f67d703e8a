import FoundationEssentials
import SwiftAF
import Testing

@testable import SwiftAFCommand

@Suite struct HelpTests {
    @Test func topicsSelectSections() throws {
        #expect(try Usage.text(of: "trust").contains("\nTrust\n"))
        #expect(try Usage.text(of: "items").contains("name:=@path"))
        #expect(try Usage.text(of: "get").hasPrefix("Usage\n"))
        #expect(try Usage.text(of: "--timeout").contains("-m, --max-time, --timeout S"))
        #expect(try Usage.text(of: "timeout") == Usage.text(of: "--timeout"))
        #expect(throws: Failure.self) { try Usage.text(of: "nonsense") }
        let error = #expect(throws: Failure.self) { try Usage.text(of: "http://joe:secret@host/") }
        #expect(error?.message.contains("no help about 'http://host/'") == true)
    }

    @Test(arguments: ["--retry", "-o", "--insecure", "--help", "-E", "-n"])
    func optionsAreExplained(option: String) async throws {
        let run = await swiftaf("help", option)
        #expect(run.exit == 0 && run.error.isEmpty)
        #expect(try run.text == Usage.text(of: option) && run.text.contains(option))
        #expect(await swiftaf("help", option, "--json").json["body"]?.string == run.text)
    }

    @Test(arguments: CommandName.all)
    func everyCommandIsExplained(command: String) async throws {
        let kind = try #require(CommandName.kind(of: command))
        let text = try #require(Usage.text(ofCommand: command))
        #expect(text.hasPrefix("Usage\n  swiftaf \(command)"))
        let lines = text.split(separator: "\n")
        for entry in OptionTable.groups.flatMap(\.entries) {
            let isShown = lines.contains { $0.hasPrefix("  \(entry.spelling)") }
            #expect(
                isShown
                    == (entry.commands.isSuperset(of: kind)
                        || (kind == .request && entry.commands.isSuperset(of: .download))))
        }
        if command != "help" { #expect(await swiftaf(command, "--help").text == text) }
        if command != "options" { #expect(try Usage.text(of: command).contains("Usage\n  swiftaf \(command)")) }
    }

    @Test func topicsOfSeveralWordsAreFound() async {
        #expect(await swiftaf("help", "time", "limits").text.hasPrefix("Time limits\n"))
        #expect(await swiftaf("help", "exit", "status").text.hasPrefix("Exit status\n"))
        #expect(await swiftaf("help", "cache", "list").text.contains("swiftaf cache list"))
    }

    @Test func unitsAreExplainedWhereTheyAreTaken() throws {
        let values = try Usage.text(of: "values")
        #expect(
            values.hasPrefix("Values\n") && values.contains("500ms, 2s, 1m, 1h") && values.contains("64k, 1.5M, 2G"))
        for command in ["get", "download", "ws", "trust"] {
            #expect(Usage.text(ofCommand: command)?.contains(values) == true, "\(command)")
        }
        #expect(Usage.text(ofCommand: "cache")?.contains(values) == false)
    }

    @Test func wordsFindTopicsAndOptions() throws {
        let limits = try Usage.text(of: "limits")
        #expect(limits.hasPrefix("Time limits\n") && limits.contains("\nSize limits\n"))
        let headers = try Usage.text(of: "headers")
        #expect(headers.contains("--header LINE") && headers.contains("--session NAME") && !headers.contains("--netrc"))
    }

    @Test(arguments: [20, 40, 60, 80, 100]) func helpFitsTheTerminal(columns: Int) {
        let text = Usage.text.wrapped(columns: columns)
        func words(_ text: String) -> [Substring] { text.split { $0.isWhitespace } }
        #expect(words(text) == words(Usage.text))
        guard columns >= 80 else { return }
        for line in text.split(separator: "\n") { #expect(line.count <= columns, "\(line)") }
    }

    /// Columns stay aligned: what is longer than the column has a line of its own.
    @Test func helpIsAligned() {
        let options = Usage.text.split(separator: "\n").filter { $0.hasPrefix("  -") }
        #expect(options.contains { $0.hasSuffix("--oauth2-bearer, --bearer TOKEN") })
        let alone = OptionTable.groups.flatMap(\.entries).map { "  \($0.spelling)" }
        for line in options where !alone.contains(String(line)) { #expect(line.dropFirst(30).first == " ") }
        let ascii = Usage.synopsis(ellipsis: "...").split(separator: "\n").filter {
            $0.count > 49 && !$0.contains("get|")
        }
        #expect(ascii.count > 8 && ascii.allSatisfy { $0.dropFirst(48).first == " " && $0.dropFirst(49).first != " " })
    }

    @Test func everyForeignOptionIsInTheTableOfItsPage() throws {
        let page = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "docs/cli-from-curl.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        for option in ForeignOption.all {
            #expect(text.contains("| \(option.names.map { "`\($0)`" }.joined(separator: " ")) | \(option.advice) |"))
            for name in option.names { #expect(OptionTable.entry(named: name) == nil) }
        }
    }

    @Test func helpIsAboutOneTopic() async {
        #expect(await swiftaf("help", "--nonsense").exit == 1)
        #expect(await swiftaf("help", "-o", "-i").exit == 1)
        #expect(await swiftaf("help", "--json").json["ok"] == true)
    }

    @Test func everyOptionIsInTheTablesOfItsPage() throws {
        let page = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "docs/cli.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        for entry in OptionTable.groups.flatMap(\.entries) {
            let row = "| `\(entry.spelling)` | \(entry.help) | "
            #expect(text.contains(row), "docs/cli.md lacks \(row)")
        }
    }

    @Test func everyOptionIsInHelpManualAndCompletions() async {
        let help = Usage.text
        let scripts = [Completions.Shell.bash, .zsh, .fish].map(Completions.script)
        for entry in OptionTable.groups.flatMap(\.entries) {
            for name in entry.names {
                #expect(help.contains(name))
                #expect(
                    ManualPage.text.contains(
                        name.split(separator: "-", omittingEmptySubsequences: false).joined(separator: "\\-")))
                #expect(
                    scripts[0].contains(name)
                        && ["'\(name)[", "'*\(name)[", "'\(name)=-[", "'\(name)=["].contains { scripts[1].contains($0) }
                )
                let fish = name.hasPrefix("--") ? "-l \(name.dropFirst(2))" : "-s \(name.dropFirst())"
                #expect(scripts[2].contains(fish))
            }
        }
        let run = await swiftaf("completions", "bash")
        #expect(run.exit == 0 && run.text == scripts[0])
    }

    @Test func optionalValuesAreNotCompletedAsNextWords() {
        let entries = OptionTable.groups.flatMap(\.entries).filter(\.hasOptionalValue)
        #expect(entries.map { $0.names.last } == ["--netrc", "--cache"])
        let bash = Completions.script(for: .bash)
        let files = bash.split(separator: "\n").first { $0.hasSuffix(") return ;;") } ?? ""
        #expect(files.contains("--output|") && !files.contains("--netrc") && !files.contains("--cache"))
        let zsh = Completions.script(for: .zsh)
        #expect(zsh.contains("'--netrc=-[") && zsh.contains("'--cache=-[") && zsh.contains("'-n["))
        let fish = Completions.script(for: .fish).split(separator: "\n").filter {
            $0.contains("-l netrc") || $0.contains("-l cache ")
        }
        #expect(fish.count == 2 && fish.allSatisfy { !$0.contains(" -x") && !$0.contains(" -r") })
    }

    @Test func helpAboutOptionsHasAllOfThem() throws {
        let text = try Usage.text(of: "options")
        #expect(text.hasPrefix("Request\n") && text.contains("\nAbout\n") && !text.contains("Exit status"))
        for entry in OptionTable.groups.flatMap(\.entries) { #expect(text.contains("  \(entry.spelling)")) }
        #expect(try Usage.text(of: "network").contains("--proxy") && Usage.text(of: "network").contains("--noproxy"))
    }

    @Test func manualIsInASCIIWithTheUsualSections() {
        let text = ManualPage.text
        let titles = [
            "NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "ITEMS", "VALUES", "ENVIRONMENT", "EXAMPLES", "EXIT STATUS",
        ]
        for title in titles { #expect(text.contains("\n.SH \(title)\n")) }
        for note in ["Standard input that isn\\(aqt", "Redirects are followed."] {
            #expect(text.contains("\n.PP\n\(note)"))
        }
        #expect(text.utf8.allSatisfy { $0 < 0x80 } && !text.contains("'") && !text.contains("~"))
        #expect(text.contains("\n.TP\n.B \\-m, \\-\\-max\\-time, \\-\\-timeout S\n"))
        #expect(text.contains("swiftaf URL [ITEM...] [OPTIONS]"))
    }

    @Test func zshOffersRepeatableOptionsAgainAndFixedWords() {
        let zsh = Completions.script(for: .zsh)
        for name in ["-H", "--header", "-d", "-F", "-b", "--pin", "--resolve"] { #expect(zsh.contains("'*\(name)[")) }
        for name in ["-o", "--timeout", "--json"] { #expect(zsh.contains("'\(name)[")) }
        #expect(zsh.contains("'-C[") && zsh.contains("]:position:(-)'"))
        #expect(zsh.contains("compadd -- list show clear verify") && zsh.contains("compadd -- bash zsh fish"))
    }

    @Test func helpNamesCodesAndReasons() async {
        let text = await swiftaf("help", "exit").text
        for name in ["usage", "closed", "unknown", "notYetValid", "wrongHost", "selfSigned", "unknownIssuer", "idle"] {
            #expect(text.contains(name))
        }
    }

    @Test(arguments: OptionID.allCases) func rulesAreAboutOptionsOfTheTable(id: OptionID) {
        #expect(OptionTable.entry(named: id.rawValue)?.id == id)
    }

    @Test func spellingsAreUnique() {
        let names = OptionTable.groups.flatMap(\.entries).flatMap(\.names)
        #expect(Set(names).count == names.count)
    }

    /// Also where an option group has the same name.
    @Test(arguments: ["request", "trust", "cache"]) func helpOfACommandBeginsWithItsUse(command: String) async {
        #expect(await swiftaf("help", command).text.hasPrefix("Usage\n  swiftaf \(command)"))
    }

    /// What people who know curl expect to be otherwise.
    @Test func helpSaysWhatDiffersFromCurl() {
        let usage = Usage.text
        for text in ["Redirects are followed.", "404 is a failure", "is the body of POST, PUT and PATCH"] {
            #expect(usage.contains(text))
        }
        for status in [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 70] {
            #expect(usage.contains("\n" + "  \(status)".padded(to: 31)))
        }
    }

    @Test func helpOfSocketsHasNoBodies() {
        let socket = Usage.text(ofCommand: "ws") ?? ""
        #expect(socket.contains("name==value") && socket.contains("Name:@path, name==@path"))
        #expect(!socket.contains("body field") && !socket.contains("file part"))
        #expect(Usage.text(ofCommand: "post")?.contains("name@path") == true)
    }

    /// Each example that has no file of its own is a valid command line.
    @Test func examplesOfHelpAreValid() throws {
        let lines = try Usage.text(of: "examples").split(separator: "\n").filter { $0.hasPrefix("  swiftaf ") }
        #expect(lines.count == 8)
        for line in lines {
            let line = line.dropFirst(2)
            let command = line.firstRange(of: "  ").map { line[..<$0.lowerBound] } ?? line
            let words = command.split(separator: " ").dropFirst().map { RawText(String($0)) }
            #expect(throws: Never.self) { try ArgumentParser.parse(words).command.get() }
        }
    }
}
