public import FoundationEssentials

/// A key of an ``LRUCache``, identified by its bytes.
public protocol LRUCacheKey: Sendable {
    /// Calls `body` with the bytes of this key. Two keys are the same if and only if their bytes are.
    func withCacheKey<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result
}

/// Identified by its UTF-8: strings that are canonically equivalent but encoded differently are different keys.
extension String: LRUCacheKey {
    public func withCacheKey<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        var text = self
        return text.withUTF8 { body(UnsafeRawBufferPointer($0)) }
    }
}

/// Identified by its absolute string.
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
