import FoundationEssentials

/// A queue of the received bytes that the reader hasn't taken. Protected by the lock of the ``StreamState`` that it
/// belongs to, except for the space that is being written.
///
/// The bytes are in blocks, which are few and small enough to stay in the processor's cache until the other thread
/// reads them: with one block for all bytes, the row `events` of Benchmarks/run takes twice as much processor time.
final class ChunkQueue: @unchecked Sendable {
    /// The memory to write the next bytes to: the end of a block, and the start of the next one if that isn't enough.
    struct Space {
        let first: UnsafeMutableRawBufferPointer
        let second: UnsafeMutableRawBufferPointer?

        var count: Int { first.count + (second?.count ?? 0) }

        func copy(_ piece: UnsafeRawBufferPointer) {
            first.copyMemory(from: UnsafeRawBufferPointer(rebasing: piece.prefix(first.count)))
            second?.copyMemory(from: UnsafeRawBufferPointer(rebasing: piece.dropFirst(first.count)))
        }
    }

    private struct Chunk {
        let block: ReceiveMemory.Block
        var count = 0

        var freeBytes: Int { block.capacity - count }
    }

    /// The capacity of a block in bytes, until one is filled. The reader gets a copy of chunks smaller than this.
    private static let minimumCapacity = 16 * 1024
    /// The capacity of a block in bytes, once a block was filled before it was read.
    private static let maximumCapacity = 128 * 1024

    private let memory = ReceiveMemory(
        keeping: ChunkQueue.minimumCapacity...ChunkQueue.maximumCapacity,
        blocks: StreamState.capacity / ChunkQueue.maximumCapacity)
    /// Full blocks, the oldest first.
    private var full: [Chunk] = []
    /// The block that is being filled.
    private var last: Chunk?
    /// The block after `last`, while a piece is written that needs both.
    private var next: Chunk?
    private var isWriting = false
    /// The number of bytes that can be taken.
    private(set) var count = 0
    /// The capacity of the next block.
    private var size = ChunkQueue.minimumCapacity

    /// The number of blocks that are kept for later pieces.
    var spare: Int { memory.count }

    /// The capacity of all blocks in use, in bytes.
    var capacity: Int { full.reduce(last?.block.capacity ?? 0) { $0 + $1.block.capacity } }

    deinit {
        for chunk in full { memory.recycle(chunk.block) }
        if let last { memory.recycle(last.block) }
        if let next { memory.recycle(next.block) }
    }

    /// Returns the space for the next `count` bytes, at least one. Until ``endWriting(_:)``, only the writer uses it,
    /// without the lock.
    func beginWriting(_ count: Int) -> Space {
        isWriting = true
        let chunk = last ?? makeChunk(for: count)
        last = chunk
        let first = min(count, chunk.freeBytes)
        let start = UnsafeMutableRawBufferPointer(start: chunk.block.start + chunk.count, count: first)
        guard first < count else { return Space(first: start, second: nil) }
        let rest = count - first
        let following = makeChunk(for: rest)
        next = following
        return Space(first: start, second: UnsafeMutableRawBufferPointer(start: following.block.start, count: rest))
    }

    /// Adds the bytes that were written to the space of ``beginWriting(_:)``.
    func endWriting(_ space: Space) {
        isWriting = false
        count += space.first.count
        last?.count += space.first.count
        if let second = space.second {
            count += second.count
            next?.count = second.count
        }
        guard let filled = last, filled.freeBytes == 0 else { return }
        full.append(filled)
        last = next
        next = nil
        // The stream fills blocks faster than they are read, so the next ones are larger.
        size = Self.maximumCapacity
    }

    private func makeChunk(for count: Int) -> Chunk {
        Chunk(block: memory.take(max(count, size)))
    }

    /// Returns the oldest bytes; nil if there are none, or if the only block is being written.
    func take() -> Data? {
        if !full.isEmpty { return makeData(full.removeFirst()) }
        guard !isWriting, let chunk = last, chunk.count > 0 else { return nil }
        // A block that is less than half full is copied, so that a reader that keeps the data doesn't keep the whole
        // block.
        guard chunk.count < max(Self.minimumCapacity, chunk.block.capacity / 2) else {
            last = nil
            return makeData(chunk)
        }
        count -= chunk.count
        last?.count = 0
        let bytes = Data(bytes: chunk.block.start, count: chunk.count)
        // The stream has become slow: it continues with a small block.
        if chunk.count < chunk.block.capacity / 8, chunk.block.capacity > Self.minimumCapacity {
            last = nil
            size = Self.minimumCapacity
            memory.recycle(chunk.block)
            memory.release()
        }
        return bytes
    }

    private func makeData(_ chunk: Chunk) -> Data {
        count -= chunk.count
        return memory.makeData(chunk.block, count: chunk.count)
    }
}
