#if Images
    internal import CGdkPixbuf
    internal import FoundationEssentials
    internal import SwiftAF

    /// The only file that uses gdk-pixbuf.
    enum Pixbuf {
        static func decode(_ data: Data, options: ImageDecodingOptions) throws -> Image {
            let loaded = try Loaded(data, options: options)
            guard let pixbuf = cgdkpixbuf_loader_image(loaded.loader) else { throw damaged }
            return try image(pixbuf, scale: options.scale)
        }

        static func decodeFrames(_ data: Data, options: ImageDecodingOptions) throws -> [ImageFrame] {
            let loaded = try Loaded(data, options: options, wantsAll: true)
            guard let animation = cgdkpixbuf_loader_animation(loaded.loader) else { throw damaged }
            guard let gif = loaded.gif, cgdkpixbuf_animation_is_static(animation) == 0 else {
                guard let pixbuf = cgdkpixbuf_loader_image(loaded.loader) else { throw damaged }
                return [ImageFrame(image: try image(pixbuf, scale: options.scale), duration: .zero)]
            }
            var now = cgdkpixbuf_time()
            guard let iterator = cgdkpixbuf_animation_iterator(animation, &now) else { throw damaged }
            defer { cgdkpixbuf_unref(UnsafeMutableRawPointer(iterator)) }
            var frames: [ImageFrame] = []
            var time = 0
            // The durations are those of the file, because gdk-pixbuf changes them for its own clock.
            for frame in gif.all {
                try checkCancellation()
                guard let pixbuf = cgdkpixbuf_iterator_image(iterator) else { throw damaged }
                frames.append(ImageFrame(image: try image(pixbuf, scale: options.scale), duration: frame.duration))
                let delay = Int(cgdkpixbuf_iterator_delay(iterator))
                // A negative delay means that the frame stays: the last one of an animation that doesn't loop.
                guard delay >= 0 else { break }
                time += max(1, delay)
                now = cgdkpixbuf_time(tv_sec: time / 1000, tv_usec: time % 1000 * 1000)
                cgdkpixbuf_iterator_advance(iterator, &now)
            }
            return frames
        }

        static func decodeAnimation(_ data: Data, options: ImageDecodingOptions) throws -> ImageAnimation? {
            guard ImageType(sniffing: data) == .gif else { return nil }
            let gif = GIFFrames(data, limit: options.maximumFrameCount)
            guard gif.all.count > 1 else { return nil }
            return ImageAnimation(try decodeFrames(data, options: options), playCount: gif.playCount)
        }

        static func encode(_ image: Image, as format: Image.FileFormat) throws -> Data {
            try image.withPixels { pixels in
                guard
                    let pixbuf = cgdkpixbuf_image_new(
                        pixels.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt32(cgdkpixbuf_rgb), 1, 8,
                        Int32(image.pixelWidth), Int32(image.pixelHeight), Int32(image.bytesPerRow), nil, nil)
                else { throw SessionError(.outOfMemory) }
                defer { cgdkpixbuf_unref(UnsafeMutableRawPointer(pixbuf)) }
                var bytes: UnsafeMutablePointer<CChar>?
                var size: Int = 0
                let isWritten: Int32
                switch format {
                case .png:
                    isWritten = cgdkpixbuf_save(pixbuf, "png", nil, &bytes, &size)
                case .jpeg(let quality):
                    var text = Array("\(min(max(quality, 0), 100))".utf8CString)
                    isWritten = cgdkpixbuf_save(pixbuf, "jpeg", &text, &bytes, &size)
                }
                guard isWritten != 0, let bytes else {
                    throw SessionError(.serialization, message: "the image can't be written")
                }
                defer { cgdkpixbuf_free(bytes) }
                return Data(bytes: bytes, count: Int(size))
            }
        }

        static let damaged = SessionError(.serialization, message: "the image is damaged")

        /// - Throws: ``/SwiftAF/SessionError/Code/cancelled`` if the Swift task was cancelled.
        static func checkCancellation() throws(SessionError) {
            if Task.isCancelled { throw SessionError(.cancelled) }
        }

        /// Returns a copy of the pixels, rotated by the orientation in EXIF data.
        fileprivate static func image(_ pixbuf: OpaquePointer, scale: Double) throws -> Image {
            guard let turned = cgdkpixbuf_image_oriented(pixbuf) else { throw SessionError(.outOfMemory) }
            defer { cgdkpixbuf_unref(UnsafeMutableRawPointer(turned)) }
            let width = Int(cgdkpixbuf_image_width(turned))
            let height = Int(cgdkpixbuf_image_height(turned))
            let channels = Int(cgdkpixbuf_image_channels(turned))
            let stride = Int(cgdkpixbuf_image_stride(turned))
            guard let source = cgdkpixbuf_image_pixels(turned), channels == 3 || channels == 4 else { throw damaged }
            let image = Image(pixelWidth: width, pixelHeight: height, scale: scale, hasAlpha: channels == 4) { pixels in
                guard var target = pixels.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
                for row in 0..<height {
                    var from = source + row * stride
                    if channels == 4 {
                        target.update(from: from, count: width * 4)
                        target += width * 4
                        continue
                    }
                    for _ in 0..<width {
                        target[0] = from[0]
                        target[1] = from[1]
                        target[2] = from[2]
                        target[3] = 255
                        target += 4
                        from += 3
                    }
                }
            }
            guard let image else { throw damaged }
            return image
        }
    }

    /// A file that was read completely and without an error.
    private final class Loaded {
        /// The frames of a GIF; nil for another type.
        let gif: GIFFrames?
        private let reader: PixbufReader

        var loader: OpaquePointer { reader.loader }

        init(_ data: Data, options: ImageDecodingOptions, wantsAll: Bool = false) throws {
            guard let type = ImageType(sniffing: data) else {
                throw SessionError(.serialization, message: "the data is not an image of a known type")
            }
            gif = type == .gif ? GIFFrames(data, limit: options.maximumFrameCount) : nil
            let frameCount = gif?.all.count ?? 1
            guard frameCount <= options.maximumFrameCount else { throw options.tooManyFrames }
            guard gif?.isBroken != true else { throw Pixbuf.damaged }
            guard frameCount > 0 else { throw Self.cutOff }
            try gif?.check(options, sum: wantsAll)
            try Self.check(data, of: type, options)
            reader = try PixbufReader(type, options, frames: wantsAll ? frameCount : 1)
            try reader.append(data, of: gif)
            try reader.close()
            guard type.isWhole(data), reader.hasLastRow else { throw Self.cutOff }
        }

        /// Checks sizes in a file for which gdk-pixbuf allocates memory without reporting them first.
        private static func check(_ data: Data, of type: ImageType, _ options: ImageDecodingOptions) throws {
            switch type {
            case .webp:
                guard let frames = WebPFrames(data, limit: options.maximumFrameCount) else { throw Pixbuf.damaged }
                try frames.check(options)
            case .tiff:
                guard let directory = TIFFDirectory(data) else { throw Pixbuf.damaged }
                try directory.check(options)
            default: break
            }
        }

        private static let cutOff = SessionError(.serialization, message: "the image is cut off")
    }

    /// Reads a file with gdk-pixbuf's loader, piece by piece.
    private final class PixbufReader {
        let loader: OpaquePointer
        private let type: ImageType
        private let sizeCheck: SizeCheck
        private let rows = DecodedRows()
        private var isClosed = false
        private var chunks = PNGChunks()
        private var markers = JPEGMarkers()

        /// Whether the image is scaled down while it is decoded.
        var isScaled: Bool { sizeCheck.changesSize }

        init(_ type: ImageType, _ options: ImageDecodingOptions, frames: Int) throws(SessionError) {
            guard let loader = cgdkpixbuf_loader_new(type.rawValue, nil) else {
                throw SessionError(.unsupported, message: "gdk-pixbuf can't read \(type.rawValue) here")
            }
            self.loader = loader
            self.type = type
            sizeCheck = SizeCheck(options, frames: frames)
            cgdkpixbuf_on_size(loader, SizeCheck.onSize, Unmanaged.passUnretained(sizeCheck).toOpaque())
            if type == .png {
                cgdkpixbuf_on_update(loader, DecodedRows.onUpdate, Unmanaged.passUnretained(rows).toOpaque())
            }
        }

        deinit {
            if !isClosed { cgdkpixbuf_loader_close(loader, nil) }
            cgdkpixbuf_unref(UnsafeMutableRawPointer(loader))
        }

        private static let pieceSize = 16 << 10

        /// Appends bytes, in pieces, so that reading stops when the image is refused or the Swift task is cancelled.
        func append(_ data: Data, of gif: GIFFrames? = nil) throws(SessionError) {
            let scans = type == .jpeg ? try countScans(data) : []
            let isWritten = data.withUnsafeBytes { bytes in
                var at = 0
                while at < bytes.count, sizeCheck.refusal == nil, !Task.isCancelled {
                    let end =
                        gif?.pieceEnd(from: at, in: bytes)
                        ?? JPEGMarkers.pieceEnd(from: at, scans: scans, limit: min(bytes.count, at + Self.pieceSize))
                    let piece = UnsafeRawBufferPointer(rebasing: bytes[at..<end])
                    guard type == .png ? chunks.filter(piece).withUnsafeBytes(write) : write(piece) else {
                        return false
                    }
                    at = end
                }
                return true
            }
            if let refusal = sizeCheck.refusal { throw refusal }
            try Pixbuf.checkCancellation()
            guard isWritten else { throw Pixbuf.damaged }
        }

        private func write(_ piece: UnsafeRawBufferPointer) -> Bool {
            guard let start = piece.baseAddress, !piece.isEmpty else { return true }
            return cgdkpixbuf_loader_write(loader, start.assumingMemoryBound(to: UInt8.self), piece.count, nil) != 0
        }

        /// Counts the scans before any of them is decoded; throws if there are too many.
        ///
        /// - Returns: The offsets of the scans.
        private func countScans(_ data: Data) throws(SessionError) -> [Int] {
            let scans = data.withUnsafeBytes { markers.read($0) }
            guard markers.scanCount <= JPEGMarkers.maximumScanCount else {
                throw SessionError(
                    .tooLarge, message: "the image has more than \(JPEGMarkers.maximumScanCount) scans")
            }
            return scans
        }

        func close() throws(SessionError) {
            isClosed = true
            let isRead = cgdkpixbuf_loader_close(loader, nil) != 0
            if let refusal = sizeCheck.refusal { throw refusal }
            guard isRead, sizeCheck.wasAsked else { throw Pixbuf.damaged }
        }

        /// Whether the last row was decoded: libpng reports no error if the pixels of a PNG end before it. True if that
        /// isn't known, because rows are reported neither for scaled nor for interlaced images.
        var hasLastRow: Bool {
            guard type == .png, !isScaled, let pixbuf = cgdkpixbuf_loader_image(loader) else { return true }
            return rows.end == Int(cgdkpixbuf_image_height(pixbuf))
        }

        /// Clears the pixels, so that missing ones are black or transparent, not earlier contents of the memory.
        func blankFirst() {
            cgdkpixbuf_on_area(
                loader,
                { loader, _ in
                    if let loader, let pixbuf = cgdkpixbuf_loader_image(loader) { cgdkpixbuf_image_fill(pixbuf, 0) }
                }, nil)
        }
    }

    /// Decodes previews of a file while it arrives.
    final class PixbufProgress: ProgressiveImageDecoding {
        private let options: ImageDecodingOptions
        /// Bytes received before the type is known.
        private var head = Data()
        private var reader: PixbufReader?
        private var isHopeless = false

        init(_ options: ImageDecodingOptions) {
            self.options = options
        }

        func append(_ bytes: Data) throws {
            guard !isHopeless else { return }
            if let reader { return try reader.append(bytes) }
            head += bytes
            guard head.count >= ImageType.sniffedBytes else { return }
            // Other types have no previews, or contain several images.
            guard let type = ImageType(sniffing: head), [.png, .jpeg, .bmp].contains(type) else {
                return isHopeless = true
            }
            let reader = try PixbufReader(type, options, frames: 1)
            reader.blankFirst()
            try reader.append(head)
            self.reader = reader
            head = Data()
        }

        func image() throws -> Image? {
            // Scaled images have no previews: they are made from another image, which `blankFirst()` doesn't clear.
            guard let reader, !reader.isScaled, let pixbuf = cgdkpixbuf_loader_image(reader.loader) else { return nil }
            return try Pixbuf.image(pixbuf, scale: options.scale)
        }
    }

    /// Notes the rows of an image that have been decoded.
    private final class DecodedRows {
        /// The number of rows from the top to the end of the lowest decoded row.
        private(set) var end = 0

        static let onUpdate: cgdkpixbuf_area_updated = { _, _, y, _, height, context in
            guard let context else { return }
            let rows = Unmanaged<DecodedRows>.fromOpaque(context).takeUnretainedValue()
            rows.end = max(rows.end, Int(y) + Int(height))
        }
    }

    /// Called with the size of an image before its memory is allocated.
    private final class SizeCheck {
        private let options: ImageDecodingOptions
        private let frames: Int
        private(set) var refusal: SessionError?
        private(set) var wasAsked = false
        private(set) var changesSize = false

        init(_ options: ImageDecodingOptions, frames: Int) {
            self.options = options
            self.frames = frames
        }

        static let onSize: cgdkpixbuf_size_prepared = { loader, width, height, context in
            guard let loader, let context else { return }
            Unmanaged<SizeCheck>.fromOpaque(context).takeUnretainedValue().check(loader, Int(width), Int(height))
        }

        private func check(_ loader: OpaquePointer, _ width: Int, _ height: Int) {
            wasAsked = true
            do {
                let size = try options.decodedSize(ofWidth: width, height: height, frames: frames)
                guard size != (width, height) else { return }
                changesSize = true
                cgdkpixbuf_loader_set_size(loader, Int32(size.width), Int32(size.height))
            } catch {
                refusal = error
                // With the size 0, gdk-pixbuf stops after it has read the size.
                cgdkpixbuf_loader_set_size(loader, 0, 0)
            }
        }
    }
#endif
