public import FoundationEssentials

/// A key of an ``LRUCache``, identified by its bytes.
public protocol LRUCacheKey: Sendable {
    /// Calls `body` with the bytes of a key. Two keys are the same if and only if their bytes are.
    static func withCacheKey<Result>(of key: Self, _ body: (UnsafeRawBufferPointer) -> Result) -> Result
}

/// Identified by its UTF-8: strings that are canonically equivalent but encoded differently are different keys.
extension String: LRUCacheKey {
    @inlinable
    public static func withCacheKey<Result>(of key: Self, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        // The fast path uses the bytes in place. Only strings bridged from another library aren't contiguous.
        let result = key.utf8.withContiguousStorageIfAvailable { body(UnsafeRawBufferPointer($0)) }
        if let result { return result }
        var text = key
        return text.withUTF8 { body(UnsafeRawBufferPointer($0)) }
    }
}

/// Identified by its absolute string.
extension URL: LRUCacheKey {
    @inlinable
    public static func withCacheKey<Result>(of key: Self, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        String.withCacheKey(of: key.absoluteString, body)
    }
}

extension Data: LRUCacheKey {
    @inlinable
    public static func withCacheKey<Result>(of key: Self, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        key.withUnsafeBytes(body)
    }
}

extension UUID: LRUCacheKey {
    @inlinable
    public static func withCacheKey<Result>(of key: Self, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        withUnsafeBytes(of: key.uuid, body)
    }
}

extension LRUCacheKey where Self: FixedWidthInteger {
    @inlinable
    public static func withCacheKey<Result>(of key: Self, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        withUnsafeBytes(of: key, body)
    }
}

extension Int: LRUCacheKey {}
extension Int32: LRUCacheKey {}
extension Int64: LRUCacheKey {}
extension UInt: LRUCacheKey {}
extension UInt32: LRUCacheKey {}
extension UInt64: LRUCacheKey {}
