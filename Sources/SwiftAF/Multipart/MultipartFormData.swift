public import FoundationEssentials

/// A multipart form (multipart/form-data, RFC 7578) that is read while it is sent. Files of any size use constant
/// memory. The exact length is known before the first byte, unless a stream has no length.
///
/// ```swift
/// var form = MultipartFormData()
/// try form.append("Analytical Engine", name: "title")
/// try form.append(file: "/videos/engine.mp4", name: "video")
/// let request = HTTPRequest(.post, url, body: .multipart(form))
/// ```
///
/// A value: copies are independent, and a form can be sent any number of times. Control characters other than tabs in a
/// part's headers are refused when the part is added. A quote in a name or file name is sent as `%22`, everything else
/// unchanged as UTF-8.
public struct MultipartFormData: Sendable {
    /// AFNetworking's packet size for uploads over a bad mobile network: 16 KiB.
    public static let slowNetworkPacketSize = 16 * 1024
    /// AFNetworking's delay for uploads over a bad mobile network.
    public static let slowNetworkDelay = Duration.milliseconds(200)

    package private(set) var form: BodyForm

    /// Creates an empty form with a random boundary.
    public init() {
        form = BodyForm(boundary: Self.randomBoundary(), isBoundaryChosen: false)
    }

    /// Creates an empty form with a boundary of 1 to 70 letters, digits and `'+_-.`.
    ///
    /// The boundary must not occur in the parts; parts in memory are checked.
    ///
    /// - Throws: ``SessionError/Code/invalidInput`` for an invalid boundary.
    public init(boundary: String) throws(SessionError) {
        try CoreForm.check(boundary: boundary)
        form = BodyForm(boundary: boundary, isBoundaryChosen: true)
    }

    package init(_ form: BodyForm) {
        self.form = form
    }

    /// Creates an empty form with the boundary and the throttle of another one.
    init(like other: BodyForm) {
        form = BodyForm(boundary: other.boundary, isBoundaryChosen: other.isBoundaryChosen)
        form.throttle = other.throttle
    }

    /// The boundary between the parts.
    public var boundary: String { form.boundary }

    /// The number of parts.
    public var count: Int { form.parts.count }

    /// Whether there are no parts.
    public var isEmpty: Bool { form.parts.isEmpty }

    /// The value of the request's Content-Type.
    public var contentType: MediaType {
        MediaType(
            type: "multipart", subtype: "form-data",
            parameters: [MediaType.Parameter(name: "boundary", value: form.boundary)])
    }

    /// The exact length of the form in bytes; nil if a stream has no length.
    ///
    /// - Throws: ``SessionError/Code/file`` if a file has vanished, shrunk or grown since it was added.
    public func length() throws(SessionError) -> Int64? {
        try CoreForm.length(of: form)
    }

    // MARK: Adding parts

    /// Adds a field with a string.
    ///
    /// - Throws: ``SessionError/Code/invalidInput`` if the name contains a control character, as for every part, or if
    ///   the boundary is not random and occurs in the part; ``SessionError/Code/tooLarge`` beyond 10,000 parts or
    ///   64 KiB of headers in one.
    public mutating func append(_ text: String, name: String) throws(SessionError) {
        try append(Data(text.utf8), name: name)
    }

    /// Adds a field with bytes and without a media type.
    public mutating func append(_ data: Data, name: String) throws(SessionError) {
        try add(.data(data, BodyForm.Heading(name: name, fileName: nil, mediaType: nil, headers: [:])))
    }

    /// Adds a field with bytes of a media type, such as JSON that describes the files of the form.
    ///
    /// - Parameters:
    ///   - data: The bytes.
    ///   - name: The name of the field.
    ///   - mediaType: The media type.
    ///   - headers: Further fields, sent after Content-Disposition and Content-Type, which they must not contain.
    public mutating func append(
        _ data: Data, name: String, mediaType: String, headers: HTTPHeaders = [:]
    ) throws(SessionError) {
        try add(.data(data, BodyForm.Heading(name: name, fileName: nil, mediaType: mediaType, headers: headers)))
    }

