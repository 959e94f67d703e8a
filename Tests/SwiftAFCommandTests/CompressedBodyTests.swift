import AFTestServer
import FoundationEssentials
import SwiftAF
import Testing

@testable import SwiftAFCommand

/// Bodies that are a thousand times smaller on the wire.
@Suite struct CompressedBodyTests {
    private static let mebibytes = 100
    private let server: TestServer

    init() throws {
        server = try TestServer()
        for mebibytes in [20, Self.mebibytes] {
            server.route(
                "/\(mebibytes)",
                .respond(200, headers: ["Content-Encoding": "deflate"], body: Self.zeros(mebibytes: mebibytes)))
        }
    }

    /// Zeros as zlib compresses them: blocks of a MiB, the end, and Adler-32 of the whole.
    private static func zeros(mebibytes: Int) -> Data {
        let start: [UInt8] = [0xEC, 0xC1, 0x31, 0x01, 0, 0, 0, 0xC2, 0xA0, 0xF5, 0x4F, 0x6D, 0x08, 0x5F, 0xA0]
        let block = start + [UInt8](repeating: 0, count: 1016) + [0x3E, 0x03, 0, 0, 0xFF, 0xFF]
        let checksum = UInt32((mebibytes << 20) % 65521) << 16 | 1
        var bytes: [UInt8] = [0x78, 0xDA]
        for _ in 0..<mebibytes { bytes += block }
        bytes += [0x03, 0x00] + (0..<4).map { UInt8(truncatingIfNeeded: checksum >> (24 - 8 * $0)) }
        return Data(bytes)
    }

    /// Counts what is written.
    private final class CountingSink: ByteSink {
        let isTerminal = false
        let columns = 80
        let count = Locked(0)

        func write(_ bytes: Data) throws(WriteError) {
            count.withLock { $0 += bytes.count }
        }
    }

    @Test func standardOutputHasNoLimit() async {
        let sink = CountingSink()
        let runner = Runner(console: Console(input: -1, output: sink, error: MemorySink()))
        #expect(await runner.run(["get", server.urlString("/\(Self.mebibytes)")]) == .success)
        #expect(sink.count.withLock { $0 } == Self.mebibytes << 20)
    }

    @Test(arguments: ["get", "download"])
    func filesHaveNoLimit(command: String) async throws {
        let file = try TemporaryFile()
        #expect(await swiftaf(command, server.urlString("/\(Self.mebibytes)"), "-o", file.path).exit == 0)
        #expect(file.content?.count == Self.mebibytes << 20)
    }

    @Test func memoryHasItsLimit() async {
        let run = await swiftaf("get", server.urlString("/20"), "--json", "--max-body", "19M")
        #expect(run.exit == 6 && run.error.contains("--max-body"))
    }

    /// "hello" in gzip, without its last byte. The length is that of these bytes.
    @Test func aBodyThatEndsEarlyIsAnError() async throws {
        let text: [UInt8] = [0x01, 0x05, 0, 0xFA, 0xFF] + Array("hello".utf8)
        let body = Data([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF] + text + [0x86, 0xA6, 0x10, 0x36, 5, 0, 0])
        server.route("/cut", .respond(200, headers: ["Content-Encoding": "gzip"], body: body))
        let run = await swiftaf(server.urlString("/cut"))
        #expect(run.exit == 3 && run.text == "hello")
        #expect(run.error.contains("the gzip data of the body ends early"))
        let file = try TemporaryFolder()
        #expect(await swiftaf(server.urlString("/cut"), "-o", file.path + "/f").exit == 3 && file.names.isEmpty)
    }
}
