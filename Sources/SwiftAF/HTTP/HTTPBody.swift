public import FoundationEssentials

/// What a request sends, and whether it can be sent again.
public struct HTTPBody: Sendable {
    package enum Content: Sendable {
        case none
        case data(Data)
        case file(path: String)
        case stream(BodyStream)
        case form(BodyForm)
    }

    package let content: Content

    package init(_ content: Content) {
        self.content = content
    }

    /// No body, and no Content-Length; not the same as an empty one.
    public static let none = HTTPBody(.none)

    /// Bytes in memory. May be empty: that sends `Content-Length: 0`.
    public static func data(_ data: Data) -> HTTPBody {
        HTTPBody(.data(data))
    }

    /// A text as UTF-8.
    public static func text(_ text: String) -> HTTPBody {
        HTTPBody(.data(Data(text.utf8)))
    }

    /// The file at `path`, read while it is sent and never whole in memory. Its length is taken when the
    /// transfer starts; a file that becomes shorter meanwhile fails it.
    public static func file(_ path: String) -> HTTPBody {
        HTTPBody(.file(path: path))
    }

    /// Chunks from a sequence that `makeSequence` makes anew each time the body is sent, so that it can be
    /// repeated after a redirect or an authentication round.
    ///
    /// - Parameters:
    ///   - length: The exact number of bytes, or nil if it isn't known: then the body goes chunked over
    ///     HTTP/1.1. A sequence that gives fewer or more bytes than announced fails the transfer.
    ///   - makeSequence: Called on no particular thread, once per time the body is sent. The sequence is asked
    ///     for a chunk only when there is room for it; an error that it throws ends the transfer and is the
    ///     ``SessionError/underlying`` of the result.
    public static func stream<Chunks: AsyncSequence & SendableMetatype>(
        length: Int64? = nil,
        _ makeSequence: @escaping @Sendable () -> Chunks
    ) -> HTTPBody where Chunks.Element == Data, Chunks.AsyncIterator: SendableMetatype {
        let stream = BodyStream(length: length, isReplayable: true) { consume in
            for try await chunk in makeSequence() {
                guard try await consume(chunk) else { return }
            }
        }
        return HTTPBody(.stream(stream))
    }

    /// Chunks from a sequence that can be read once. If the body has to be sent again the request fails with
    /// ``SessionError/Code/bodyNotReplayable`` rather than with an empty body.
    public static func stream<Chunks: AsyncSequence & Sendable>(
        once sequence: Chunks,
        length: Int64? = nil
    ) -> HTTPBody where Chunks.Element == Data, Chunks.AsyncIterator: SendableMetatype {
        let stream = BodyStream(length: length, isReplayable: false) { consume in
            for try await chunk in sequence {
                guard try await consume(chunk) else { return }
            }
        }
        return HTTPBody(.stream(stream))
    }

    /// The number of bytes if it is known without touching a file: nil for files, for forms, and for streams of
    /// unknown length.
    public var length: Int64? {
        switch content {
        case .none: 0
        case .data(let data): Int64(data.count)
        case .file, .form: nil
        case .stream(let stream): stream.length
        }
    }

    /// Whether the same bytes can be sent once more. Not those of a sequence that can be read only once, nor of a form
    /// with such a part.
    public var isReplayable: Bool {
        switch content {
        case .none, .data, .file: true
        case .stream(let stream): stream.isReplayable
        case .form(let form):
            form.parts.allSatisfy { part in
                if case .stream(let stream, _) = part { stream.isReplayable } else { true }
            }
        }
    }

    /// Whether there is no body at all. An empty one is a body.
    public var isNone: Bool {
        if case .none = content { true } else { false }
    }

    /// The bytes, if the body is in memory.
    public var data: Data? {
        if case .data(let data) = content { data } else { nil }
    }

    /// The path, if the body is a file.
    public var filePath: String? {
        if case .file(let path) = content { path } else { nil }
    }
}

extension HTTPBody: CustomStringConvertible {
    /// What kind of body and how long, never its content.
    public var description: String {
        let size = length.map { "\($0) bytes" } ?? "unknown length"
        return switch content {
        case .none: "no body"
        case .data: size
        case .file(let path): "file \(path)"
        case .stream: "stream, \(size)"
        case .form(let form): "form of \(form.parts.count) parts"
        }
    }
}

/// A body that is pushed: runs a user's byte sequence, chunk by chunk, at the speed of the consumer.
package struct BodyStream: Sendable {
    /// Takes a chunk and returns when there is room for the next; false asks the producer to stop.
    package typealias Consumer = @Sendable (Data) async throws -> Bool

    /// The exact number of bytes, or nil if it isn't known.
    package let length: Int64?
    /// Whether ``produce`` may be called again for the same bytes.
    package let isReplayable: Bool
    /// Feeds every chunk to the consumer, in order, and returns after the last.
    package let produce: @Sendable (Consumer) async throws -> Void

    package init(
        length: Int64?,
        isReplayable: Bool,
        produce: @escaping @Sendable (Consumer) async throws -> Void
    ) {
        self.length = length
        self.isReplayable = isReplayable
        self.produce = produce
    }
}