    /// Adds a field with a value as JSON, with the media type `application/json`.
    ///
    /// ```swift
    /// try form.append(json: Film(title: "Metropolis", year: 1927), name: "details")
    /// ```
    ///
    /// - Parameters:
    ///   - value: The value. It is read before this function returns, so it need not be `Sendable` and may belong to an
    ///     actor.
    ///   - name: The name of the field.
    ///   - encoder: Encodes the value before this function returns. Nil records what the value encodes now, to an
    ///     encoder without `userInfo`, and writes it with ``HTTPSessionManager/encoder`` when the request is sent;
    ///     ``length()`` and ``write(to:)-(String)`` use a ``JSONCoder``.
    /// - Throws: ``SessionError/Code/serialization`` if the value can't be encoded.
    public mutating func append(
        json value: some Encodable, name: String, encoder: (any DataEncoder)? = nil
    ) throws(SessionError) {
        try append(.json(encoding: value, encoder: encoder), name: name)
    }

    /// Adds a field with a literal of mixed values as JSON. A value that can't be sent is an error at once.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    public mutating func append(
        json parameters: Parameters, name: String, encoder: (any DataEncoder)? = nil
    ) throws(SessionError) {
        var body = HTTPBody.json(parameters)
        if let encoder { body = try body.encoded(with: encoder) }
        try append(body, name: name)
    }

    /// Adds bytes as a file.
    ///
    /// - Parameters:
    ///   - data: The bytes.
    ///   - name: The name of the field.
    ///   - fileName: The name of the file.
    ///   - mediaType: The media type; nil uses that of the name's extension, or `application/octet-stream`.
    ///   - headers: Further fields, sent after Content-Disposition and Content-Type, which they must not contain.
    public mutating func append(
        _ data: Data, name: String, fileName: String, mediaType: String? = nil, headers: HTTPHeaders = [:]
    ) throws(SessionError) {
        let mediaType = mediaType ?? MediaType.ofFile(named: fileName).essence
        try add(
            .data(data, BodyForm.Heading(name: name, fileName: fileName, mediaType: mediaType, headers: headers)))
    }

    /// Adds a file, or a range of one. The file is opened when the part is sent; if its length has changed, the
    /// transfer fails with ``SessionError/Code/file``.
    ///
    /// - Parameters:
    ///   - path: The path of a regular file.
    ///   - range: The bytes to send; nil sends all. The file may grow after the range.
    ///   - name: The name of the field.
    ///   - fileName: The file name; nil uses the last component of the path.
    ///   - mediaType: The media type; nil uses that of the extension, or `application/octet-stream`.
    ///   - headers: Further fields, sent after Content-Disposition and Content-Type.
    /// - Throws: ``SessionError/Code/file`` if the file can't be read or has no such range.
    public mutating func append(
        file path: String, range: Range<Int64>? = nil, name: String, fileName: String? = nil,
        mediaType: String? = nil, headers: HTTPHeaders = [:]
    ) throws(SessionError) {
        let heading = BodyForm.Heading(name: name, fileName: fileName, mediaType: mediaType, headers: headers)
        var file = BodyForm.File(path: path, range: range)
        let length = try check(.file(file, heading))
        if range == nil { file.size = length }
        form.parts.append(.file(file, heading))
    }

    /// Adds a file by its URL, or a range of one; see
    /// ``append(file:range:name:fileName:mediaType:headers:)-(String,_,_,_,_,_)``.
    ///
    /// - Throws: ``SessionError/Code/invalidInput`` if it isn't a file URL.
    public mutating func append(
        file url: URL, range: Range<Int64>? = nil, name: String, fileName: String? = nil,
        mediaType: String? = nil, headers: HTTPHeaders = [:]
    ) throws(SessionError) {
        try append(
            file: url.filePath(of: "part"), range: range, name: name, fileName: fileName, mediaType: mediaType,
            headers: headers)
    }

    /// Refused by the compiler, because a URL may mean a file or a text.
    @available(*, unavailable, message: "write append(file: url, name:), or append(url.absoluteString, name:)")
    public mutating func append(_ url: URL, name: String) throws(SessionError) {
        try append(file: url, name: name)
    }

    /// Adds chunks of an async sequence. `makeSequence` is called each time the form is sent, so it can be replayed
    /// after a redirect or an authentication round. See ``HTTPBody/stream(length:_:)``.
    ///
    /// - Parameters:
    ///   - length: The exact number of bytes; nil makes the length of the whole form unknown.
    ///   - name: The name of the field.
    ///   - fileName: The name of the file.
    ///   - mediaType: The media type.
    ///   - headers: Further fields, sent after Content-Disposition and Content-Type.
    ///   - makeSequence: Makes the sequence of chunks.
    public mutating func append<Chunks: AsyncSequence & SendableMetatype>(
        length: Int64? = nil, name: String, fileName: String? = nil, mediaType: String? = nil,
        headers: HTTPHeaders = [:], _ makeSequence: @escaping @Sendable () -> Chunks
    ) throws(SessionError) where Chunks.Element == Data, Chunks.AsyncIterator: SendableMetatype {
        try append(
            .stream(length: length, makeSequence),
            BodyForm.Heading(name: name, fileName: fileName, mediaType: mediaType, headers: headers))
    }

    /// Adds chunks of an async sequence that can be read once. If the form would have to be replayed, the request fails
    /// with ``SessionError/Code/bodyNotReplayable``.
    public mutating func append<Chunks: AsyncSequence & Sendable>(
        once sequence: Chunks, length: Int64? = nil, name: String, fileName: String? = nil, mediaType: String? = nil,
        headers: HTTPHeaders = [:]
    ) throws(SessionError) where Chunks.Element == Data, Chunks.AsyncIterator: SendableMetatype {
        try append(
            .stream(once: sequence, length: length),
            BodyForm.Heading(name: name, fileName: fileName, mediaType: mediaType, headers: headers))
    }

    /// Adds a part with exactly the given fields, in order, and bytes.
    public mutating func append(headers: HTTPHeaders, body: Data) throws(SessionError) {
        try add(.raw(body, headers))
    }

    /// Throttles the form: sends at most `packetSize` bytes, waits for `delay`, and repeats.
    ///
    /// AFNetworking's values for bad networks are ``slowNetworkPacketSize`` and ``slowNetworkDelay``.
    public mutating func throttleBandwidth(packetSize: Int, delay: Duration) {
        form.throttle = BodyForm.Throttle(packetSize: packetSize, delay: delay)
    }

    // MARK: Writing

    /// Writes the form to a file, which appears or is replaced when it is complete. Ignores the throttle.
    ///
    /// - Throws: ``SessionError/Code/file`` if the file can't be written; ``SessionError/Code/bodySource`` if a stream
    ///   throws, with its error as ``SessionError/underlying``; ``SessionError/Code/cancelled``.
    public func write(to path: String) async throws(SessionError) {
        try await CoreFormSpool.write(form, to: path)
    }

    /// Writes the form to the file of a file URL, like ``write(to:)-(String)``.
    ///
    /// - Throws: ``SessionError/Code/invalidInput`` if it isn't a file URL; otherwise as with a path.
    public func write(to file: URL) async throws(SessionError) {
        try await write(to: file.filePath(of: "form"))
    }
}

