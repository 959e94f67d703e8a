import FoundationEssentials
import SwiftAF
import SwiftAFImage

/// Makes text that shows a picture in a terminal of the body of an answer.
struct PictureView {
    let decoder: any ImageDecoding
    let graphics: TerminalGraphics
    let columns: Int

    /// Before anything is sent: whether there will be somebody to decode the answer.
    static func refuseWithout(_ decoder: any ImageDecoding) throws(Failure) {
        guard decoder is SystemImageDecoder, !SystemImageDecoder.isAvailable else { return }
        throw Failure(
            SessionError(
                .unsupported,
                message: "this build of swiftaf can't decode images; one with 'swift build --traits Images' can"))
    }

    func text(of body: Data) throws(Failure) -> Data {
        let room = graphics.room(columns: columns)
        var options = ImageDecodingOptions()
        // Twice as large as it will be, to have something to take means of.
        options.maximumPixelSize = 2 * max(room.width, room.height)
        do {
            let image = try decoder.decode(body, options: options)
            return graphics.text(of: try ResizeProcessor(width: room.width, height: room.height).process(image))
        } catch let error as SessionError where error.code == .tooLarge {
            throw Failure(error)
        } catch {
            let reason = (error as? SessionError)?.message ?? "\(error)"
            throw Failure(.serialization, .serialization, "the answer can't be shown as a picture: \(reason)")
        }
    }
}
