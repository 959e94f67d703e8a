/// Reads the chunks of a PNG while its bytes arrive, in pieces of any size, and passes on only those that are needed
/// for the image: all chunks of pixels, and one of each other kind.
///
/// libpng expands up to 1000 chunks of compressed text to up to 8 MB each, wherever they are in the file and before the
/// size of the image is known, and any number of profiles, one after the other. It collects any other chunk as a whole,
/// even an unknown one, copying it again with each piece of the file. This module uses neither the texts nor the chunks
/// of applications.
struct PNGChunks {
    private static let signatureSize = 8
    private static let headSize = 8
    private static let checksumSize = 4
    private static let pixels: [UInt8] = Array("IDAT".utf8)
    private static let known: Set<[UInt8]> = Set(
        ["IHDR", "PLTE", "tRNS", "gAMA", "cHRM", "sRGB", "iCCP", "sBIT", "pHYs", "eXIf", "IDAT", "IEND"]
            .map { Array($0.utf8) })
    /// The maximum size of a chunk other than pixels. The few files with a larger colour profile are shown without it.
    static let maximumSize = 256 << 10

    /// The bytes of a chunk's size and name that have arrived.
    private var head: [UInt8] = []
    /// The number of bytes before the next head.
    private var left = signatureSize
    private var isLeftOut = false
    private var found: Set<[UInt8]> = []

    /// Returns the bytes for a decoder. A head is held back until it is complete.
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
            let size = head[..<4].bigEndianInteger
            isLeftOut = !passes(Array(head[4...]), size: size)
            left = size + Self.checksumSize
            if !isLeftOut { passed += head }
            head.removeAll(keepingCapacity: true)
        }
        return passed
    }

    private mutating func passes(_ name: [UInt8], size: Int) -> Bool {
        // Passed on, because the decoder refuses a chunk whose name isn't made of letters.
        guard name.allSatisfy({ UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 | 0x20 }) else {
            return size <= Self.maximumSize
        }
        if name == Self.pixels { return true }
        return Self.known.contains(name) && found.insert(name).inserted && size <= Self.maximumSize
    }
}
