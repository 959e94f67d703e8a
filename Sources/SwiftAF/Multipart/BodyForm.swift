package import FoundationEssentials

/// What a form consists of, before the core writes it: the seam between ``MultipartFormData``, which collects it, and
/// the bridge. The core alone knows the format.
package struct BodyForm: Sendable {
    /// Stands between the parts.
    package var boundary: String
    /// Whether the boundary is the caller's choice, and not random: the core then looks for it in parts of bytes.
    package var isBoundaryChosen: Bool
    /// In the order they are sent.
    package var parts: [Part] = []
    /// Nil sends as fast as the network takes it.
    package var throttle: Throttle?

    package init(boundary: String, isBoundaryChosen: Bool) {
        self.boundary = boundary
        self.isBoundaryChosen = isBoundaryChosen
    }

    /// A body with what stands in front of it.
    package enum Part: Sendable {
        case data(Data, Heading)
        case file(File, Heading)
        case stream(BodyStream, Heading)
        /// Nothing but the given headers in front.
        case raw(Data, HTTPHeaders)
    }

    package struct Heading: Sendable {
        package var name: String
        /// Nil is none; of a file, the last component of its path.
        package var fileName: String?
        /// Names that aren't UTF-8; they go before those above.
        package var rawName: [UInt8]?
        package var rawFileName: [UInt8]?
        /// Nil is none; of a file, what its extension stands for.
        package var mediaType: String?
        /// Further fields.
        package var headers: HTTPHeaders

        package init(name: String, fileName: String?, mediaType: String?, headers: HTTPHeaders) {
            self.name = name
            self.fileName = fileName
            self.mediaType = mediaType
            self.headers = headers
        }
    }

    /// A file or a range of one.
    package struct File: Sendable {
        package var path: String
        /// Nil is the whole file.
        package var range: Range<Int64>?
        /// What the file must have when it is sent, nil if it isn't known or doesn't matter.
        package var size: Int64?

        package init(path: String, range: Range<Int64>? = nil, size: Int64? = nil) {
            self.path = path
            self.range = range
            self.size = size
        }
    }

    /// At most so many bytes, then a pause.
    package struct Throttle: Sendable {
        package var packetSize: Int
        package var delay: Duration

        package init(packetSize: Int, delay: Duration) {
            self.packetSize = packetSize
            self.delay = delay
        }
    }
}
