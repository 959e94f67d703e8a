import FoundationEssentials
import Synchronization

/// Keeps the memory of one long message, for the next one of about its size. Any thread.
///
/// malloc gives memory of this size back to the kernel when a message is released, and the kernel clears every page of it
/// again: half of the processor time of the row `echo_64k_1` of Benchmarks/run.
final class ReceiveMemory: Sendable {
    /// Shorter messages cost malloc little; longer ones aren't kept.
    private static let sizes = 16 * 1024...64 * 1024
    /// In front of the bytes: how many there is room for.
    private static let head = 16

    /// The address of the memory that is kept; 0: none.
    private let spare = Atomic<UInt>(0)

    deinit {
        UnsafeMutableRawPointer(bitPattern: spare.load(ordering: .acquiring))?.deallocate()
    }

    /// Copies a message.
    func copy(_ bytes: UnsafeRawBufferPointer) -> Data {
        guard Self.sizes.contains(bytes.count), let source = bytes.baseAddress else { return Data(bytes) }
        let start = take(bytes.count) + Self.head
        start.copyMemory(from: source, byteCount: bytes.count)
        return Data(
            bytesNoCopy: start, count: bytes.count, deallocator: .custom { [self] start, _ in keep(start - Self.head) })
    }

    private func take(_ size: Int) -> UnsafeMutableRawPointer {
        let kept = UnsafeMutableRawPointer(bitPattern: spare.exchange(0, ordering: .acquiringAndReleasing))
        if let kept {
            let room = kept.load(as: Int.self)
            // One that is much larger would stay with a message that needs little.
            if size <= room, room - size <= size / 4 { return kept }
            kept.deallocate()
        }
        let made = UnsafeMutableRawPointer.allocate(byteCount: Self.head + size, alignment: Self.head)
        made.storeBytes(of: size, as: Int.self)
        return made
    }

    private func keep(_ memory: UnsafeMutableRawPointer) {
        let (isKept, _) = spare.compareExchange(
            expected: 0, desired: UInt(bitPattern: memory), ordering: .acquiringAndReleasing)
        if !isKept { memory.deallocate() }
    }
}
