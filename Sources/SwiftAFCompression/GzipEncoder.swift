public import FoundationEssentials
public import SwiftAF

/// Compresses request bodies with gzip (RFC 1952).
///
/// ```swift
/// var serializer = JSONRequestSerializer()
/// serializer.base.bodyEncoder = GzipEncoder()
/// ```
///
/// Use it only for servers that are known to decode gzip: a client can't ask a server. Requires the trait
/// `Compression`, which links zlib; without it, encoding fails with ``/SwiftAF/SessionError/Code/unsupported``.
public struct GzipEncoder: RequestBodyEncoder, Hashable, Codable {
    /// The compression level: 0 (no compression), 1 (fastest) to 9 (smallest). Other values are clamped to this range.
    public var level: Int

    /// Creates an encoder. Default: 6, zlib's compromise between speed and size.
    public init(level: Int = 6) {
        self.level = level
    }

    public var contentEncoding: String { "gzip" }

    /// Returns the body in gzip format. The same body gives the same bytes with the same version of zlib.
    ///
    /// - Throws: ``/SwiftAF/SessionError`` with code ``/SwiftAF/SessionError/Code/unsupported`` if the package was
    ///   built without zlib, ``/SwiftAF/SessionError/Code/outOfMemory`` if zlib can't allocate memory,
    ///   ``/SwiftAF/SessionError/Code/serialization`` if it fails.
    public func encode(_ body: Data) throws -> Data {
        #if Compression
            return try Deflater.gzip(body, level: zlibLevel(level))
        #else
            throw SessionError(
                .unsupported, message: "gzip needs a build of the package with the trait Compression")
        #endif
    }
}

extension RequestBodyEncoder where Self == GzipEncoder {
    /// A gzip encoder with zlib's compromise between speed and size.
    public static var gzip: GzipEncoder { GzipEncoder() }

    /// A gzip encoder with a level: 0 (no compression), 1 (fastest) to 9 (smallest). Others are clamped to this range.
    public static func gzip(level: Int) -> GzipEncoder { GzipEncoder(level: level) }
}