extension MultipartFormData {
    /// Adds parameters as fields: names unescaped, in the order of a query; data as bytes, null as an empty part.
    package mutating func append(_ parameters: Parameters, encoder: ParameterEncoder) throws {
        for pair in try encoder.pairs(parameters) {
            let value =
                switch pair.content {
                case .null: Data()
                case .text(let text): Data(text.utf8)
                case .data(let data): data
                }
            try append(value, name: pair.key ?? "")
        }
    }

    /// Adds all parts of another form.
    mutating func append(partsOf other: BodyForm) throws(SessionError) {
        for part in other.parts { try add(part) }
    }

    /// Adds bytes with a heading, whose names need not be UTF-8.
    package mutating func append(_ data: Data, heading: BodyForm.Heading) throws(SessionError) {
        try add(.data(data, heading))
    }

    /// Adds a file with a heading, whose names need not be UTF-8.
    package mutating func append(file path: String, heading: BodyForm.Heading) throws(SessionError) {
        var file = BodyForm.File(path: path)
        file.size = try check(.file(file, heading))
        form.parts.append(.file(file, heading))
    }

    /// Adds a sequence that can be read once, with a heading, whose names need not be UTF-8.
    package mutating func append<Chunks: AsyncSequence & Sendable>(
        once sequence: Chunks, heading: BodyForm.Heading
    ) throws(SessionError) where Chunks.Element == Data, Chunks.AsyncIterator: SendableMetatype {
        try append(.stream(once: sequence), heading)
    }

