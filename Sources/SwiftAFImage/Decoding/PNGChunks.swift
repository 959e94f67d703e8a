/// Follows the chunks of a PNG while its bytes arrive, in pieces of any size, and leaves out its text, and colour profiles
/// behind the first.
///
/// libpng expands up to 1000 chunks of compressed text to up to 8 MB each, wherever they are in the file and before the
/// size of the image is known, and any number of profiles, one after the other. Nothing here uses the text. Colours and
/// orientation are in other chunks.
struct PNGChunks {
    private static let signatureSize = 8
    private static let headSize = 8
    private static let checksumSize = 4
    private static let text = ["tEXt", "zTXt", "iTXt"].map { Array($0.utf8) }
    private static let profile = Array("iCCP".utf8)

    /// What has arrived of a chunk's size and name.
    private var head: [UInt8] = []
    /// The bytes before the next head.
    private var left = signatureSize
    private var isLeftOut = false
    private var hasProfile = false

    /// The bytes for a decoder. A head is kept until it is complete.
    mutating func filter(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        var passed: [UInt8] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let part = rest.prefix(left > 0 ? left : Self.headSize - head.count)
            rest = rest.dropFirst(part.count)
            if left > 0 {
                left -= part.count
                if !isLeftOut { passed += part }
                continue
            }
            head += part
            guard head.count == Self.headSize else { break }
            isLeftOut = leavesOut(head[4...])
            left = head[..<4].reduce(0) { $0 << 8 | Int($1) } + Self.checksumSize
            if !isLeftOut { passed += head }
            head.removeAll(keepingCapacity: true)
        }
        return passed
    }

    private mutating func leavesOut(_ name: ArraySlice<UInt8>) -> Bool {
        guard name.elementsEqual(Self.profile) else { return Self.text.contains { name.elementsEqual($0) } }
        defer { hasProfile = true }
        return hasProfile
    }
}
