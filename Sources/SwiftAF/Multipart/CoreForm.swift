internal import CAFCore
import FoundationEssentials

/// Owns a form of the core until a request takes it. Not thread-safe.
final class CoreForm {
    static let maximumParts = Int(AFC_MULTIPART_PARTS_MAX)

    /// The core's form; nil after ``take()``.
    private var raw: OpaquePointer?

    /// Creates an empty form.
    private init(_ boundary: String?) throws(SessionError) {
        var failure = afc_failure()
        guard boundary?.containsNUL != true else {
            throw SessionError(.invalidInput, message: "the boundary contains NUL")
        }
        let status =
            if let boundary {
                boundary.withCString { afc_multipart_new(&raw, $0, &failure) }
            } else {
                afc_multipart_new(&raw, nil, &failure)
            }
        guard status == .AFC_OK else { throw SessionError(failure) }
    }

    /// Makes the core's form.
    ///
    /// - Parameter reader: Returns the reader of a part that is a stream. The form takes ownership of it.
    convenience init(_ form: BodyForm, reader: (BodyStream) -> afc_reader) throws(SessionError) {
        try self.init(form.boundary)
        if !form.isBoundaryChosen { afc_multipart_trust_boundary(raw) }
        for part in try form.encoded(with: JSONCoder()).parts { try add(part, reader, lending: true) }
        guard let throttle = form.throttle else { return }
        afc_multipart_throttle(raw, max(0, throttle.packetSize), throttle.delay.coreMilliseconds)
    }

    deinit {
        afc_multipart_free(raw)
    }

    /// Checks a part as the core does when it is added, without keeping it.
    ///
    /// - Returns: The size of its body in bytes; nil if unknown.
    static func check(_ part: BodyForm.Part, boundary: String?) throws(SessionError) -> Int64? {
        let form = try CoreForm(boundary)
        try form.add(part, { _ in .empty }, lending: false)
        return form.firstPartLength
    }

    /// Checks a boundary that was chosen by the caller.
    static func check(boundary: String) throws(SessionError) {
        _ = try CoreForm(boundary)
    }

    /// Returns the exact size of a form in its current state, in bytes; nil if unknown.
    static func length(of form: BodyForm) throws(SessionError) -> Int64? {
        try CoreForm(form, reader: { _ in .empty }).length
    }

    // The form is freed with this object, which must outlive each call. Don't use `raw` from outside.

    private var length: Int64? { Self.known(afc_multipart_get_length(raw)) }

    private var firstPartLength: Int64? { Self.known(afc_multipart_get_part_length(raw, 0)) }

    private static func known(_ length: Int64) -> Int64? {
        length < 0 ? nil : length
    }

    /// Passes ownership of the form to the caller.
    func take() -> OpaquePointer? {
        defer { raw = nil }
        return raw
    }

    /// Writes up to `size` bytes to a file. Returns their number or one of the AFC_READ_… codes.
    func write(_ size: Int, to descriptor: Int32, _ failure: inout afc_failure) -> Int {
        afc_multipart_write(raw, descriptor, size, &failure)
    }

    /// - Parameter lending: Whether the form outlives this call, so that bytes which aren't copied must be retained for
    ///   it.
    private func add(
        _ part: BodyForm.Part, _ reader: (BodyStream) -> afc_reader, lending: Bool
    ) throws(SessionError) {
        var failure = afc_failure()
        let status: afc_status
        switch part {
        case .data(let data, let heading):
            status = heading.withPart { part in
                Self.withBytes(data, lending: lending) {
                    afc_multipart_add_bytes(raw, part, $0, $1, $2, &failure)
                }
            }
        case .json(let body, let heading):
            // The body has already been encoded: see init(_:reader:) and MultipartFormData.append(json:name:encoder:).
            return try add(.data(body.data ?? Data(), heading), reader, lending: lending)
        case .raw(let data, let headers):
            status = headers.withCore { fields, count, _ in
                Self.withBytes(data, lending: lending) {
                    afc_multipart_add_raw(raw, fields, count, $0, $1, $2, &failure)
                }
            }
        case .file(let file, let heading):
            if let fault = file.path.pathFault("the path of a part's file") {
                throw SessionError(.invalidInput, message: fault)
            }
            // Checked before the length is computed, which would overflow.
            if let start = file.range?.lowerBound, start < 0 {
                throw SessionError(
                    .invalidInput, message: "the range of a part's file begins at \(start); it must be 0 or more")
            }
            status = heading.withPart { part in
                file.withCore { afc_multipart_add_file(raw, part, $0, &failure) }
            }
        case .stream(let stream, let heading):
            if let length = stream.length, length < 0 {
                throw SessionError(
                    .invalidInput, message: "the length of a part is \(length); it must be 0 or more, or nil if unknown"
                )
            }
            status = heading.withPart { part in
                var reader = reader(stream)
                return afc_multipart_add_reader(
                    raw, part, &reader, stream.length ?? AFC_LENGTH_UNKNOWN_VALUE, &failure)
            }
        }
        guard status == .AFC_OK else { throw SessionError(failure) }
    }

