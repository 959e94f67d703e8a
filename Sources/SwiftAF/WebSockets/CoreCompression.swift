internal import CAFCore

/// Makes a ``WebSocketCompression`` available to the core, as a table of C functions.
final class CoreCompression: Sendable {
    let compression: any WebSocketCompression

    init(_ compression: any WebSocketCompression) {
        self.compression = compression
    }

    /// The compression of one direction of a socket. The core owns a reference to it.
    final class Stream {
        let stream: any WebSocketCompressionStream

        init(_ stream: any WebSocketCompressionStream) {
            self.stream = stream
        }

        static func from(_ raw: UnsafeMutableRawPointer) -> any WebSocketCompressionStream {
            Unmanaged<Stream>.fromOpaque(raw).takeUnretainedValue().stream
        }
    }

    /// The table of functions; valid as long as this object.
    var core: afc_websocket_codec {
        afc_websocket_codec(
            context: Unmanaged.passUnretained(self).toOpaque(),
            open: { context, encodes, bits in
                guard let context else { return nil }
                let box = Unmanaged<CoreCompression>.fromOpaque(context).takeUnretainedValue()
                let stream = box.compression.makeStream(isCompressing: encodes, windowBits: Int(bits))
                return stream.map { Unmanaged.passRetained(Stream($0)).toOpaque() }
            },
            convert: { raw, input, output, size in
                guard let raw, let input, let output, let size else { return .AFC_EINTERNAL }
                var rest = UnsafeRawBufferPointer(start: input.pointee.bytes, count: input.pointee.size)
                let room = UnsafeMutableRawBufferPointer(start: output, count: size.pointee)
                guard let count = Stream.from(raw).convert(&rest, into: room), count <= room.count else {
                    return .AFC_EPROTOCOL
                }
                input.pointee = afc_slice(rest)
                size.pointee = count
                return .AFC_OK
            },
            reset: { raw in
                guard let raw else { return }
                Stream.from(raw).reset()
            },
            close: { raw in
                guard let raw else { return }
                Unmanaged<Stream>.fromOpaque(raw).release()
            })
    }
}
