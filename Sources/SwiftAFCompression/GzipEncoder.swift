public import FoundationEssentials
public import SwiftAF

/// Compresses request bodies with gzip (RFC 1952).
///
/// ```swift
/// var serializer = JSONRequestSerializer()
/// serializer.base.bodyEncoder = GzipEncoder()
/// ```
///
/// Only for servers that are known to decode what they receive: a client can't ask. The library behind it is zlib,
/// which is linked if the package is built with the trait `Compression`; without, encoding fails with
/// ``SwiftAF/SessionError/Code/unsupported``.
public struct GzipEncoder: RequestBodyEncoder, Hashable, Codable {
    /// The effort: 1 is fastest, 9 is smallest, 0 doesn't compress. Other numbers count as the nearest of these.
    public var level: Int

    /// Makes an encoder; at first with zlib's own balance of speed and size.
    public init(level: Int = 6) {
        self.level = level
    }

    public var contentEncoding: String { "gzip" }

    /// The body in gzip's format, the same bytes for the same body and version of zlib.
    ///
    /// - Throws: ``SwiftAF/SessionError`` with code ``SwiftAF/SessionError/Code/unsupported`` if the package was built
    ///   without zlib, ``SwiftAF/SessionError/Code/outOfMemory`` if zlib gets no memory.
    public func encode(_ body: Data) throws -> Data {
        #if Compression
            return try Deflater.gzip(body, level: Int32(min(max(level, 0), 9)))
        #else
            throw SessionError(
                .unsupported, message: "gzip needs a build of the package with the trait Compression")
        #endif
    }
}

extension RequestBodyEncoder where Self == GzipEncoder {
    /// gzip with zlib's own balance of speed and size.
    public static var gzip: GzipEncoder { GzipEncoder() }

    /// gzip with an effort from 1 (fastest) to 9 (smallest).
    public static func gzip(level: Int) -> GzipEncoder { GzipEncoder(level: level) }
}
