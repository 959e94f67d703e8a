#if Compression
    internal import CZlib
    import SwiftAF

    /// The nearest level that is accepted: 0 (no compression), 1 (fastest) to 9 (smallest).
    func zlibLevel(_ level: Int) -> Int32 { Int32(min(max(level, 0), 9)) }

    /// zlib's state has a pointer to its stream, which must not move.
    func makeStream() -> UnsafeMutablePointer<z_stream> {
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        return stream
    }

    extension UnsafeMutablePointer<z_stream> {
        /// Sets input and output. zlib doesn't write to its input.
        func set(_ input: UnsafeRawBufferPointer, _ output: UnsafeMutableRawBufferPointer) {
            pointee.next_in = UnsafeMutablePointer<UInt8>(mutating: input.bindMemory(to: UInt8.self).baseAddress)
            pointee.avail_in = UInt32(clamping: input.count)
            pointee.next_out = output.bindMemory(to: UInt8.self).baseAddress
            pointee.avail_out = UInt32(clamping: output.count)
        }

        /// Removes what was used from the input, and returns how much was written.
        func take(_ input: inout UnsafeRawBufferPointer, of output: UnsafeMutableRawBufferPointer) -> Int {
            let used = Int(UInt32(clamping: input.count) - pointee.avail_in)
            input = UnsafeRawBufferPointer(rebasing: input.dropFirst(used))
            return Int(UInt32(clamping: output.count) - pointee.avail_out)
        }
    }

    /// Compresses the messages of a socket.
    final class DeflateStream: WebSocketCompressionStream {
        private let stream = makeStream()
        private let isMade: Bool

        init?(level: Int32, windowBits: Int32) {
            isMade = czlib_deflate_init_raw(stream, level, windowBits) == Z_OK
            // zlib refuses the smallest window.
            guard isMade else { return nil }
        }

        deinit {
            if isMade { deflateEnd(stream) }
            stream.deallocate()
        }

        func convert(_ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> Int? {
            stream.set(input, output)
            let status = deflate(stream, Z_SYNC_FLUSH)
            // Z_BUF_ERROR: there was nothing to do.
            guard status == Z_OK || status == Z_BUF_ERROR else { return nil }
            return stream.take(&input, of: output)
        }

        func reset() {
            deflateReset(stream)
        }
    }

    /// Decompresses the messages of a socket.
    final class InflateStream: WebSocketCompressionStream {
        private let stream = makeStream()
        private let isMade: Bool

        init?(windowBits: Int32) {
            isMade = czlib_inflate_init_raw(stream, windowBits) == Z_OK
            guard isMade else { return nil }
        }

        deinit {
            if isMade { inflateEnd(stream) }
            stream.deallocate()
        }

        func convert(_ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> Int? {
            var written = 0
            while true {
                let room = UnsafeMutableRawBufferPointer(rebasing: output.dropFirst(written))
                stream.set(input, room)
                let status = inflate(stream, Z_SYNC_FLUSH)
                let count = stream.take(&input, of: room)
                written += count
                switch status {
                case Z_STREAM_END:
                    // A last block may be followed by others, with the same window (RFC 7692 7.2.3.5).
                    guard inflateResetKeep(stream) == Z_OK else { return nil }
                    if input.isEmpty || written == output.count { return written }
                case Z_OK where !input.isEmpty && written < output.count: continue
                case Z_OK, Z_BUF_ERROR: return written
                default: return nil
                }
            }
        }

        func reset() {
            inflateReset(stream)
        }
    }
#endif