    /// Adds JSON that is encoded when the form is sent.
    private mutating func append(_ body: HTTPBody, name: String) throws(SessionError) {
        if case .invalid(let error) = body.content { throw error }
        let heading = BodyForm.Heading(
            name: name, fileName: nil, mediaType: MediaType.json.essence, headers: [:])
        guard body.data == nil else { return try add(.data(body.data ?? Data(), heading)) }
        // Checks the heading only: the size of the JSON isn't known yet, and a chosen boundary is searched in it when
        // the form is sent.
        _ = try check(.data(Data(), heading))
        form.parts.append(.json(body, heading))
    }

    private mutating func append(_ body: HTTPBody, _ heading: BodyForm.Heading) throws(SessionError) {
        guard case .stream(let stream) = body.content else { return }
        try add(.stream(stream, heading))
    }

    private mutating func add(_ part: BodyForm.Part) throws(SessionError) {
        _ = try check(part)
        form.parts.append(part)
    }

    /// Returns the length of a part, nil if unknown. Throws if the core would refuse the part.
    private func check(_ part: BodyForm.Part) throws(SessionError) -> Int64? {
        guard count < CoreForm.maximumParts else {
            throw SessionError(.tooLarge, message: "the form has more than \(CoreForm.maximumParts) parts")
        }
        return try CoreForm.check(part, boundary: form.isBoundaryChosen ? boundary : nil)
    }

    /// Returns a boundary with 128 random bits.
    private static func randomBoundary() -> String {
        let digits = (0..<2).map { _ in
            let text = String(UInt64.random(in: .min ... .max), radix: 16, uppercase: true)
            return String(repeating: "0", count: 16 - text.utf8.count) + text
        }
        return "Boundary+" + digits.joined()
    }
}

extension MultipartFormData: CustomStringConvertible {
    /// The number of parts, never their contents.
    public var description: String { "form of \(count) parts" }
}

extension BodyForm {
    /// Returns this form with parameters as its first fields.
    func beginning(with parameters: Parameters, encoder: ParameterEncoder) throws -> MultipartFormData {
        var form = MultipartFormData(like: self)
        try form.append(parameters, encoder: encoder)
        try form.append(partsOf: self)
        return form
    }
}

extension HTTPBody {
    /// A multipart form. Its Content-Type is sent unless the request has one.
    public static func multipart(_ form: MultipartFormData) -> HTTPBody {
        HTTPBody(.form(form.form))
    }

    /// A multipart form whose parts a closure adds.
    ///
    /// ```swift
    /// let photo: Photo = try await manager.post("photos", parameters: ["album": 7], body: .multipart { form in
    ///     try form.append(file: "/pictures/engine.jpg", name: "image")
    /// })
    /// ```
    ///
    /// Parameters of the request are the form's first fields. Without any parts, the manager's calls with a method and
    /// a URL send what the request serializer makes without parameters, because a multipart body must have a part
    /// (RFC 2046 5.1.1).
    ///
    /// - Parameter build: Adds the parts. Called before this function returns. If it throws, the request fails with
    ///   that ``SessionError``, or with another error as the ``SessionError/underlying`` one.
    public static func multipart(_ build: (inout MultipartFormData) throws -> Void) -> HTTPBody {
        var form = MultipartFormData()
        do {
            try build(&form)
            return .multipart(form)
        } catch {
            return HTTPBody(.invalid(SessionError(serializingRequest: error, url: nil)))
        }
    }
}
