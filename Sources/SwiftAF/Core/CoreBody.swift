internal import CAFCore
import FoundationEssentials

/// An error that this module finds in a body, such as a wrong length, not one that the program's sequence throws.
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
    /// The error, if it was thrown after the core had read the last byte. The core can't be given it any more, so the
    /// task was cancelled instead. Safe to read once the task has finished.
    var lateFailure: (any Error)? { nil }

    /// Reads into the buffer without blocking. Returns the number of bytes, or one of the AFC_READ_… codes.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int { AFC_READ_END }
    /// Starts over, because the body is sent again. Returns false if that is impossible.
    func rewind() -> Bool { false }
    /// Called when the core no longer needs the body.
    func close() {}

    /// Returns the body as a core value. Call once: the value holds a reference to this object, which the core releases
    /// even if it rejects the request.
    func makeBody() -> afc_body {
        var body = afc_body()
        body.kind = AFC_BODY_READER
        body.length = length ?? AFC_LENGTH_UNKNOWN_VALUE
        body.reader = afc_reader(self)
        return body
    }
}

/// Keeps bytes that the core reads in place. Their address is stable for two reasons: `Data` stores only a few bytes
/// inline and these are more, and modifying another copy of the `Data` gives that copy new storage, because this object
/// retains the present one.
final class BorrowedData {
    /// Bodies up to this size, in bytes, are copied instead: copying is cheaper than retaining, and small `Data` is
    /// stored inline, without a stable address.
    static let largestCopy = 1024

    private let data: Data

    private init(_ data: Data) {
        self.data = data
    }

    /// Returns a view of the bytes, of which there must be more than ``largestCopy``. It is valid until ``giveBack`` is
    /// called with the returned context, which must happen once.
    static func lend(_ data: Data) -> (bytes: afc_slice, context: UnsafeMutableRawPointer) {
        (data.withUnsafeBytes { afc_slice($0) }, Unmanaged.passRetained(BorrowedData(data)).toOpaque())
    }

    /// Releases the bytes that ``lend(_:)`` returned.
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

    /// Returns the body as a core value. What it refers to is copied into `texts` or released by the core, even if the
    /// core rejects the request.
    func makeBody(_ source: CoreBodySource?, _ texts: inout CStringArena) -> afc_body {
        var body = afc_body()
        switch http.body.content {
        case .none, .json, .jsonParameters, .invalid:
            // HTTPRequest.encodeJSON has replaced the last three by data or thrown an error.
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
