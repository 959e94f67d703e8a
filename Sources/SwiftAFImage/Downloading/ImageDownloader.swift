public import Dispatch
public import FoundationEssentials
public import SwiftAF

/// An image that was downloaded or found in the cache.
public struct DownloadedImage: Sendable {
    /// The image, or a preview of it.
    public let image: Image
    /// The response; nil if the image was cached.
    public let response: HTTPResponse?
    /// False for a preview.
    public let isComplete: Bool

    /// Creates a downloaded image, for tests and previews.
    public init(image: Image, response: HTTPResponse?, isComplete: Bool = true) {
        self.image = image
        self.response = response
        self.isComplete = isComplete
    }
}

/// Identifies one request for an image, to cancel it.
public struct ImageDownloadReceipt: Sendable, Hashable {
    /// The identifier of the request.
    public let id: UUID
    let key: String
}

extension ImageDownloadReceipt: CustomStringConvertible, CustomReflectable {
    public var description: String { "image request \(id)" }

    // Replaces the default mirror, which would show the key with its header fields and credentials.
    public var customMirror: Mirror { Mirror(self, children: ["id": id]) }
}

/// Downloads images into a cache. Requests for the same image at the same time share one download; a few downloads run
/// at once, others wait.
///
/// ```swift
/// let downloader = ImageDownloader.default
/// let image = try await downloader.image(for: "https://example.org/logo.png").image
/// ```
///
/// Two requests are for the same image if their methods, URLs, header fields, bodies, credentials and processors are
/// equal; see ``ImageCacheKey``. Relative URLs are resolved against the manager's base URL first. A URL and a request
/// for it are the same image, because a request without an Accept field is sent with `Accept: image/*`. Requests with
/// the same cache policy share a download: the first one is sent, in its own ``/SwiftAF/TraceContext``. Images are
/// decoded and processed off the caller's thread, while they count as active downloads.
public final class ImageDownloader: Sendable {
    /// The cache; nil for none.
    public let imageCache: (any ImageRequestCache)?
    /// Decodes responses into images.
    public let responseSerializer: ImageResponseSerializer
    /// The order in which waiting images are downloaded.
    public let downloadPrioritization: ImageDownloadPrioritization
    /// The maximum number of images downloaded and decoded at once.
    public let maximumActiveDownloads: Int
    /// The queue of completions. Something must serve the main queue, which is the default: an `async` main function,
    /// `dispatchMain()`, `RunLoop.main`, or a toolkit's main loop, such as with `MainActorInGLib` of SwiftAFGTK.
    public let completionQueue: DispatchQueue

    /// Called once with the image or the error.
    public typealias Completion = @Sendable (Result<DownloadedImage, SessionError>) -> Void

    private let fetcher: any ImageFetching
    private typealias Queue = LoadQueue<ImageReceiver, LoadSpec, Task<Void, Never>>

    private let queue: Locked<Queue>

    /// The data for loading an image: its first request, and the context in which that was made.
    private struct LoadSpec {
        let request: HTTPRequest
        let processors: [any ImageProcessing]
        let additionalIdentifier: String?
        let trace = TraceContext.current
        let taskPriority = Task.currentPriority
    }

    /// The shared downloader: four downloads at once, first in, first out, into a cache of 100 MiB.
    public static let `default` = ImageDownloader()

    /// Creates a downloader.
    ///
    /// - Parameters:
    ///   - fetcher: Performs the requests; nil for a new session with ``defaultSessionConfiguration``.
    ///   - responseSerializer: Decodes responses into images.
    ///   - downloadPrioritization: The order in which waiting images are downloaded.
    ///   - maximumActiveDownloads: The maximum number of images downloaded and decoded at once; at least one.
    ///   - imageCache: The cache; nil for none.
    ///   - completionQueue: The queue of completions, see ``completionQueue``.
    public init(
        fetcher: (any ImageFetching)? = nil,
        responseSerializer: ImageResponseSerializer = ImageResponseSerializer(),
        downloadPrioritization: ImageDownloadPrioritization = .fifo,
        maximumActiveDownloads: Int = 4,
        imageCache: (any ImageRequestCache)? = AutoPurgingImageCache(),
        completionQueue: DispatchQueue = .main
    ) {
        self.fetcher = fetcher ?? SessionFetcher(HTTPSessionManager(configuration: Self.defaultSessionConfiguration))
        self.responseSerializer = responseSerializer
        self.downloadPrioritization = downloadPrioritization
        self.maximumActiveDownloads = max(1, maximumActiveDownloads)
        self.imageCache = imageCache
        self.completionQueue = completionQueue
        queue = Locked(Queue(maximumActive: maximumActiveDownloads, prioritization: downloadPrioritization))
    }

