public import FoundationEssentials

/// What can be a key of an ``LRUCache``: whatever bytes tell it apart.
public protocol LRUCacheKey: Sendable {
    /// Calls `body` with the bytes of this key, which two keys share if and only if they are the same key.
    func withCacheKey<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result
}

/// By its UTF-8: two texts that only look the same are two keys.
extension String: LRUCacheKey {
    public func withCacheKey<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        var text = self
        return text.withUTF8 { body(UnsafeRawBufferPointer($0)) }
    }
}

/// By its absolute text.
extension URL: LRUCacheKey {
    public func withCacheKey<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        absoluteString.withCacheKey(body)
    }
}

extension Data: LRUCacheKey {
    public func withCacheKey<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        withUnsafeBytes(body)
    }
}

extension UUID: LRUCacheKey {
    public func withCacheKey<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        withUnsafeBytes(of: uuid, body)
    }
}

extension LRUCacheKey where Self: FixedWidthInteger {
    public func withCacheKey<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        withUnsafeBytes(of: self, body)
    }
}

extension Int: LRUCacheKey {}
extension Int32: LRUCacheKey {}
extension Int64: LRUCacheKey {}
extension UInt: LRUCacheKey {}
extension UInt32: LRUCacheKey {}
extension UInt64: LRUCacheKey {}
