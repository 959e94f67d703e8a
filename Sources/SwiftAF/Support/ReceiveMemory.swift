import FoundationEssentials
import Synchronization

/// Keeps the memory of one long message or chunk, for the next one of about its size. Any thread.
///
/// malloc gives memory of this size back to the kernel when it is released, and the kernel clears every page of it again:
/// half of the processor time of the row `echo_64k_1` of Benchmarks/run. The row `events` measures it for chunks.
final class ReceiveMemory: Sendable {
    /// A part of the memory. Must be given back, or handed over as `Data`.
    struct Block {
        let start: UnsafeMutableRawPointer
        /// The number of bytes that it has room for.
        let room: Int
    }

    /// Shorter ones cost malloc little; longer ones aren't kept.
    private let sizes: ClosedRange<Int>
    /// In front of the bytes: how many there is room for.
    private static let head = 16

    /// The address of the memory that is kept; 0: none.
    private let spare = Atomic<UInt>(0)

    init(keeping sizes: ClosedRange<Int>) {
        self.sizes = sizes
    }

    deinit {
        UnsafeMutableRawPointer(bitPattern: spare.load(ordering: .acquiring))?.deallocate()
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
        let kept = UnsafeMutableRawPointer(bitPattern: spare.exchange(0, ordering: .acquiringAndReleasing))
        if let kept {
            let room = kept.load(as: Int.self)
            // One that is much larger would stay with a message that needs little.
            if size <= room, room - size <= size / 4 { return Block(start: kept + Self.head, room: room) }
            kept.deallocate()
        }
        let made = UnsafeMutableRawPointer.allocate(byteCount: Self.head + size, alignment: Self.head)
        made.storeBytes(of: size, as: Int.self)
        return Block(start: made + Self.head, room: size)
    }

    /// Returns the first bytes of a block, which comes back when they are released.
    func handOver(_ block: Block, count: Int) -> Data {
        Data(bytesNoCopy: block.start, count: count, deallocator: .custom { [self] _, _ in giveBack(block) })
    }

    /// Ends the use of a block.
    func giveBack(_ block: Block) {
        let memory = block.start - Self.head
        guard sizes.contains(block.room) else { return memory.deallocate() }
        // The latest is the most likely one to fit the next.
        let former = spare.exchange(UInt(bitPattern: memory), ordering: .acquiringAndReleasing)
        UnsafeMutableRawPointer(bitPattern: former)?.deallocate()
    }
}