    /// Creates a downloader that performs its requests with a manager.
    ///
    /// - Parameters:
    ///   - manager: Performs the requests.
    ///   - responseSerializer: Decodes responses into images.
    ///   - downloadPrioritization: The order in which waiting images are downloaded.
    ///   - maximumActiveDownloads: The maximum number of images downloaded and decoded at once; at least one.
    ///   - imageCache: The cache; nil for none.
    ///   - completionQueue: The queue of completions, see ``completionQueue``.
    public convenience init(
        manager: HTTPSessionManager,
        responseSerializer: ImageResponseSerializer = ImageResponseSerializer(),
        downloadPrioritization: ImageDownloadPrioritization = .fifo,
        maximumActiveDownloads: Int = 4,
        imageCache: (any ImageRequestCache)? = AutoPurgingImageCache(),
        completionQueue: DispatchQueue = .main
    ) {
        self.init(
            fetcher: SessionFetcher(manager), responseSerializer: responseSerializer,
            downloadPrioritization: downloadPrioritization, maximumActiveDownloads: maximumActiveDownloads,
            imageCache: imageCache, completionQueue: completionQueue)
    }

    /// The numbers of active and waiting downloads.
    public var counts: (active: Int, queued: Int) {
        queue.withLock { ($0.activeCount, $0.queuedCount) }
    }

    /// The number of pending requests.
    var waitingCount: Int { queue.withLock { $0.waitingCount } }

    /// Whether no state of any download is left.
    var isAtRest: Bool { queue.withLock { $0.isEmpty } }

    // MARK: Downloading

    /// Downloads an image.
    ///
    /// - Parameters:
    ///   - request: The request for the image.
    ///   - receiptID: The identifier of the receipt.
    ///   - processors: Applied to the image, in order; part of the cache key.
    ///   - priority: Requests with higher priorities are downloaded first.
    ///   - completion: Called once on ``completionQueue``, never by this function itself. It may be called before this
    ///     function returns, unless the caller runs on that queue.
    /// - Returns: A receipt; nil if the image is in the cache and the request's policy allows its use.
    @discardableResult
    public func download<Source: RequestConvertible>(
        _ request: Source, receiptID: UUID = UUID(), processors: [any ImageProcessing] = [], priority: Int = 0,
        completion: @escaping Completion
    ) -> ImageDownloadReceipt? {
        let request = HTTPRequest(imageOf: request)
        let receipt = ImageDownloadReceipt(id: receiptID, key: key(of: request, processors))
        let handler = ImageReceiver(on: { [completionQueue] in completionQueue.async(execute: $0) }, completion)
        return begin(request, receipt, processors, priority, handler) ? receipt : nil
    }

