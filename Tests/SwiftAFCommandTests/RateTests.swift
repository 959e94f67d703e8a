import AFTestServer
import FoundationEssentials
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// `--limit-rate`, from the command line onto the wire. At a thousand bytes per second a body takes hours: the time
/// limit comes first if the rate is kept, and never if it is not.
@Suite struct RateTests {
    private static let size = 10_000_000
    /// What a hundred seconds would move.
    private static let much: Int64 = 100_000

    private let server: TestServer
    private let file: TemporaryFile

    init() throws {
        server = try TestServer()
        file = try TemporaryFile(Data(repeating: 0x61, count: Self.size))
        server.route("/film", .respond(headers: ["ETag": "\"one\""], body: Data(repeating: 0x62, count: Self.size)))
    }

    @Test(arguments: [["upload", "part@"], ["put", "-d", "@"]])
    func limitsRateOfUploads(form: [String]) async throws {
        let words = [form[0], server.urlString()] + form.dropFirst().dropLast() + [form[form.count - 1] + file.path]
        let slow = await swiftaf(words + ["--limit-rate", "1000", "--timeout", "0.5", "--json"])
        #expect(slow.exit == 4)
        #expect(slow.json["error"]?["reason"] == "total")
        #expect((slow.json["sent"]?.integer ?? .max) < Self.much)
        #expect(server.statistics.received < UInt64(Self.much))
        let fast = await swiftaf(words + ["--limit-rate", "1000000000", "--json"])
        #expect(fast.exit == 0)
        #expect((fast.json["sent"]?.integer ?? 0) >= Int64(Self.size))
    }

    @Test func limitsRateOfDownloads() async throws {
        let path = file.folder + "/film"
        let words = ["download", server.urlString("/film"), "-o", path, "--json"]
        // The response begins before the limit passes, however slow the machine is.
        var limit = 0.5
        var slow = await swiftaf(words + ["--limit-rate", "1000", "--timeout", "\(limit)"])
        while slow.json["status"]?.integer == nil, limit < 30 {
            limit *= 4
            slow = await swiftaf(words + ["--limit-rate", "1000", "--timeout", "\(limit)"])
        }
        #expect(slow.exit == 4)
        #expect(slow.json["error"]?["reason"] == "total")
        #expect(slow.json["error"]?["resumable"] == true)
        #expect((slow.json["received"]?.integer ?? .max) < Self.much)
        let fast = await swiftaf(words + ["--limit-rate", "1000000000"])
        #expect(fast.exit == 0)
        #expect(fast.json["received"]?.integer == Int64(Self.size))
    }
}
