internal import CAFCore
import FoundationEssentials

/// An error of a body that isn't thrown by its source.
struct CoreBodyError: Error {
    let message: String
}

/// A request body that the core reads through callbacks. Everything except ``failure`` and ``lateFailure`` is
/// called on the loop thread.
class CoreBodySource: @unchecked Sendable {
    /// The length in bytes; nil if unknown.
    var length: Int64? { nil }
    /// Whether ``rewind()`` can succeed.
    var isReplayable: Bool { false }
    /// The error of the source. Safe to read once the task has finished.
    var failure: (any Error)? { nil }
    /// The error, if it was thrown after the core had read the last byte, so that the task was cancelled. Read like
    /// ``failure``.
    var lateFailure: (any Error)? { nil }

    /// Reads into the buffer. Returns the number of bytes, or one of the AFC_READ_… codes.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int { AFC_READ_END }
    func rewind() -> Bool { false }
    /// Called when the core no longer needs the body.
    func close() {}

    /// Returns the body as a core value. Call once: the core takes ownership of what it borrows, even if it rejects the
    /// request.
    func makeBody() -> afc_body {
        var body = afc_body()
        body.kind = AFC_BODY_READER
        body.length = length ?? AFC_LENGTH_UNKNOWN_VALUE
        body.reader = afc_reader(self)
        return body
    }
}

/// Keeps bytes that the core reads in place. Their address is stable: they are too many to be stored inline, and
/// modifying a copy of the `Data` makes its own storage, because this object retains this one.
final class BorrowedData {
    /// The maximum size that is copied: copying is cheaper than retaining, and small `Data` is stored inline.
    static let largestCopy = 1024

    private let data: Data

    private init(_ data: Data) {
        self.data = data
    }

    /// Lends more than ``largestCopy`` bytes. ``giveBack`` must be called once with the returned context.
    static func lend(_ data: Data) -> (bytes: afc_slice, context: UnsafeMutableRawPointer) {
        (data.withUnsafeBytes { afc_slice($0) }, Unmanaged.passRetained(BorrowedData(data)).toOpaque())
    }

    /// Ends a loan.
    static let giveBack: @convention(c) (UnsafeMutableRawPointer?) -> Void = { context in
        context.map { Unmanaged<BorrowedData>.fromOpaque($0).release() }
    }
}

extension CoreRequest {
    /// The number of bytes of the body that ``makeBody(_:_:)`` copies.
    var copiedBodySize: Int {
        guard let count = http.body.data?.count, count <= BorrowedData.largestCopy else { return 0 }
        return count
    }

    /// Returns the body as a core value. The core takes ownership of what it borrows, even if it rejects the request.
    func makeBody(_ source: CoreBodySource?, _ texts: inout CStringArena) -> afc_body {
        var body = afc_body()
        switch http.body.content {
        case .none, .json, .jsonParameters, .invalid:
            // The last three don't get here: see HTTPRequest.encodeJSON.
            break
        case .data(let data) where data.count <= BorrowedData.largestCopy:
            body.kind = AFC_BODY_BYTES
            body.bytes = texts.put(data)
        case .data(let data):
            let loan = BorrowedData.lend(data)
            body.kind = AFC_BODY_BYTES
            body.bytes = loan.bytes
            body.context = loan.context
            body.release = BorrowedData.giveBack
        case .file(let path):
            body.kind = AFC_BODY_FILE
            body.path = texts.put(path)
        case .stream, .form:
            if let source { body = source.makeBody() }
        }
        return body
    }
}

/// The value of AFC_LENGTH_UNKNOWN, a macro with a cast, which Swift doesn't import.
let AFC_LENGTH_UNKNOWN_VALUE: Int64 = -1

extension afc_reader {
    private static func source(_ context: UnsafeMutableRawPointer?) -> CoreBodySource? {
        context.map { Unmanaged<CoreBodySource>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Creates a reader that retains the source until the core releases it.
    init(_ source: CoreBodySource) {
        self.init()
        context = Unmanaged.passRetained(source).toOpaque()
        read = { context, buffer, size in
            guard let source = afc_reader.source(context), let buffer else { return AFC_READ_FAILED }
            return source.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: size))
        }
        if source.isReplayable {
            rewind = { context in afc_reader.source(context)?.rewind() ?? false }
        }
        release = { context in
            guard let context else { return }
            let source = Unmanaged<CoreBodySource>.fromOpaque(context)
            source.takeUnretainedValue().close()
            source.release()
        }
    }
}
