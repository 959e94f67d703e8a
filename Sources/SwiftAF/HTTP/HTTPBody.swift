public import FoundationEssentials

/// The body of a request.
public struct HTTPBody: Sendable {
    package enum Content: Sendable {
        case none
        case data(Data)
        case file(path: String)
        case stream(BodyStream)
        case form(BodyForm)
        /// A value that is encoded as JSON when the request is sent, by this encoder; nil uses the manager's.
        case json(any Encodable & Sendable, (any DataEncoder)?)
        /// The same for the values of a literal, whose members keep their order.
        case jsonParameters(Parameters, (any DataEncoder)?)
        /// The request fails with this error.
        case invalid(SessionError)
    }

    package let content: Content

    /// The Content-Type that is sent unless the request has one; nil for none. A form adds its own.
    public let contentType: String?

    package init(_ content: Content, contentType: String? = nil) {
        self.content = content
        self.contentType = contentType
    }

    /// No body and no Content-Length. `HTTPBody.data(Data())` is an empty body, which sends `Content-Length: 0`.
    ///
    /// The `body:` of calls such as `post` is optional. Pass nil for no body: `body: isFull ? .data(bytes) : nil`.
    public static let none = HTTPBody(.none)

    /// Bytes in memory. An empty body sends `Content-Length: 0`.
    ///
    /// - Parameters:
    ///   - data: The bytes.
    ///   - contentType: The Content-Type, such as `image/png`, unless the request has one.
    public static func data(_ data: Data, contentType: String? = nil) -> HTTPBody {
        HTTPBody(.data(data), contentType: contentType)
    }

    /// A value as JSON, with Content-Type `application/json`.
    ///
    /// - Parameters:
    ///   - value: The value. JSON that is text or bytes already is a ``text(_:contentType:)`` or a
    ///     ``data(_:contentType:)`` with that type.
    ///   - encoder: Nil uses ``HTTPSessionManager/encoder``, when the request is sent. An error of the encoder fails
    ///     the request with ``SessionError/Code/serialization``.
    public static func json(_ value: some Encodable & Sendable, encoder: (any DataEncoder)? = nil) -> HTTPBody {
        HTTPBody(.json(value, encoder), contentType: MediaType.json.essence)
    }

    /// A value as JSON, with Content-Type `application/json`. The value is read before this function returns, so it
    /// need not be `Sendable` and may belong to an actor.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - encoder: Encodes the value before this function returns. Nil records what the value encodes now, to an
    ///     encoder without `userInfo`, and writes it with ``HTTPSessionManager/encoder`` when the request is sent. An
    ///     error of either fails the request with ``SessionError/Code/serialization``.
    public static func json(encoding value: some Encodable, encoder: (any DataEncoder)? = nil) -> HTTPBody {
        do {
            let contentType = MediaType.json.essence
            guard let encoder else { return HTTPBody(.json(try RecordedValue(value), nil), contentType: contentType) }
            return .data(try encoder.encode(value), contentType: contentType)
        } catch {
            return HTTPBody(.invalid(encodingFailure(error, of: value)))
        }
    }

    fileprivate static func encodingFailure(_ error: any Error, of value: any Encodable) -> SessionError {
        let type = (value as? RecordedValue)?.type ?? type(of: value)
        return SessionError(
            .serialization, message: "\(type) can't be encoded as JSON\(EncodingFailure.text(error))",
            underlying: error)
    }

    /// An object or array of mixed values as JSON, with Content-Type `application/json`. Members keep their order and
    /// their names; those of a dictionary within the literal are sorted by name.
    ///
    /// ```swift
    /// try await manager.post("users", body: .json(["name": name, "age": age, "tags": tags]))
    /// ```
    ///
    /// - Parameters:
    ///   - parameters: The literal, or parameters. The values of a literal are read before this function returns, with
    ///     an encoder without `userInfo`, so they needn't be `Sendable`.
    ///   - encoder: Writes dates, data and the other values of the literal. Nil uses ``HTTPSessionManager/encoder``,
    ///     when the request is sent. An error of the encoder fails the request with
    ///     ``SessionError/Code/serialization``.
    @_disfavoredOverload
    public static func json(_ parameters: Parameters, encoder: (any DataEncoder)? = nil) -> HTTPBody {
        // Known now, so that adding the body to a form throws it.
        if let error = parameters.firstError { return HTTPBody(.invalid(error)) }
        return HTTPBody(.jsonParameters(parameters, encoder), contentType: MediaType.json.essence)
    }

    /// Parameters as a URL-encoded form, with Content-Type `application/x-www-form-urlencoded`.
    public static func form(_ parameters: Parameters, encoder: ParameterEncoder = ParameterEncoder()) -> HTTPBody {
        do {
            let text = try encoder.encode(parameters)
            return HTTPBody(.data(Data(text.utf8)), contentType: MediaType.form.essence)
        } catch {
            return HTTPBody(.invalid(SessionError(serializingRequest: error, url: nil)))
        }
    }

    /// A string, encoded as UTF-8.
    ///
    /// - Parameters:
    ///   - text: The string.
    ///   - contentType: The Content-Type, unless the request has one. Nil sends none.
    public static func text(_ text: String, contentType: String? = "text/plain; charset=utf-8") -> HTTPBody {
        HTTPBody(.data(Data(text.utf8)), contentType: contentType)
    }

