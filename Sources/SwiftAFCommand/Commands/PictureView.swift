import FoundationEssentials
import SwiftAF
import SwiftAFImage

/// Renders the body of a response as an image for a terminal.
struct PictureView {
    let decoder: any ImageDecoding
    let graphics: TerminalGraphics
    let columns: Int

    /// Throws if the decoder isn't available. Call it before anything is sent.
    static func refuseWithout(_ decoder: any ImageDecoding) throws(Failure) {
        guard decoder is SystemImageDecoder, !SystemImageDecoder.isAvailable else { return }
        throw Failure(
            SessionError(
                .unsupported,
                message: "this swiftaf was built without image decoders; 'Scripts/install --images' adds them"))
    }

    func text(of body: Data) throws(Failure) -> Data {
        let room = graphics.room(columns: columns)
        var options = ImageDecodingOptions()
        // Twice the final size, so that each cell is the mean of several pixels.
        options.maximumPixelSize = 2 * max(room.width, room.height)
        do {
            let image = try decoder.decode(body, options: options)
            return graphics.text(of: try ResizeProcessor(width: room.width, height: room.height).process(image))
        } catch let error as SessionError where error.code == .tooLarge {
            throw Failure(error)
        } catch {
            let reason = (error as? SessionError)?.message ?? "\(error)"
            throw Failure(.serialization, .serialization, "the response can't be shown as a picture: \(reason)")
        }
    }
}
