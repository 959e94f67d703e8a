internal import CAFCore
import FoundationEssentials
import Glibc

/// Copies of values for the time of a call into the core. They live as long as this object and are overwritten
/// before their memory is given back, since keys and passwords may be among them.
final class CoreArena {
    private var blocks: [UnsafeMutableRawBufferPointer] = []

    deinit {
        for block in blocks {
            if let start = block.baseAddress { explicit_bzero(start, block.count) }
            block.deallocate()
        }
    }

    /// Nil for nil.
    ///
    /// - Throws: ``SessionError/Code/invalidInput`` for a text with NUL in it, of which the core would see a part.
    func copy(_ text: String?, _ name: String) throws(SessionError) -> UnsafePointer<CChar>? {
        guard var text else { return nil }
        guard !text.utf8.contains(0) else { throw SessionError(.invalidInput, message: "\(name) contains NUL") }
        let block = reserve(text.utf8.count + 1)
        text.withUTF8 { block.copyMemory(from: UnsafeRawBufferPointer($0)) }
        block[text.utf8.count] = 0
        return UnsafePointer(block.baseAddress?.assumingMemoryBound(to: CChar.self))
    }

    func copy(_ data: Data) -> af_slice {
        let block = reserve(data.count)
        data.withUnsafeBytes { block.copyMemory(from: $0) }
        return af_slice(UnsafeRawBufferPointer(block))
    }

    func copy<Element: BitwiseCopyable>(_ elements: [Element]) -> UnsafePointer<Element>? {
        guard !elements.isEmpty else { return nil }
        let block = reserve(elements.count * MemoryLayout<Element>.stride)
        elements.withUnsafeBytes { block.copyMemory(from: $0) }
        return UnsafePointer(block.baseAddress?.assumingMemoryBound(to: Element.self))
    }

    private func reserve(_ count: Int) -> UnsafeMutableRawBufferPointer {
        let block = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 16)
        blocks.append(block)
        return block
    }
}
