import Foundation

/// Data in pieces of a size, as an upload's source.
struct Pieces: AsyncSequence, Sendable {
    let data: Data
    let size: Int

    init(of data: Data, size: Int) {
        self.data = data
        self.size = size
    }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate var rest: Data
        fileprivate let size: Int

        mutating func next() async -> Data? {
            guard !rest.isEmpty else { return nil }
            defer { rest = rest.dropFirst(size) }
            return rest.prefix(size)
        }
    }

    func makeAsyncIterator() -> Iterator { Iterator(rest: data, size: size) }
}
