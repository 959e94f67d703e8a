#if Compression
    import CZlib
    import FoundationEssentials
    import SwiftAF
    import SwiftAFCompression
    import Testing

    /// What zlib makes of gzip's bytes; nil if they are not valid or not all used.
    private func gunzip(_ data: Data, expecting count: Int) -> Data? {
        var stream = z_stream()
        guard czlib_inflate_init_gzip(&stream) == Z_OK else { return nil }
        defer { inflateEnd(&stream) }
        var input = Array(data)
        var output = [UInt8](repeating: 0, count: count + 1)
        let status = input.withUnsafeMutableBufferPointer { input in
            output.withUnsafeMutableBufferPointer { output in
                stream.next_in = input.baseAddress
                stream.avail_in = UInt32(input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(output.count)
                return inflate(&stream, Z_FINISH)
            }
        }
        guard status == Z_STREAM_END, stream.avail_in == 0 else { return nil }
        return Data(output.prefix(Int(stream.total_out)))
    }

    @Suite struct GzipBytesTests {
        @Test(arguments: [0, 1, 100, 32_767, 32_768, 32_769, 1_000_003], [0, 1, 6, 9, -5, 100])
        func whatGoesInComesOut(count: Int, level: Int) throws {
            // Noise doesn't shrink, so output passes every border of zlib's buffers.
            var noise: UInt64 = 88_172_645_463_325_252
            let body = Data(
                (0..<count).map { index -> UInt8 in
                    noise ^= noise << 13
                    noise ^= noise >> 7
                    noise ^= noise << 17
                    return index.isMultiple(of: 3) ? 0x61 : UInt8(truncatingIfNeeded: noise)
                })
            let encoded = try GzipEncoder(level: level).encode(body)
            #expect(encoded.prefix(3) == Data([0x1F, 0x8B, 8]))
            #expect(gunzip(encoded, expecting: count) == body)
        }

        @Test func slicesAreReadFromTheirStart() throws {
            let body = Data("xxhello".utf8).dropFirst(2)
            #expect(try gunzip(GzipEncoder().encode(body), expecting: 5) == Data("hello".utf8))
        }

        @Test func aSerializerWritesIt() throws {
            var serializer = JSONRequestSerializer(base: HTTPRequestSerializer())
            serializer.base.bodyEncoder = .gzip
            let parameters: Parameters = ["text": String(repeating: "a", count: 10_000)]
            let request = try serializer.serialize(HTTPRequest(.post, "http://h/"), parameters: parameters)
            #expect(request.headers == ["Content-Type": "application/json", "Content-Encoding": "gzip"])
            let body = try #require(request.body.data)
            #expect(body.count < 100)
            #expect(gunzip(body, expecting: 20_000)?.count == 10_011)
        }
    }
#endif
