public import FoundationEssentials

/// Compresses request bodies. Keeps serializers independent of compression libraries.
///
/// The product `SwiftAFCompression` has an implementation for gzip.
public protocol RequestBodyEncoder: Sendable {
    /// The value of Content-Encoding, such as `gzip`.
    var contentEncoding: String { get }

    /// Encodes a body. Called on the caller's thread or task, possibly concurrently.
    ///
    /// - Throws: ``SessionError``, or another error, which becomes the ``SessionError/underlying`` one.
    func encode(_ body: Data) throws -> Data
}

extension HTTPRequest {
    /// Encodes a non-empty body in memory and sets Content-Encoding. A request that already has a Content-Encoding
    /// isn't changed, and neither are files and streams, which are never loaded into memory.
    package mutating func encodeBody(with encoder: (any RequestBodyEncoder)?) throws(SessionError) {
        guard let encoder, let data = body.data, !data.isEmpty,
            !headers.contains(named: .contentEncoding)
        else { return }
        do {
            body = .data(try encoder.encode(data))
        } catch var error as SessionError {
            error.url = url
            throw error
        } catch {
            throw SessionError(
                .serialization, message: "the body can't be encoded as \(encoder.contentEncoding)", url: url,
                underlying: error)
        }
        headers.set(name: .contentEncoding, value: encoder.contentEncoding)
    }
}
