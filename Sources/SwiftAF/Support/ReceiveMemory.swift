import FoundationEssentials

/// Keeps the memory of long messages or chunks, for the next ones of about their size. Any thread.
///
/// malloc gives memory of this size back to the kernel when it is released, and the kernel clears every page of it
/// again: half of the processor time of the row `echo_64k_1` of Benchmarks/run. The row `events` measures it for
/// chunks.
final class ReceiveMemory: Sendable {
    /// A part of the memory. Must be given back, or handed over as `Data`.
    struct Block: @unchecked Sendable {
        let start: UnsafeMutableRawPointer
        /// The number of bytes that it has room for.
        let room: Int
    }

    /// Shorter ones cost malloc little; longer ones aren't kept.
    private let sizes: ClosedRange<Int>
    /// The most blocks that are kept.
    private let most: Int
    private let spares: Locked<[Block]>

    init(keeping sizes: ClosedRange<Int>, blocks: Int = 1) {
        self.sizes = sizes
        most = blocks
        spares = Locked([])
    }

    deinit {
        release()
    }

    /// The number of blocks that are kept.
    var count: Int { spares.withLock { $0.count } }

    /// Frees the blocks that are kept.
    func release() {
        spares.withLock { spares in
            for block in spares { block.start.deallocate() }
            spares.removeAll()
        }
    }

    /// Copies bytes into memory that comes back when the result is released. Few bytes are just copied.
    func copy(_ bytes: UnsafeRawBufferPointer) -> Data {
        guard sizes.contains(bytes.count), let source = bytes.baseAddress else { return Data(bytes) }
        let block = take(bytes.count)
        block.start.copyMemory(from: source, byteCount: bytes.count)
        return handOver(block, count: bytes.count)
    }

    /// Returns memory with room for at least `size` bytes.
    func take(_ size: Int) -> Block {
        let kept = spares.withLock { spares -> Block? in
            // One that is much larger would stay with a message that needs little.
            while let block = spares.popLast() {
                if size <= block.room, block.room - size <= size / 4 { return block }
                block.start.deallocate()
            }
            return nil
        }
        return kept ?? Block(start: .allocate(byteCount: size, alignment: 16), room: size)
    }

    /// Returns the first bytes of a block, which comes back when they are released.
    func handOver(_ block: Block, count: Int) -> Data {
        Data(bytesNoCopy: block.start, count: count, deallocator: .custom { [self] _, _ in giveBack(block) })
    }

    /// Ends the use of a block.
    func giveBack(_ block: Block) {
        guard sizes.contains(block.room) else { return block.start.deallocate() }
        let former = spares.withLock { spares -> Block? in
            // The latest is the most likely one to fit the next, and to be in the processor's cache.
            defer { spares.append(block) }
            return spares.count < most ? nil : spares.removeFirst()
        }
        former?.start.deallocate()
    }
}
