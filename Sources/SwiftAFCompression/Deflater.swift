#if Compression
    internal import CZlib
    import FoundationEssentials
    import SwiftAF

    /// Compresses one body with zlib.
    enum Deflater {
        /// The maximum number of bytes passed to zlib at once: it counts in 32 bits.
        private static let largestPiece = 1 << 30

        /// Returns the bytes in gzip format.
        static func gzip(_ body: Data, level: Int32) throws(SessionError) -> Data {
            var stream = z_stream()
            guard czlib_deflate_init_gzip(&stream, level) == Z_OK else { throw SessionError(.outOfMemory) }
            defer { deflateEnd(&stream) }
            var output = [UInt8]()
            output.reserveCapacity(Int(deflateBound(&stream, UInt(body.count))))
            var rest = body
            repeat {
                let piece = rest.prefix(largestPiece)
                rest = rest.dropFirst(piece.count)
                deflate(piece, with: &stream, isLast: rest.isEmpty, into: &output)
            } while !rest.isEmpty
            return Data(output)
        }

        /// Compresses a piece until zlib has consumed it and has no more output.
        private static func deflate(
            _ piece: Data, with stream: inout z_stream, isLast: Bool, into output: inout [UInt8]
        ) {
            piece.withUnsafeBytes { input in
                // zlib doesn't write to its input. `next_in` is a pointer to const only if zlib.h is included with
                // ZLIB_CONST.
                stream.next_in = UnsafeMutablePointer(mutating: input.bindMemory(to: UInt8.self).baseAddress)
                stream.avail_in = UInt32(input.count)
                repeat {
                    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 1 << 15) { buffer in
                        stream.next_out = buffer.baseAddress
                        stream.avail_out = UInt32(buffer.count)
                        _ = CZlib.deflate(&stream, isLast ? Z_FINISH : Z_NO_FLUSH)
                        output.append(contentsOf: buffer[..<(buffer.count - Int(stream.avail_out))])
                    }
                } while stream.avail_out == 0
            }
        }
    }
#endif
