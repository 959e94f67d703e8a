package import FoundationEssentials

/// The parts of a multipart form before encoding. Connects ``MultipartFormData``, which collects them, to the core,
/// which encodes them (RFC 7578).
package struct BodyForm: Sendable {
    /// The delimiter between the parts.
    package var boundary: String
    /// Whether the boundary was chosen by the caller rather than generated. The core then scans parts in memory for it.
    package var isBoundaryChosen: Bool
    /// The parts in the order in which they are sent.
    package var parts: [Part] = []
    /// The limit on the sending speed; nil for none.
    package var throttle: Throttle?

    package init(boundary: String, isBoundaryChosen: Bool) {
        self.boundary = boundary
        self.isBoundaryChosen = isBoundaryChosen
    }

    /// A part: a body and its headers.
    package enum Part: Sendable {
        case data(Data, Heading)
        case file(File, Heading)
        case stream(BodyStream, Heading)
        /// JSON that becomes ``data(_:_:)`` when the manager's encoder is known. Without a manager, a ``JSONCoder``
        /// writes it.
        case json(HTTPBody, Heading)
        /// A body with the given headers only.
        case raw(Data, HTTPHeaders)
    }

    /// Returns this form with the JSON of its parts encoded as bytes.
    func encoded(with encoder: any DataEncoder) throws(SessionError) -> BodyForm {
        var form = self
        for (index, part) in parts.enumerated() {
            guard case .json(let body, let heading) = part else { continue }
            form.parts[index] = .data(try body.encoded(with: encoder).data ?? Data(), heading)
        }
        return form
    }

    package struct Heading: Sendable {
        package var name: String
        /// The file name; nil for none. For a file, nil uses the last component of its path.
        package var fileName: String?
        /// Names that aren't UTF-8. They take precedence over the names above.
        package var rawName: [UInt8]?
        package var rawFileName: [UInt8]?
        /// The media type; nil for none. For a file, nil uses the type of its extension.
        package var mediaType: String?
        /// Additional header fields.
        package var headers: HTTPHeaders

        package init(name: String, fileName: String?, mediaType: String?, headers: HTTPHeaders) {
            self.name = name
            self.fileName = fileName
            self.mediaType = mediaType
            self.headers = headers
        }
    }

    /// A file or a range of it.
    package struct File: Sendable {
        package var path: String
        /// The range; nil for the whole file.
        package var range: Range<Int64>?
        /// The size that the file must have when it is sent; nil if unknown or not to be checked.
        package var size: Int64?

        package init(path: String, range: Range<Int64>? = nil, size: Int64? = nil) {
            self.path = path
            self.range = range
            self.size = size
        }
    }

    /// A limit on the sending speed: a number of bytes, followed by a pause.
    package struct Throttle: Sendable {
        package var packetSize: Int
        package var delay: Duration

        package init(packetSize: Int, delay: Duration) {
            self.packetSize = packetSize
            self.delay = delay
        }
    }
}
