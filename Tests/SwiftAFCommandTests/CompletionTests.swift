import FoundationEssentials
import Glibc
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// What the script for bash offers.
@Suite(.enabled(if: access("/bin/bash", X_OK) == 0, "bash is missing")) struct CompletionTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        folder.write("", to: "a b.png")
        #expect(mkdir(folder.path + "/a c", 0o700) == 0)
    }

    /// The words that are offered for the last of a command line.
    private func offered(_ words: String...) async throws -> [String] {
        folder.write(Completions.script(for: .bash), to: "script")
        let command = """
            . ./script; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _swiftaf; printf '%s\\n' "${COMPREPLY[@]}"
            """
        let quoted = (["swiftaf"] + words).map { "'\($0)'" }.joined(separator: " ")
        let run = try ProgramRun("/bin/bash", "-c", "set -- \(quoted); \(command)", folder: folder.path)
        let text = await run.readAll()
        #expect(await run.wait() == 0)
        return text.split(separator: "\n").map(String.init)
    }

    @Test func namesOfFilesAreLeftToTheShell() async throws {
        #expect(try await offered("get", "-o", "a").isEmpty)
        #expect(try await offered("get", "--cacert", "").isEmpty)
        #expect(Completions.script(for: .bash).contains("complete -o default -F _swiftaf swiftaf"))
    }

    @Test func namesOfFilesInItemsStayWhole() async throws {
        #expect(try await offered("upload", "u", "photo@a").sorted() == ["photo@a b.png", "photo@a c/"])
    }

    @Test func commandsFollowOptions() async throws {
        #expect(try await offered("--json", "dow") == ["download"])
        #expect(try await offered("--timeout", "3", "dow") == ["download"])
        #expect(try await offered("--timeout", "=", "3", "dow") == ["download"])
        #expect(try await offered("--timeout", "dow").isEmpty)
        #expect(try await offered("--json", "cache", "") == ["list", "show", "clear", "verify"])
    }

    @Test func topicsAreOffered() async throws {
        let topics = try await offered("help", "")
        #expect(topics.contains("time") && topics.contains("man") && topics.contains("upload"))
        #expect(Set(topics).count == topics.count)
        for topic in topics { #expect(throws: Never.self) { try Usage.text(of: topic) } }
    }

    @Test func optionsAreTopics() async throws {
        #expect(try await offered("help", "--re").contains("--retry"))
        #expect(try await offered("help", "--js") == ["--json"])
        #expect(try await offered("demo", "--re").isEmpty)
    }

    @Test func optionsOfTheCommandAreOffered() async throws {
        #expect(try await offered("ws", "u", "--pi") == ["--ping", "--pin", "--pin-cert"])
        #expect(try await offered("cache", "list", "-").contains("--cache"))
        #expect(try await !offered("cache", "list", "-").contains("--output"))
        #expect(try await offered("get", "u", "--ping").isEmpty)
        #expect(try await offered("u", "--form") == ["--form"])
    }

    @Test func fixedWordsAreOffered() async throws {
        #expect(try await offered("completions", "") == ["bash", "zsh", "fish"])
        #expect(try await offered("cache", "") == ["list", "show", "clear", "verify"])
        #expect(try await offered("get", "u", "--auth", "n") == ["ntlm", "negotiate"])
        #expect(try await offered("dow") == ["download"])
        #expect(try await offered("get", "--json", "cache").isEmpty)
        #expect(try await offered("get", "u", "--auth", "=", "n") == ["ntlm", "negotiate"])
        #expect(try await offered("get", "--auth", "=").count == 5)
        #expect(try await offered("--tls-min", "=", "") == ["1.2", "1.3"])
        #expect(Completions.script(for: .zsh).contains("'--no-redirects[don'\\''t follow redirects]'"))
        for shell in [Completions.Shell.zsh, .fish] {
            #expect(Completions.script(for: shell).contains("basic digest any ntlm negotiate"))
        }
    }
}

/// What the script for fish offers.
@Suite(.enabled(if: access("/usr/bin/fish", X_OK) == 0, "fish is missing")) struct FishCompletionTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        folder.write("", to: "a b.png")
        #expect(mkdir(folder.path + "/a c", 0o700) == 0)
    }

    /// The words that are offered for the last of a command line, without what is said about them.
    private func offered(_ line: String) async throws -> [String] {
        folder.write(Completions.script(for: .fish), to: ".script")
        let command = "source .script; complete -C 'swiftaf \(line)'"
        let run = try ProgramRun("/usr/bin/fish", "--no-config", "-c", command, folder: folder.path)
        let text = await run.readAll()
        #expect(await run.wait() == 0)
        return text.split(separator: "\n").map { $0.split(separator: "\t").first.map(String.init) ?? "" }
    }

    @Test func commandsAreNoFiles() async throws {
        #expect(try await offered("").contains("download"))
        #expect(try await !offered("").contains { $0.hasPrefix("a ") })
        #expect(try await offered("dow") == ["download"])
        #expect(try await offered("cache ") == ["clear", "list", "show", "verify"])
    }

    @Test(arguments: ["upload u photo@a", "get u a=@a", "get u -d @a", "-F x=@a", "get u --user @a"])
    func filesBehindASignAreOffered(line: String) async throws {
        let prefix = line.split(separator: " ").last?.dropLast() ?? ""
        #expect(try await offered(line) == ["\(prefix)a b.png", "\(prefix)a c/"])
    }

    @Test func optionsAreOffered() async throws {
        #expect(try await offered("help --re").contains("--retry"))
        #expect(try await offered("help re").contains("request"))
        #expect(try await offered("ws u --pi").sorted() == ["--pin", "--pin-cert", "--ping"])
        #expect(try await !offered("get u --pi").contains("--ping"))
        #expect(try await offered("get u --auth n") == ["negotiate", "ntlm"])
        #expect(try await offered("get u -o a") == ["a b.png", "a c/"])
    }
}

/// The script for zsh, which completes nothing without a terminal.
@Suite struct ZshCompletionTests {
    private let script = Completions.script(for: .zsh)

    @Test func filesBehindASignAreOffered() {
        #expect(script.contains(":DATA:_swiftaf_value'") && script.contains("compset -P 1 '*@' && _files"))
        #expect(script.contains("*) compset -P 1 '*@'; _files ;;"))
    }

    @Test func optionsAreTopics() throws {
        let help = try #require(script.firstRange(of: "help) ;;")).lowerBound
        let local = try #require(script.firstRange(of: "kind=\(CommandKinds.local.rawValue)")).lowerBound
        #expect(help < local)
    }

    @Test(.enabled(if: access("/usr/bin/zsh", X_OK) == 0, "zsh is missing"))
    func itIsValid() async throws {
        let folder = try TemporaryFolder()
        folder.write(script, to: "script")
        let run = try ProgramRun("/usr/bin/zsh", "-f", "-n", "script", folder: folder.path)
        #expect(await run.readAll().isEmpty)
        #expect(await run.wait() == 0)
    }
}
