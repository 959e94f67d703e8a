public import SwiftAF

/// Compresses WebSocket messages with zlib (RFC 7692).
///
/// ```swift
/// var options = WebSocket.Options()
/// options.compression = MessageDeflate()
/// ```
///
/// Requires the trait `Compression`, which links zlib; without it, opening a socket fails if the server agrees to
/// compress.
public struct MessageDeflate: WebSocketCompression, Hashable, Codable {
    /// The compression level: 0 (no compression), 1 (fastest) to 9 (smallest). Other values are clamped to this range.
    public var level: Int

    /// Creates a codec. Default: 6, zlib's compromise between speed and size.
    public init(level: Int = 6) {
        self.level = level
    }

    public func makeStream(isCompressing: Bool, windowBits: Int) -> (any WebSocketCompressionStream)? {
        #if Compression
            return isCompressing
                ? DeflateStream(level: zlibLevel(level), windowBits: Int32(windowBits))
                : InflateStream(windowBits: Int32(windowBits))
        #else
            return nil
        #endif
    }
}

extension WebSocketCompression where Self == MessageDeflate {
    /// Compression with zlib's compromise between speed and size.
    public static var deflate: MessageDeflate { MessageDeflate() }

    /// Compression with a level: 0 (no compression), 1 (fastest) to 9 (smallest). Others are clamped to this range.
    public static func deflate(level: Int) -> MessageDeflate { MessageDeflate(level: level) }
}