    private typealias GiveBack = @convention(c) (UnsafeMutableRawPointer?) -> Void

    /// Passes bytes to the core: small ones are copied, others are retained until the core releases them. If `lending`
    /// is false, they are valid during the call only.
    private static func withBytes(
        _ data: Data, lending: Bool, _ use: (afc_slice, GiveBack?, UnsafeMutableRawPointer?) -> afc_status
    ) -> afc_status {
        guard lending else { return data.withUnsafeBytes { use(afc_slice($0), { _ in }, nil) } }
        guard data.count > BorrowedData.largestCopy else {
            return data.withUnsafeBytes { use(afc_slice($0), nil, nil) }
        }
        let loan = BorrowedData.lend(data)
        return use(loan.bytes, BorrowedData.giveBack, loan.context)
    }
}

/// The form of a request, with the sources of its parts that are streams.
///
/// Sendable, because the form is used only by ``makeBody()``, which is called once, before the core reads.
final class CoreFormSource: CoreBodySource, @unchecked Sendable {
    private let form: CoreForm
    private let streams: [CoreStreamSource]

    init(_ form: BodyForm, for task: CoreTask) throws(SessionError) {
        var streams: [CoreStreamSource] = []
        self.form = try CoreForm(form) { stream in
            let source = CoreStreamSource(stream, for: task)
            streams.append(source)
            return afc_reader(source)
        }
        self.streams = streams
    }

    override var failure: (any Error)? { streams.lazy.compactMap(\.failure).first }
    override var lateFailure: (any Error)? { streams.lazy.compactMap(\.lateFailure).first }

    override func makeBody() -> afc_body {
        var body = afc_body()
        body.kind = AFC_BODY_MULTIPART
        body.form = form.take()
        return body
    }
}

extension BodyForm.Heading {
    /// Calls `use` with the heading as a core value, valid during the call.
    fileprivate func withPart<Result>(_ use: (UnsafePointer<afc_part>) -> Result) -> Result {
        let nameBytes = rawName ?? Array(name.utf8)
        let fileNameBytes = rawFileName ?? fileName.map { Array($0.utf8) }
        let size = nameBytes.count + (fileNameBytes?.count ?? 0) + (mediaType?.utf8.count ?? 0)
        return headers.withCore(moreText: size) { fields, count, texts in
            var part = afc_part()
            part.size = MemoryLayout<afc_part>.stride
            part.name = texts.append(nameBytes)
            if let fileNameBytes { part.file_name = texts.append(fileNameBytes) }
            if let mediaType { part.content_type = texts.append(mediaType) }
            part.headers = fields
            part.header_count = count
            return use(&part)
        }
    }
}

extension HTTPHeaders {
    /// Calls the closure with the fields as core values, valid during the call, and with memory for `moreText` bytes of
    /// other strings.
    fileprivate func withCore<Result>(
        moreText: Int = 0, _ use: (UnsafePointer<afc_header>?, Int, inout CStringArena) -> Result
    ) -> Result {
        withUnsafeTemporaryAllocation(of: afc_header.self, capacity: fields.count + suppressedDefaults.count) {
            memory in
            // One more byte, so that the address isn't nil if all strings are empty.
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: CStringArena.size(of: self) + moreText + 1) {
                text in
                var texts = CStringArena(text)
                let count = texts.put(self, into: memory)
                return use(UnsafePointer(memory.baseAddress), count, &texts)
            }
        }
    }
}

extension BodyForm.File {
    fileprivate func withCore<Result>(_ use: (UnsafePointer<afc_part_file>) -> Result) -> Result {
        path.withCString { path in
            var file = afc_part_file()
            file.path = path
            file.offset = range?.lowerBound ?? 0
            file.length = range.map { $0.upperBound - $0.lowerBound } ?? AFC_LENGTH_UNKNOWN_VALUE
            file.size = size ?? AFC_LENGTH_UNKNOWN_VALUE
            return use(&file)
        }
    }
}

extension afc_reader {
    /// A reader without bytes and without a release callback, for forms that are only measured.
    fileprivate static var empty: afc_reader {
        afc_reader(context: nil, read: { _, _, _ in AFC_READ_END }, rewind: nil, release: nil)
    }
}
