#if Compression
    internal import CZlib
    import FoundationEssentials
    import SwiftAF

    /// Compresses one body with zlib.
    final class Deflater {
        /// The maximum number of bytes passed to zlib at once: it counts in 32 bits.
        private static let largestPiece = 1 << 30

        private let stream = makeStream()
        private let isMade: Bool

        /// Returns the bytes in gzip format.
        static func gzip(_ body: Data, level: Int32) throws(SessionError) -> Data {
            let deflater = try Deflater(level: level)
            var output = [UInt8]()
            output.reserveCapacity(Int(deflateBound(deflater.stream, UInt(body.count))))
            var rest = body
            repeat {
                let piece = rest.prefix(largestPiece)
                rest = rest.dropFirst(piece.count)
                try deflater.compress(piece, isLast: rest.isEmpty, into: &output)
            } while !rest.isEmpty
            return Data(output)
        }

        init(level: Int32) throws(SessionError) {
            isMade = czlib_deflate_init_gzip(stream, level) == Z_OK
            guard isMade else { throw SessionError(.outOfMemory) }
        }

        deinit {
            if isMade { deflateEnd(stream) }
            stream.deallocate()
        }

        /// Compresses a piece until zlib has consumed it and has no more output. After the last one the stream has
        /// ended.
        func compress(_ piece: Data, isLast: Bool, into output: inout [UInt8]) throws(SessionError) {
            let status = piece.withUnsafeBytes { input in
                var rest = input
                var status: Int32
                var isFull = false
                repeat {
                    (status, isFull) = withUnsafeTemporaryAllocation(byteCount: 1 << 15, alignment: 1) { buffer in
                        stream.set(rest, buffer)
                        let status = deflate(stream, isLast ? Z_FINISH : Z_NO_FLUSH)
                        let count = stream.take(&rest, of: buffer)
                        output.append(contentsOf: buffer[..<count])
                        return (status, count == buffer.count)
                    }
                } while status == Z_OK && isFull
                return status
            }
            // Z_BUF_ERROR: the output before ended where a buffer did.
            let isExpected = isLast ? status == Z_STREAM_END : status == Z_OK || status == Z_BUF_ERROR
            guard isExpected else {
                throw SessionError(.serialization, message: "zlib can't compress the body (\(status))")
            }
        }
    }
#endif
