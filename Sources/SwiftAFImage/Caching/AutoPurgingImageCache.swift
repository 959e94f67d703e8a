public import SwiftAF

/// An image cache in memory that evicts the least recently used images.
///
/// An image costs four bytes per pixel, an animated one those of all its frames. When the total exceeds
/// ``memoryCapacity``, the least recently used images are evicted until at most ``preferredMemoryUsageAfterPurge`` is
/// left. An image larger than the capacity isn't cached and evicts nothing.
public final class AutoPurgingImageCache: ImageRequestCache {
    private let images: LRUCache<String, Image>

    /// The capacity in bytes.
    public var memoryCapacity: Int { images.capacity }
    /// The number of bytes left after a purge.
    public var preferredMemoryUsageAfterPurge: Int { images.preferredCostAfterPurge }
    /// The size of all cached images in bytes.
    public var memoryUsage: Int { images.cost }

    /// Creates a cache. Default: 100 MiB, purged to 60 MiB, or to 60 % of another capacity.
    public init(memoryCapacity: Int = 100 << 20, preferredMemoryUsageAfterPurge: Int? = nil) {
        images = LRUCache(
            capacity: memoryCapacity, preferredCostAfterPurge: preferredMemoryUsageAfterPurge, keepsExactOrder: true)
    }

    /// Purges all images when the kernel reports memory pressure. See
    /// ``/SwiftAF/LRUCache/watchMemoryPressure(keeping:)``.
    public func watchMemoryPressure() throws(SessionError) {
        try images.watchMemoryPressure()
    }

    public func add(_ image: Image, identifier: String) {
        images.insert(image, for: identifier, cost: image.cost)
    }

    @discardableResult
    public func removeImage(identifier: String) -> Bool {
        images.removeValue(for: identifier) != nil
    }

    @discardableResult
    public func removeAllImages() -> Bool {
        images.removeAll() > 0
    }

    /// Returns an image and makes it the most recently used; nil without one.
    public func image(identifier: String) -> Image? {
        images.value(for: identifier)
    }
}
