// Shows pictures in the terminal: downloads them at the same time, scales them down, and draws two pixels for each
// character.
//
//     swift run gallery http://127.0.0.1:8080/
import SwiftAF
import SwiftAFImage

let url = CommandLine.arguments.dropFirst().first ?? "http://127.0.0.1:8080/"
let manager = HTTPSessionManager(baseURL: url)
let names: [String] = try await manager.get("pictures")

let downloader = ImageDownloader(manager: manager, maximumActiveDownloads: 4)
let small = ResizeProcessor(width: 32, height: 24)

await withTaskGroup(of: (String, Result<Image, SessionError>).self) { group in
    for name in names {
        group.addTask {
            do throws(SessionError) {
                let request = HTTPRequest("pictures/\(name)")
                return (name, .success(try await downloader.image(for: request, processors: [small]).image))
            } catch {
                return (name, .failure(error))
            }
        }
    }
    for await (name, result) in group {
        switch result {
        case .success(let image): print(name, "\(image.pixelWidth) × \(image.pixelHeight)\n\(drawing(of: image))")
        case .failure(let error): print(name, error)
        }
    }
}

/// Two rows of pixels are one line: the upper one is the colour of `▀`, the lower one the background.
func drawing(of image: Image) -> String {
    image.withPixels { pixels in
        func color(_ x: Int, _ y: Int) -> String {
            let at = min(y, image.pixelHeight - 1) * image.bytesPerRow + x * Image.bytesPerPixel
            return "\(pixels[at]);\(pixels[at + 1]);\(pixels[at + 2])"
        }
        return stride(from: 0, to: image.pixelHeight, by: 2).map { y in
            (0..<image.pixelWidth).map { "\u{1B}[38;2;\(color($0, y));48;2;\(color($0, y + 1))m▀" }.joined()
                + "\u{1B}[0m"
        }.joined(separator: "\n")
    }
}