    /// Downloads an image. Cancelling the Swift task cancels the request.
    public func image<Source: RequestConvertible>(
        for request: Source, processors: [any ImageProcessing] = [], priority: Int = 0
    ) async throws(SessionError) -> DownloadedImage {
        let request = HTTPRequest(imageOf: request)
        let receipt = ImageDownloadReceipt(id: UUID(), key: key(of: request, processors))
        let isCancelled = Locked(false)
        let result: Result<DownloadedImage, SessionError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let handler = ImageReceiver { continuation.resume(returning: $0) }
                begin(request, receipt, processors, priority, handler)
                // The task may have been cancelled before the request was added, when the handler below had nothing to
                // cancel.
                if isCancelled.withLock({ $0 }) { cancel(receipt) }
            }
        } onCancel: {
            isCancelled.withLock { $0 = true }
            cancel(receipt)
        }
        return try result.get()
    }

    /// Downloads an image and returns previews; the last element is the image itself.
    ///
    /// A slow reader gets the newest preview; older ones are skipped. Previews require a decoder that supports them
    /// (``ImageDecoding/makeProgressiveDecoder(options:)``). There are none if this request joins a download whose
    /// first request didn't ask for previews. Processors are applied to each preview. Leaving the loop cancels the
    /// request. If a body is cut short and retried, only the image itself follows.
    public func images<Source: RequestConvertible>(
        for request: Source, processors: [any ImageProcessing] = [], priority: Int = 0
    ) -> AsyncThrowingStream<DownloadedImage, any Error> {
        let request = HTTPRequest(imageOf: request)
        let receipt = ImageDownloadReceipt(id: UUID(), key: key(of: request, processors))
        return AsyncThrowingStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            continuation.onTermination = { [weak self] reason in
                if case .cancelled = reason { self?.cancel(receipt) }
            }
            let handler = ImageReceiver(partial: { continuation.yield($0) }) { result in
                continuation.yield(with: result.mapError { $0 })
                continuation.finish()
            }
            begin(request, receipt, processors, priority, handler)
        }
    }

    /// Downloads images into the cache, with lower priority than all requests.
    public func prefetch<Source: RequestConvertible>(
        _ requests: [Source], processors: [any ImageProcessing] = []
    ) -> [ImageDownloadReceipt] {
        requests.compactMap { source in
            let request = HTTPRequest(imageOf: source)
            let receipt = ImageDownloadReceipt(id: UUID(), key: key(of: request, processors))
            return begin(request, receipt, processors, .min, ImageReceiver { _ in }) ? receipt : nil
        }
    }

    /// Cancels the request of a receipt: its completion is called with ``/SwiftAF/SessionError/Code/cancelled``. Other
    /// requests for the same image are unaffected; if there are none, the download is cancelled. Has no effect for nil,
    /// the receipt of a cached image.
    public func cancel(_ receipt: ImageDownloadReceipt?) {
        guard let receipt, let cancelled = queue.withLock({ $0.cancel(receipt.id, for: receipt.key) }) else { return }
        cancelled.work?.cancel()
        for waiting in cancelled.waiting {
            waiting.handler.call(.failure(SessionError(.cancelled, message: "the image request was cancelled")))
        }
    }

    // MARK: For views

    /// Returns the cached image of a request, if its policy allows the use of the cache.
    func cachedImage(for request: HTTPRequest, processors: [any ImageProcessing]) -> Image? {
        guard request.mayBeAnsweredFromCache, ImageCacheKey.isConstant(for: request) else { return nil }
        return imageCache?.image(for: cached(request), additionalIdentifier: Self.identifier(of: processors))
    }

    /// Downloads an image; the completion is called on the main actor.
    func downloadForMainActor(
        _ request: HTTPRequest, _ receipt: ImageDownloadReceipt, _ processors: [any ImageProcessing],
        partial: (@MainActor @Sendable (Image) -> Void)?,
        completion: @escaping @MainActor @Sendable (Result<DownloadedImage, SessionError>) -> Void
    ) {
        let seen = partial.map { partial -> ImageReceiver.Partial in
            { downloaded in MainActor.assumeIsolated { partial(downloaded.image) } }
        }
        let hop: ImageReceiver.Executor = { work in Task { @MainActor in work() } }
        let handler = ImageReceiver(on: hop, partial: seen) { result in
            MainActor.assumeIsolated { completion(result) }
        }
        begin(request, receipt, processors, 0, handler)
    }

    // MARK: Loading

    /// Returns the key by which requests share a download: the identifier of the image, and the cache policy, because a
    /// request that demands a new image must not join a download that may use a stored one.
    func key(of request: HTTPRequest, _ processors: [any ImageProcessing]) -> String {
        let image = ImageCacheKey.identifier(
            for: cached(request), additionalIdentifier: Self.identifier(of: processors))
        guard let policy = request.hints.cachePolicy else { return image }
        return "\(policy.rawValue.debugDescription) \(image)"
    }

    /// Returns the request by which an image is cached. Its URL is absolute, because a cache may be shared with a
    /// downloader that has another base URL.
    private func cached(_ request: HTTPRequest) -> HTTPRequest {
        var request = request
        request.url = fetcher.resolvedURL(of: request)
        return request
    }

    /// Returns the identifiers of all processors, with the separator escaped in them.
    private static func identifier(of processors: [any ImageProcessing]) -> String? {
        guard !processors.isEmpty else { return nil }
        return processors.map { escaped($0.identifier) }.joined(separator: "|")
    }

    /// Escapes Unicode scalars, because a separator followed by a combining mark is another `Character`.
    private static func escaped(_ identifier: String) -> String {
        var escaped = String.UnicodeScalarView()
        for scalar in identifier.unicodeScalars {
            if scalar == "|" || scalar == "\\" { escaped.append("\\") }
            escaped.append(scalar)
        }
        return String(escaped)
    }

    /// - Returns: False if the image was in the cache, and no download is needed.
    @discardableResult
    private func begin(
        _ request: HTTPRequest, _ receipt: ImageDownloadReceipt, _ processors: [any ImageProcessing], _ priority: Int,
        _ handler: ImageReceiver
    ) -> Bool {
        if let image = cachedImage(for: request, processors: processors) {
            handler.call(.success(DownloadedImage(image: image, response: nil)))
            return false
        }
        let spec = LoadSpec(
            request: request, processors: processors, additionalIdentifier: Self.identifier(of: processors))
        queue.withLock { queue in
            queue.add(
                Queue.Waiting(receiptID: receipt.id, handler: handler), for: receipt.key, spec, priority: priority)
        }
        startWaiting()
        return true
    }

    private func startWaiting() {
        while let (spec, run) = queue.withLock({ $0.next() }) {
            // Detached, because this call may have been made for another image, whose context doesn't apply.
            let task = Task.detached(priority: spec.taskPriority) { [self] in
                finish(run, await TraceContext.$current.withValue(spec.trace) { await load(run, spec) })
            }
            if queue.withLock({ $0.begin(run, by: task) }) { task.cancel() }
        }
    }

    private func load(_ run: Int, _ spec: LoadSpec) async -> Result<DownloadedImage, SessionError> {
        // Asked again: another download of this image may have ended between the first lookup and the queue.
        if let image = cachedImage(for: spec.request, processors: spec.processors) {
            return .success(DownloadedImage(image: image, response: nil))
        }
        do throws(SessionError) {
            let data = try await fetch(run, spec)
            var image = try data.serialized(by: responseSerializer)
            for processor in spec.processors { image = try Self.apply(processor, to: image) }
            return .success(DownloadedImage(image: image, response: data.head))
        } catch {
            return .failure(error)
        }
    }

    /// Returns the response. Passes on previews while its body arrives.
    private func fetch(_ run: Int, _ spec: LoadSpec) async throws(SessionError) -> Response<Data> {
        guard !watchers(of: run).isEmpty,
            let decoder = responseSerializer.decoder.makeProgressiveDecoder(options: responseSerializer.options)
        else { return try await fetcher.fetch(spec.request) }
        let preview = ProgressivePreview(decoder)
        return try await fetcher.fetch(spec.request) { response, bytes in
            guard response.isSuccessful, var image = preview.append(bytes) else { return }
            for processor in spec.processors {
                guard let processed = try? processor.process(image) else { return }
                image = processed
            }
            let downloaded = DownloadedImage(image: image, response: response, isComplete: false)
            for watcher in watchers(of: run) { watcher.show(downloaded) }
        }
    }

    /// The receivers of a run that ask for previews.
    private func watchers(of run: Int) -> [ImageReceiver] {
        queue.withLock { $0.waiting(for: run) }.map(\.handler).filter(\.wantsPartial)
    }

    private static func apply(_ processor: any ImageProcessing, to image: Image) throws(SessionError) -> Image {
        do {
            return try image.mapFrames(processor.process)
        } catch {
            throw error as? SessionError
                ?? SessionError(.serialization, message: "the image can't be processed", underlying: error)
        }
    }

    private func finish(_ run: Int, _ result: Result<DownloadedImage, SessionError>) {
        // Cached before the completions are called, so that a request made in one finds the image in the cache.
        if let spec = queue.withLock({ $0.spec(of: run) }), ImageCacheKey.isConstant(for: spec.request),
            case .success(let downloaded) = result, downloaded.response != nil, let imageCache
        {
            let request = cached(spec.request)
            let image = downloaded.image
            if imageCache.shouldCache(image, for: request, additionalIdentifier: spec.additionalIdentifier) {
                imageCache.add(image, for: request, additionalIdentifier: spec.additionalIdentifier)
            }
        }
        let ended = queue.withLock { $0.finish(run) }
        for waiting in ended.waiting { waiting.handler.call(result) }
        startWaiting()
    }
}

extension HTTPRequest {
    /// The cache policies for which AFNetworking uses its cache.
    fileprivate var mayBeAnsweredFromCache: Bool {
        switch hints.cachePolicy {
        case nil, .useProtocolCachePolicy, .returnCacheDataElseLoad, .returnCacheDataDontLoad: true
        default: false
        }
    }
}