    /// The contents of the file at `path`, read while they are sent, never completely in memory. The length is
    /// determined when the transfer starts; if the file becomes shorter, the transfer fails. A file that has bytes
    /// although its size is reported as 0, as in `/proc`, is sent to its end.
    ///
    /// - Parameters:
    ///   - path: The path.
    ///   - contentType: The Content-Type, such as `video/x-matroska`, unless the request has one. Nil uses that of the
    ///     extension, or `application/octet-stream`; ``HTTPHeaders/suppressDefault(_:)-(String)`` sends none.
    public static func file(_ path: String, contentType: String? = nil) -> HTTPBody {
        HTTPBody(.file(path: path), contentType: contentType ?? MediaType.ofFile(named: path).essence)
    }

    /// The contents of the file at a file URL, with the Content-Type of a file at a path. A request with another URL as
    /// its body fails with ``SessionError/Code/invalidInput``.
    public static func file(_ url: URL, contentType: String? = nil) -> HTTPBody {
        do {
            return .file(try url.filePath(of: "body"), contentType: contentType)
        } catch {
            return HTTPBody(.invalid(error))
        }
    }

    /// Chunks of an async sequence. `makeSequence` is called each time the body is sent, so it can be replayed after a
    /// redirect or an authentication round.
    ///
    /// - Parameters:
    ///   - length: The exact number of bytes; nil if unknown, which uses chunked transfer coding over HTTP/1.1. A
    ///     different number of bytes fails the transfer with ``SessionError/Code/bodySource``. The last of these bytes
    ///     are sent before the sequence ends, so that it may wait for the response; bytes that it yields after the
    ///     response is complete aren't noticed.
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
    /// ``SessionError/Code/bodyNotReplayable``. So does another request with this body, or a copy of it, once the
    /// sequence has been read for the first one; a request that failed before that can be sent again.
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
        case .file, .form, .json, .jsonParameters, .invalid: nil
        case .stream(let stream): stream.length
        }
    }

    /// Whether the body can be replayed. False for a sequence that can be read once, and for a form with such a part.
    public var isReplayable: Bool {
        switch content {
        case .none, .data, .file, .json, .jsonParameters, .invalid: true
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
        case .json, .jsonParameters: "JSON"
        case .invalid: "invalid body"
        }
    }
}

extension HTTPBody {
    /// Returns this body with all JSON encoded as bytes, also that of a form's parts.
    ///
    /// - Parameter encoder: The encoder for JSON that has no encoder of its own.
    func encoded(with encoder: any DataEncoder) throws(SessionError) -> HTTPBody {
        switch content {
        case .json(let value, let own):
            do {
                return .data(try (own ?? encoder).encode(value), contentType: contentType)
            } catch {
                throw Self.encodingFailure(error, of: value)
            }
        case .jsonParameters(let parameters, let own):
            do {
                return .data(try parameters.jsonData(encoder: own ?? encoder), contentType: contentType)
            } catch {
                throw SessionError(serializingRequest: error, url: nil)
            }
        case .form(let form):
            return HTTPBody(.form(try form.encoded(with: encoder)))
        case .invalid(let error):
            throw error
        case .none, .data, .file, .stream:
            return self
        }
    }
}

extension HTTPRequest {
    /// Encodes a JSON body and adds the body's Content-Type, unless the request has one.
    package mutating func encodeJSON(with encoder: any DataEncoder) throws(SessionError) {
        do {
            body = try body.encoded(with: encoder)
        } catch var error {
            error.url = url
            throw error
        }
        if let type = body.contentType { headers.fillGap(name: .contentType, value: type) }
    }
}

/// Runs the sequence of a body, chunk by chunk, with back-pressure.
package struct BodyStream: Sendable {
    /// Consumes a chunk and returns when there is room for the next one; false stops the producer.
    package typealias Consumer = @Sendable (Data) async throws -> Bool

    /// The exact number of bytes; nil if unknown.
    package let length: Int64?
    /// The mark whether a sequence that can be read once has been begun, shared by copies of the body; nil if
    /// ``produce`` can be called again for the same bytes.
    private let onlyRun: OnlyRun?
    /// Passes every chunk to the consumer, in order, and returns after the last.
    package let produce: @Sendable (Consumer) async throws -> Void

    package init(
        length: Int64?,
        isReplayable: Bool,
        produce: @escaping @Sendable (Consumer) async throws -> Void
    ) {
        self.length = length
        self.onlyRun = isReplayable ? nil : OnlyRun()
        self.produce = produce
    }

    /// Whether ``produce`` can be called again for the same bytes.
    package var isReplayable: Bool { onlyRun == nil }

    /// Records that the sequence is begun. Call before ``produce``.
    ///
    /// - Throws: ``SessionError/Code/bodyNotReplayable`` if it can be read once, and this or another call has begun to.
    package func begin() throws(SessionError) {
        guard let onlyRun, onlyRun.hasBegun.exchange(true) else { return }
        throw SessionError(
            .bodyNotReplayable, message: "the request body can be read once, and was already used by another request")
    }

    private final class OnlyRun: Sendable {
        let hasBegun = Locked(false)
    }
}
