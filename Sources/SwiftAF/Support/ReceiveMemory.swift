import FoundationEssentials

/// Keeps the memory of long messages or chunks, for the next ones of about their size. Any thread.
///
/// malloc gives memory of this size back to the kernel when it is released, and the kernel clears every page of it
/// again: half of the processor time of the row `echo_64k_1` of Benchmarks/run. The row `events` measures it for
/// chunks.
final class ReceiveMemory: Sendable {
    /// A part of the memory. Must be recycled, or become `Data`.
    struct Block: @unchecked Sendable {
        let start: UnsafeMutableRawPointer
        /// In bytes.
        let capacity: Int
    }

    /// Shorter ones cost malloc little; longer ones aren't kept.
    private let sizes: ClosedRange<Int>
    /// The maximum number of blocks that are kept.
    private let maximumBlocks: Int
    private let freeBlocks: Locked<[Block]>

    init(keeping sizes: ClosedRange<Int>, blocks: Int = 1) {
        self.sizes = sizes
        maximumBlocks = blocks
        freeBlocks = Locked([])
    }

    deinit {
        release()
    }

    /// The number of blocks that are kept.
    var count: Int { freeBlocks.withLock { $0.count } }

    /// Frees the blocks that are kept.
    func release() {
        freeBlocks.withLock { freeBlocks in
            for block in freeBlocks { block.start.deallocate() }
            freeBlocks.removeAll()
        }
    }

    /// Copies bytes into memory that comes back when the result is released. Few bytes are just copied.
    func copy(_ bytes: UnsafeRawBufferPointer) -> Data {
        guard sizes.contains(bytes.count), let source = bytes.baseAddress else { return Data(bytes) }
        let block = take(bytes.count)
        block.start.copyMemory(from: source, byteCount: bytes.count)
        return makeData(block, count: bytes.count)
    }

    /// Returns memory for at least `size` bytes.
    func take(_ size: Int) -> Block {
        let kept = freeBlocks.withLock { freeBlocks -> Block? in
            // One that is much larger would stay with a message that needs little.
            while let block = freeBlocks.popLast() {
                if size <= block.capacity, block.capacity - size <= size / 4 { return block }
                block.start.deallocate()
            }
            return nil
        }
        return kept ?? Block(start: .allocate(byteCount: size, alignment: 16), capacity: size)
    }

    /// Returns the first bytes of a block, which comes back when they are released.
    func makeData(_ block: Block, count: Int) -> Data {
        Data(bytesNoCopy: block.start, count: count, deallocator: .custom { [self] _, _ in recycle(block) })
    }

    /// Ends the use of a block.
    func recycle(_ block: Block) {
        guard sizes.contains(block.capacity) else { return block.start.deallocate() }
        let former = freeBlocks.withLock { freeBlocks -> Block? in
            // The latest is the most likely one to fit the next, and to be in the processor's cache.
            defer { freeBlocks.append(block) }
            return freeBlocks.count < maximumBlocks ? nil : freeBlocks.removeFirst()
        }
        former?.start.deallocate()
    }
}
