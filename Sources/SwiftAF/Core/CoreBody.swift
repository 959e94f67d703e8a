internal import CAFCore
import FoundationEssentials

/// What is wrong with a body beyond an error that its source threw.
struct CoreBodyError: Error {
    let message: String
}

/// A request body that the core pulls. Everything but ``failure`` is called on the loop thread.
class CoreBodySource: @unchecked Sendable {
    /// In bytes, nil if it isn't known.
    var length: Int64? { nil }
    /// Whether ``rewind()`` can succeed.
    var isReplayable: Bool { false }
    /// What went wrong; safe to read once the task has finished.
    var failure: (any Error)? { nil }

    /// Bytes written, or one of AF_READ_….
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int { AF_READ_END }
    func rewind() -> Bool { false }
    /// The core is done with the body.
    func close() {}

    /// The body in the core's form, once. The core takes over what it borrows, also when it refuses the request.
    func makeBody() -> af_body {
        var body = af_body()
        body.kind = AF_BODY_READER
        body.length = length ?? AF_LENGTH_UNKNOWN_VALUE
        body.reader = af_reader(self)
        return body
    }
}

/// Keeps bytes that the core reads where they are. They don't move: they are too many to be stored inline, and
/// whoever changes a copy of the `Data` makes a storage of his own while the loan holds this one.
final class BorrowedData {
    /// Up to here bytes are copied: that is cheaper than keeping them, and tiny `Data` has no memory of its own.
    static let largestCopy = 1024

    private let data: Data

    private init(_ data: Data) {
        self.data = data
    }

    /// More than ``largestCopy`` bytes, and what ``giveBack`` must be called with once.
    static func lend(_ data: Data) -> (bytes: af_slice, context: UnsafeMutableRawPointer) {
        (data.withUnsafeBytes { af_slice($0) }, Unmanaged.passRetained(BorrowedData(data)).toOpaque())
    }

    /// Ends a loan.
    static let giveBack: @convention(c) (UnsafeMutableRawPointer?) -> Void = { context in
        context.map { Unmanaged<BorrowedData>.fromOpaque($0).release() }
    }
}

extension CoreRequest {
    /// The body's bytes that ``makeBody(_:_:)`` copies.
    var copiedBodySize: Int {
        guard let count = http.body.data?.count, count <= BorrowedData.largestCopy else { return 0 }
        return count
    }

    /// The body in the core's form. The core takes over what it borrows, also when it refuses the request.
    func makeBody(_ source: CoreBodySource?, _ texts: inout CStringArena) -> af_body {
        var body = af_body()
        switch http.body.content {
        case .none:
            break
        case .data(let data) where data.count <= BorrowedData.largestCopy:
            body.kind = AF_BODY_BYTES
            body.bytes = texts.put(data)
        case .data(let data):
            let loan = BorrowedData.lend(data)
            body.kind = AF_BODY_BYTES
            body.bytes = loan.bytes
            body.context = loan.context
            body.release = BorrowedData.giveBack
        case .file(let path):
            body.kind = AF_BODY_FILE
            body.path = texts.put(path)
        case .stream, .form:
            if let source { body = source.makeBody() }
        }
        return body
    }

}

/// AF_LENGTH_UNKNOWN, a cast that Swift does not import.
let AF_LENGTH_UNKNOWN_VALUE: Int64 = -1

extension af_reader {
    private static func source(_ context: UnsafeMutableRawPointer?) -> CoreBodySource? {
        context.map { Unmanaged<CoreBodySource>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Retains the source until the core releases the reader.
    init(_ source: CoreBodySource) {
        self.init()
        context = Unmanaged.passRetained(source).toOpaque()
        read = { context, buffer, size in
            guard let source = af_reader.source(context), let buffer else { return AF_READ_FAILED }
            return source.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: size))
        }
        if source.isReplayable {
            rewind = { context in af_reader.source(context)?.rewind() ?? false }
        }
        release = { context in
            guard let context else { return }
            let source = Unmanaged<CoreBodySource>.fromOpaque(context)
            source.takeUnretainedValue().close()
            source.release()
        }
    }
}
