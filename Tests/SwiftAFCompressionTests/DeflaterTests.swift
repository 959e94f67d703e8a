#if Compression
    import FoundationEssentials
    import SwiftAF
    import Testing

    @testable import SwiftAFCompression

    @Suite struct DeflaterTests {
        @Test func throwsIfZlibFails() throws {
            let deflater = try Deflater(level: 6)
            var output: [UInt8] = []
            try deflater.compress(Data("whole".utf8), isLast: true, into: &output)
            let size = output.count
            // The stream has ended.
            for isLast in [false, true] {
                let error = #expect(throws: SessionError.self) {
                    try deflater.compress(Data("more".utf8), isLast: isLast, into: &output)
                }
                #expect(error?.code == .serialization)
            }
            #expect(output.count == size)
        }

        @Test func throwsForALevelThatZlibDoesNotHave() {
            #expect(throws: SessionError.self) { try Deflater.gzip(Data(), level: 10) }
        }

        @Test func piecesAreOneStream() throws {
            let deflater = try Deflater(level: 0)
            var output: [UInt8] = []
            // Uncompressed, so that output ends at, before and behind the ends of buffers.
            for size in [0, 1, 32_768, 65_536, 100_000, 7] {
                try deflater.compress(Data(repeating: 0x61, count: size), isLast: false, into: &output)
            }
            try deflater.compress(Data(), isLast: true, into: &output)
            #expect(output.count > 198_312)
            #expect(output.suffix(4).reversed().reduce(0) { $0 << 8 | Int($1) } == 198_312)
        }
    }
#endif
