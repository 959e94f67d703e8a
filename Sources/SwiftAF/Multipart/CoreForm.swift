internal import CAFCore
import FoundationEssentials

/// Owns a form of the core until a request takes it. Has one user at a time.
final class CoreForm {
    static let mostParts = Int(AF_MULTIPART_PARTS_MAX)

    /// Nil once taken.
    private var raw: OpaquePointer?

    /// An empty form.
    private init(_ boundary: String?) throws(SessionError) {
        var failure = af_failure()
        guard boundary?.utf8.contains(0) != true else {
            throw SessionError(.invalidInput, message: "the boundary contains NUL")
        }
        let status =
            if let boundary {
                boundary.withCString { af_multipart_new(&raw, $0, &failure) }
            } else {
                af_multipart_new(&raw, nil, &failure)
            }
        guard status == .AF_OK else { throw SessionError(failure) }
    }

    /// The form in the core's shape.
    ///
    /// - Parameter reader: Gives the reader of a part that is a stream; the form takes it.
    convenience init(_ form: BodyForm, reader: (BodyStream) -> af_reader) throws(SessionError) {
        try self.init(form.boundary)
        if !form.isBoundaryChosen { af_multipart_trust_boundary(raw) }
        for part in form.parts { try add(part, reader, lending: true) }
        guard let throttle = form.throttle else { return }
        af_multipart_throttle(raw, max(0, throttle.packetSize), throttle.delay.coreMilliseconds)
    }

    deinit {
        af_multipart_free(raw)
    }

    /// Checks a part as the core does when it adds it, without keeping anything of it.
    ///
    /// - Returns: The number of bytes of its body, nil if it isn't known.
    static func check(_ part: BodyForm.Part, boundary: String?) throws(SessionError) -> Int64? {
        let form = try CoreForm(boundary)
        try form.add(part, { _ in .empty }, lending: false)
        return form.firstPartLength
    }

    /// Checks a boundary that a caller has chosen.
    static func check(boundary: String) throws(SessionError) {
        _ = try CoreForm(boundary)
    }

    /// The exact number of bytes of a form as it stands now, nil if it isn't known.
    static func length(of form: BodyForm) throws(SessionError) -> Int64? {
        try CoreForm(form, reader: { _ in .empty }).length
    }

    // The form is freed with this object, which lives as long as a call of its own: never use `raw` from outside.

    private var length: Int64? { Self.known(af_multipart_get_length(raw)) }

    private var firstPartLength: Int64? { Self.known(af_multipart_get_part_length(raw, 0)) }

    private static func known(_ length: Int64) -> Int64? {
        length < 0 ? nil : length
    }

    /// Hands the form over.
    func take() -> OpaquePointer? {
        defer { raw = nil }
        return raw
    }

    /// Writes the next bytes, at most `size`, to a file: AF_READ_… or their number.
    func write(_ size: Int, to descriptor: Int32, _ failure: inout af_failure) -> Int {
        af_multipart_write(raw, descriptor, size, &failure)
    }

    /// - Parameter lending: Whether the form outlives this call, so that bytes must be kept for it.
    private func add(
        _ part: BodyForm.Part, _ reader: (BodyStream) -> af_reader, lending: Bool
    ) throws(SessionError) {
        var failure = af_failure()
        let status: af_status
        switch part {
        case .data(let data, let heading):
            status = heading.withPart { part in
                Self.withBytes(data, lending: lending) {
                    af_multipart_add_bytes(raw, part, $0, $1, $2, &failure)
                }
            }
        case .raw(let data, let headers):
            status = headers.withCore { fields, count, _ in
                Self.withBytes(data, lending: lending) {
                    af_multipart_add_raw(raw, fields, count, $0, $1, $2, &failure)
                }
            }
        case .file(let file, let heading):
            guard !file.path.utf8.contains(0) else {
                throw SessionError(.invalidInput, message: "the path of a part's file contains NUL")
            }
            status = heading.withPart { part in
                file.withCore { af_multipart_add_file(raw, part, $0, &failure) }
            }
        case .stream(let stream, let heading):
            status = heading.withPart { part in
                var reader = reader(stream)
                return af_multipart_add_reader(
                    raw, part, &reader, stream.length ?? AF_LENGTH_UNKNOWN_VALUE, &failure)
            }
        }
        guard status == .AF_OK else { throw SessionError(failure) }
    }

    private typealias GiveBack = @convention(c) (UnsafeMutableRawPointer?) -> Void

    /// Bytes for the core: copied by it if they are few, else lent; for a check, lent for the time of the call.
    private static func withBytes(
        _ data: Data, lending: Bool, _ use: (af_slice, GiveBack?, UnsafeMutableRawPointer?) -> af_status
    ) -> af_status {
        guard lending else { return data.withUnsafeBytes { use(af_slice($0), { _ in }, nil) } }
        guard data.count > BorrowedData.largestCopy else { return data.withUnsafeBytes { use(af_slice($0), nil, nil) } }
        let loan = BorrowedData.lend(data)
        return use(loan.bytes, BorrowedData.giveBack, loan.context)
    }
}

/// The form of a request, with the sources of those parts that are streams.
final class CoreFormSource: CoreBodySource, @unchecked Sendable {
    private let form: CoreForm
    private let streams: [CoreStreamSource]

    init(_ form: BodyForm, for task: CoreTask) throws(SessionError) {
        var streams: [CoreStreamSource] = []
        self.form = try CoreForm(form) { stream in
            let source = CoreStreamSource(stream, for: task)
            streams.append(source)
            return af_reader(source)
        }
        self.streams = streams
    }

    override var failure: (any Error)? { streams.lazy.compactMap(\.failure).first }

    override func makeBody() -> af_body {
        var body = af_body()
        body.kind = AF_BODY_MULTIPART
        body.form = form.take()
        return body
    }
}

extension BodyForm.Heading {
    /// The heading in the core's form, for the time of the call.
    fileprivate func withPart<Result>(_ use: (UnsafePointer<af_part>) -> Result) -> Result {
        let nameBytes = rawName ?? Array(name.utf8)
        let fileNameBytes = rawFileName ?? fileName.map { Array($0.utf8) }
        let size = nameBytes.count + (fileNameBytes?.count ?? 0) + (mediaType?.utf8.count ?? 0)
        return headers.withCore(moreText: size) { fields, count, texts in
            var part = af_part()
            part.size = MemoryLayout<af_part>.stride
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
    /// The fields in the core's form, for the time of the call, and memory for `moreText` bytes of other texts.
    fileprivate func withCore<Result>(
        moreText: Int = 0, _ use: (UnsafePointer<af_header>?, Int, inout CStringArena) -> Result
    ) -> Result {
        withUnsafeTemporaryAllocation(of: af_header.self, capacity: fields.count + removedDefaults.count) { memory in
            // One more, so that also an empty text has an address.
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
    fileprivate func withCore<Result>(_ use: (UnsafePointer<af_part_file>) -> Result) -> Result {
        path.withCString { path in
            var file = af_part_file(
                path: path, offset: range?.lowerBound ?? 0,
                length: range.map { $0.upperBound - $0.lowerBound } ?? AF_LENGTH_UNKNOWN_VALUE,
                size: size ?? AF_LENGTH_UNKNOWN_VALUE)
            return use(&file)
        }
    }
}

extension af_reader {
    /// Has no bytes and nothing to release: for forms that are only measured.
    fileprivate static var empty: af_reader {
        af_reader(context: nil, read: { _, _, _ in AF_READ_END }, rewind: nil, release: nil)
    }
}
