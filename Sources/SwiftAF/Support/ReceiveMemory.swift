import FoundationEssentials

/// Reuses the memory of long messages or chunks for later ones of about the same size. Thread-safe.
///
/// free() returns memory of this size to the kernel, which clears its pages when they are allocated again. That took
/// half of the processor time of the row `echo_64k_1` of Benchmarks/run. The row `events` measures it for chunks.
final class ReceiveMemory: Sendable {
    /// A piece of memory. Its owner must pass it to ``recycle(_:)`` or ``makeData(_:count:)``.
    struct Block: @unchecked Sendable {
        let start: UnsafeMutableRawPointer
        /// The size in bytes.
        let capacity: Int
    }

    /// The sizes of blocks that are kept. For shorter ones malloc is fast enough.
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

    /// Copies bytes into a block that is recycled when the result is released. Sizes that aren't kept are copied to
    /// ordinary memory.
    func copy(_ bytes: UnsafeRawBufferPointer) -> Data {
        guard sizes.contains(bytes.count), let source = bytes.baseAddress else { return Data(bytes) }
        let block = take(bytes.count)
        block.start.copyMemory(from: source, byteCount: bytes.count)
        return makeData(block, count: bytes.count)
    }

    /// Returns memory for at least `size` bytes.
    func take(_ size: Int) -> Block {
        let kept = freeBlocks.withLock { freeBlocks -> Block? in
            // A block more than a quarter larger isn't used: a small message would occupy it as long as it is kept.
            while let block = freeBlocks.popLast() {
                if size <= block.capacity, block.capacity - size <= size / 4 { return block }
                block.start.deallocate()
            }
            return nil
        }
        return kept ?? Block(start: .allocate(byteCount: size, alignment: 16), capacity: size)
    }

    /// Returns the first bytes of a block as `Data`. The block is recycled when they are released.
    func makeData(_ block: Block, count: Int) -> Data {
        Data(bytesNoCopy: block.start, count: count, deallocator: .custom { [self] _, _ in recycle(block) })
    }

    /// Ends the use of a block: keeps it for later, or frees it.
    func recycle(_ block: Block) {
        guard sizes.contains(block.capacity) else { return block.start.deallocate() }
        let former = freeBlocks.withLock { freeBlocks -> Block? in
            // The oldest block is freed, because the latest one most likely fits the next message and is in the
            // processor's cache.
            defer { freeBlocks.append(block) }
            return freeBlocks.count < maximumBlocks ? nil : freeBlocks.removeFirst()
        }
        former?.start.deallocate()
    }
}
