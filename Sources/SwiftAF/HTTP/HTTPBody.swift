public import FoundationEssentials

/// The body of a request.
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

    /// No body and no Content-Length. An empty body is something else.
    public static let none = HTTPBody(.none)

    /// Bytes in memory. An empty body sends `Content-Length: 0`.
    public static func data(_ data: Data) -> HTTPBody {
        HTTPBody(.data(data))
    }

    /// A string, encoded as UTF-8.
    public static func text(_ text: String) -> HTTPBody {
        HTTPBody(.data(Data(text.utf8)))
    }

    /// The contents of the file at `path`, read while they are sent, never completely in memory. The length is
    /// determined when the transfer starts; if the file becomes shorter, the transfer fails.
    public static func file(_ path: String) -> HTTPBody {
        HTTPBody(.file(path: path))
    }

    /// Chunks of an async sequence. `makeSequence` is called each time the body is sent, so it can be replayed after a
    /// redirect or an authentication round.
    ///
    /// - Parameters:
    ///   - length: The exact number of bytes; nil if unknown, which uses chunked transfer coding over HTTP/1.1. A
    ///     different number of bytes fails the transfer.
    ///   - makeSequence: Called on any thread, once each time the body is sent. The next chunk is requested only when
    ///     there is room for it. An error thrown by the sequence ends the transfer and becomes
    ///     ``SessionError/underlying``.
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

    /// Chunks of an async sequence that can be read once. If the body would have to be replayed, the request fails with
    /// ``SessionError/Code/bodyNotReplayable``.
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

    /// The number of bytes, if it is known without opening a file: nil for files, forms, and streams of unknown length.
    public var length: Int64? {
        switch content {
        case .none: 0
        case .data(let data): Int64(data.count)
        case .file, .form: nil
        case .stream(let stream): stream.length
        }
    }

    /// Whether the body can be replayed. False for a sequence that can be read once, and for a form with such a part.
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

    /// Whether there is no body. An empty body is a body.
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
    /// The kind and the length of the body, never its content.
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

/// Runs the sequence of a body, chunk by chunk, with back-pressure.
package struct BodyStream: Sendable {
    /// Consumes a chunk and returns when there is room for the next one; false stops the producer.
    package typealias Consumer = @Sendable (Data) async throws -> Bool

    /// The exact number of bytes; nil if unknown.
    package let length: Int64?
    /// Whether ``produce`` can be called again for the same bytes.
    package let isReplayable: Bool
    /// Passes every chunk to the consumer, in order, and returns after the last.
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
