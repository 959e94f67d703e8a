#if Compression
    import FoundationEssentials
    import SwiftAF
    import SwiftAFCompression
    import Testing

    @Suite struct MessageDeflateTests {
        /// What a stream makes of the bytes, in steps of `room` bytes; nil if they are invalid.
        private func convert(_ bytes: [UInt8], _ stream: any WebSocketCompressionStream, room: Int) -> [UInt8]? {
            var output: [UInt8] = []
            var part = [UInt8](repeating: 0, count: room)
            return bytes.withUnsafeBytes { all in
                var rest = all
                while true {
                    guard let count = part.withUnsafeMutableBytes({ stream.convert(&rest, into: $0) }) else {
                        return nil
                    }
                    output += part.prefix(count)
                    if count < room { return rest.isEmpty ? output : nil }
                }
            }
        }

        private func noise(_ count: Int) -> [UInt8] {
            var state: UInt64 = 88_172_645_463_325_252
            return (0..<count).map { index in
                state ^= state << 13
                state ^= state >> 7
                state ^= state << 17
                return index.isMultiple(of: 2) ? 0x61 : UInt8(truncatingIfNeeded: state)
            }
        }

        @Test(arguments: [9, 10, 15], [7, 100, 16384])
        func roundTripKeepsMessageAndWindow(bits: Int, room: Int) throws {
            let codec = MessageDeflate()
            let compressor = try #require(codec.makeStream(isCompressing: true, windowBits: bits))
            let decompressor = try #require(codec.makeStream(isCompressing: false, windowBits: bits))
            for size in [1, 100, 5000, 70000, 100] {
                let message = noise(size)
                let compressed = try #require(convert(message, compressor, room: max(room, 64)))
                #expect(compressed.suffix(4) == [0, 0, 0xff, 0xff])
                #expect(convert(compressed, decompressor, room: room) == message)
            }
        }

        @Test func smallestWindowIsOnlyDecompressed() {
            let codec = MessageDeflate()
            #expect(codec.makeStream(isCompressing: true, windowBits: 8) == nil)
            #expect(codec.makeStream(isCompressing: false, windowBits: 8) != nil)
        }

        @Test func decompressesExamplesOfRFC7692() throws {
            let stream = try #require(MessageDeflate().makeStream(isCompressing: false, windowBits: 15))
            let hello = Array("Hello".utf8)
            let tail: [UInt8] = [0, 0, 0xff, 0xff]
            // RFC 7692 7.2.3.1, 7.2.3.2, 7.2.3.3, 7.2.3.4.
            #expect(convert([0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00] + tail, stream, room: 100) == hello)
            #expect(convert([0xf2, 0x00, 0x11, 0x00, 0x00] + tail, stream, room: 100) == hello)
            stream.reset()
            #expect(convert([0x00, 0x05, 0x00, 0xfa, 0xff] + hello + [0x00] + tail, stream, room: 100) == hello)
            #expect(convert([0xf3, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00, 0x00] + tail, stream, room: 100) == hello)
        }

        @Test(arguments: [(-1, 0), (0, 0), (9, 9), (10, 9)])
        func levelsAreClamped(level: Int, used: Int) throws {
            let message = noise(5000)
            func compressed(_ codec: some WebSocketCompression) throws -> [UInt8]? {
                convert(message, try #require(codec.makeStream(isCompressing: true, windowBits: 15)), room: 16384)
            }
            #expect(try compressed(.deflate(level: level)) == compressed(.deflate(level: used)))
            #expect(try compressed(.deflate(level: 0)) != compressed(.deflate(level: 9)))
        }

        @Test func refusesInvalidCompressedData() throws {
            let stream = try #require(MessageDeflate().makeStream(isCompressing: false, windowBits: 15))
            #expect(convert([0xff, 0xff, 0xff], stream, room: 100) == nil)
        }
    }
#endif
