public import SwiftAF

/// Keeps images in memory, and lets those go that were not asked for longest.
///
/// An image costs four bytes for each of its pixels. When all together cost more than ``memoryCapacity``, the oldest leave
/// until ``preferredMemoryUsageAfterPurge`` at most is left. An image that could never stay displaces none.
public final class AutoPurgingImageCache: ImageRequestCache {
    private let images: LRUCache<String, Image>

    /// Bytes beyond which images leave.
    public var memoryCapacity: Int { images.capacity }
    /// Bytes that may be left then.
    public var preferredMemoryUsageAfterPurge: Int { images.preferredCostAfterPurge }
    /// Bytes of all images.
    public var memoryUsage: Int { images.cost }

    /// Makes a cache; at first for 100 MiB, purged to 60 MiB.
    public init(memoryCapacity: Int = 100 << 20, preferredMemoryUsageAfterPurge: Int = 60 << 20) {
        images = LRUCache(
            capacity: memoryCapacity, preferredCostAfterPurge: preferredMemoryUsageAfterPurge, keepsExactOrder: true)
    }

    /// From now on lets all images go whenever the kernel says that memory is short. See
    /// ``SwiftAF/LRUCache/watchMemoryPressure(keeping:)``.
    public func watchMemoryPressure() throws(SessionError) {
        try images.watchMemoryPressure()
    }

    public func add(_ image: Image, identifier: String) {
        images.insert(image, for: identifier, cost: image.byteCount)
    }

    @discardableResult
    public func removeImage(identifier: String) -> Bool {
        images.removeValue(for: identifier) != nil
    }

    @discardableResult
    public func removeAllImages() -> Bool {
        images.removeAll() > 0
    }

    public func image(identifier: String) -> Image? {
        images.value(for: identifier)
    }
}
