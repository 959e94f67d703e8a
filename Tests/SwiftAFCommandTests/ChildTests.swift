import Glibc
import Testing

@testable import SwiftAFCommand

@Suite struct ChildTests {
    private func start(_ command: String...) throws -> Child {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        return Child(try Launch.spawn(command.map { RawText($0) }, [:], &actions))
    }

    @Test func endsWithItsLastReference() throws {
        var child: Child? = try start("/bin/sleep", "1000")
        let identifier = try #require(child?.identifier)
        #expect(kill(identifier, 0) == 0)
        child = nil
        #expect(kill(identifier, 0) == -1 && errno == ESRCH)
    }

    @Test func keepsItsStatus() async throws {
        let child = try start("/bin/sh", "-c", "exit 3")
        #expect(await child.wait() == 3)
        #expect(await child.wait() == 3)
        let stopped = try start("/bin/sleep", "1000")
        // Not SIGTERM: threads of the pool block it, and a process that they start inherits that.
        stopped.send(SIGKILL)
        #expect(await stopped.wait() == nil)
    }
}
