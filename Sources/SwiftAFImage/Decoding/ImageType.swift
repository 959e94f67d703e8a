internal import FoundationEssentials

/// The format of an image file, detected from its first bytes.
///
/// X bitmaps (XBM) aren't supported: gdk-pixbuf allocates memory for the declared size before it reports that size, and
/// a failed allocation ends the process.
enum ImageType: String, Sendable, CaseIterable {
    case png, jpeg, gif, tiff, bmp, ico, webp

    /// The number of bytes that identify every type.
    static let sniffedBytes = 12

    init?(sniffing data: Data) {
        let start = [UInt8](data.prefix(256))
        func begins(_ bytes: [UInt8], at offset: Int = 0) -> Bool {
            start.dropFirst(offset).starts(with: bytes)
        }
        func begins(_ text: String, at offset: Int = 0) -> Bool {
            begins(Array(text.utf8), at: offset)
        }
        if begins([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
            self = .png
        } else if begins([0xFF, 0xD8, 0xFF]) {
            self = .jpeg
        } else if begins("GIF87a") || begins("GIF89a") {
            self = .gif
        } else if begins([0x49, 0x49, 0x2A, 0]) || begins([0x4D, 0x4D, 0, 0x2A]) {
            self = .tiff
        } else if begins("BM") {
            self = .bmp
        } else if begins([0, 0, 1, 0]) || begins([0, 0, 2, 0]) {
            self = .ico
        } else if begins("RIFF") && begins("WEBP", at: 8) {
            self = .webp
        } else {
            return nil
        }
    }
}

extension ImageType {
    /// Returns whether a file is complete. Needed because for some formats decoders fill in missing parts instead of
    /// failing.
    func isWhole(_ data: Data) -> Bool {
        switch self {
        case .jpeg: data.withUnsafeBytes(Self.isWholeJPEG)
        case .png: data.withUnsafeBytes(Self.isWholePNG)
        case .bmp: data.withUnsafeBytes(WindowsBitmap.isWholeBMP)
        case .ico: data.withUnsafeBytes(WindowsBitmap.isWholeICO)
        case .gif, .tiff, .webp: true
        }
    }

    /// Returns whether the image's own end marker (EOI) is in the file.
    private static func isWholeJPEG(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var markers = JPEGMarkers()
        markers.read(bytes)
        return markers.hasEnd
    }

    /// Returns whether the last chunk (IEND) is in the file. Whether the chunks have all rows is only known after
    /// decoding.
    private static func isWholePNG(_ bytes: UnsafeRawBufferPointer) -> Bool {
        // Each chunk has a size, a name, content and a checksum.
        var at = 8
        while at + 8 <= bytes.count {
            if bytes[(at + 4)..<(at + 8)].elementsEqual("IEND".utf8) { return true }
            at += 12 + bytes[at..<(at + 4)].bigEndianInteger
        }
        return false
    }
}
