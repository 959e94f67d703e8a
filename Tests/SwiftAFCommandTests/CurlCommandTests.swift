import FoundationEssentials
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// What `--as-curl` says about options, and what it needn't know.
@Suite struct CurlCommandTests {
    @Test func optionsOfFilesAndLimitsAreKept() async {
        let words = ["example.org/f", "-o", "out", "--max-body", "1M", "--idle-timeout", "1.5", "--as-curl"]
        let run = await swiftaf(words + ["--no-clobber"])
        #expect(run.exit == 0 && run.text.contains(" --no-clobber") && run.text.contains(" --max-filesize 1048576"))
        #expect(run.text.contains(" --speed-time 2 --speed-limit 1"))
        let timed = await swiftaf(words + ["--timestamps"])
        #expect(timed.text.contains(" --time-cond out --remote-time"))
        let plain = await swiftaf("example.org/f", "-o", "out", "--idle-timeout", "0", "--as-curl")
        #expect(!["clobber", "filesize", "speed", "time-cond"].contains { plain.text.contains($0) })
    }

    @Test func secretsAreNotNeeded() async {
        let named = await swiftaf("example.org", "-u", "joe", "--as-curl")
        #expect(named.exit == 0 && named.text.contains("--user joe ") && named.error.isEmpty)
        let token = await swiftaf("example.org", "--bearer", "env:NOPE", "--as-curl")
        #expect(token.exit == 0 && token.text.contains("Authorization: <hidden>"))
        let user = await swiftaf("example.org", "--user", "env:NOPE", "--as-curl")
        #expect(user.exit == 0 && user.text.contains("--user NAME "))
    }
}
