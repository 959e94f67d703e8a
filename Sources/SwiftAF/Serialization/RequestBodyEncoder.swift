public import FoundationEssentials

/// Compresses the bodies of requests: the seam between serializers and the libraries that know how.
///
/// The product `SwiftAFCompression` has one for gzip.
public protocol RequestBodyEncoder: Sendable {
    /// What Content-Encoding says: `gzip`.
    var contentEncoding: String { get }

    /// The encoded body. Called on the caller's thread or task, maybe by several at once.
    ///
    /// - Throws: ``SessionError``, or an error that becomes the ``SessionError/underlying`` of one.
    func encode(_ body: Data) throws -> Data
}

extension HTTPRequest {
    /// Encodes a body that is in memory and not empty, and names the encoding. A request that has a Content-Encoding
    /// is left alone, and so are files and streams, which are never held whole.
    package mutating func encodeBody(with encoder: (any RequestBodyEncoder)?) throws(SessionError) {
        guard let encoder, let data = body.data, !data.isEmpty, !headers.contains(HTTPHeaders.Name.contentEncoding)
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
        headers.set(name: HTTPHeaders.Name.contentEncoding, value: encoder.contentEncoding)
    }
}
