import FoundationEssentials
import SwiftAF
import SwiftAFImage

/// A picture of the catalogue.
public struct Picture: Codable, Sendable, Hashable {
    public let number: Int
    public let title: String
}

/// What the gallery knows of the server: its catalogue, and how pictures are loaded.
@MainActor
public final class Library {
    let manager: HTTPSessionManager
    public let cache = AutoPurgingImageCache(memoryCapacity: 32 << 20, preferredMemoryUsageAfterPurge: 24 << 20)
    let downloader: ImageDownloader
    /// The catalogue, by title.
    private(set) var pictures: [String: Picture] = [:]

    init(url: String) {
        manager = HTTPSessionManager(baseURL: url)
        downloader = ImageDownloader(manager: manager, maximumActiveDownloads: 6, imageCache: cache)
    }

    /// Loads the catalogue.
    ///
    /// - Parameter done: Called with the titles in order, or with nil if there is no answer.
    /// - Returns: The task, which is running.
    func load(_ done: @escaping @MainActor @Sendable ([String]?) -> Void) -> SessionTask {
        let task = manager.dataTask(for: HTTPRequest("catalogue"), with: CatalogueSerializer()) {
            [weak self] _, catalogue, _ in
            // Closures are called on the main queue.
            MainActor.assumeIsolated {
                if let catalogue { self?.pictures = catalogue.pictures }
                done(catalogue?.titles)
            }
        }
        task.resume()
        return task
    }

    /// The request for a picture with a width in pixels.
    func request(for picture: Picture, width: Int) -> HTTPRequest {
        HTTPRequest(imageAt: "pictures/\(picture.number)/\(width)")
    }

    /// How a tile's picture is loaded, for views and for prefetching: with all the pixels that it has on a screen with
    /// `scale` pixels for each of GTK's units.
    func tile(for picture: Picture, scale: Int) -> (request: HTTPRequest, processors: [any ImageProcessing]) {
        (request(for: picture, width: Tile.width * scale), scale == 1 ? [] : [ScaleProcessor(scale: Double(scale))])
    }
}

/// The catalogue, ready to be shown: made before it reaches the main actor, which has frames to draw.
private struct Catalogue: Sendable {
    let titles: [String]
    let pictures: [String: Picture]
}

private struct CatalogueSerializer: ResponseSerializer {
    func serialize(_ response: HTTPResponse, body: Data) throws -> Catalogue {
        let all = try DecodableResponseSerializer<[Picture]>().serialize(response, body: body)
        return Catalogue(titles: all.map(\.title), pictures: Dictionary(all.map { ($0.title, $0) }) { $1 })
    }
}
