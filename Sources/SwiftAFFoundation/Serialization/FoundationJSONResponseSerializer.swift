public import Foundation
public import SwiftAF

/// Parses the body with `JSONSerialization`. The value is nil for an empty body or a single space.
///
/// ```swift
/// let serializer = FoundationJSONResponseSerializer()
/// manager.request(.get, "users/7", with: serializer) { _, json in
///     let user = json?.value as? [String: Any]
/// } failure: { _, error in … }
/// ```
public struct FoundationJSONResponseSerializer: ValidatingResponseSerializer, Hashable, Codable {
    /// `NSDictionary`, `NSArray` or another object of the document.
    public typealias Output = FoundationObject<Any>?

    /// Which responses are acceptable.
    public var validation: ResponseValidation

    /// With `.fragmentsAllowed`, the top level doesn't have to be an array or an object. With `.mutableContainers`,
    /// arrays and objects are mutable.
    public var readingOptions: JSONSerialization.ReadingOptions {
        get { JSONSerialization.ReadingOptions(rawValue: readingBits) }
        set { readingBits = newValue.rawValue }
    }

    /// Whether object members that are null are removed, at every level.
    public var removesKeysWithNullValues: Bool

    /// Whether array elements that are null are removed, at every level. Later elements move up.
    public var removesNullsFromArrays: Bool

    private var readingBits: UInt

    /// Creates a serializer. By default, it accepts the same responses as `JSONResponseSerializer`.
    public init(
        readingOptions: JSONSerialization.ReadingOptions = [],
        validation: ResponseValidation = JSONResponseSerializer().validation,
        removesKeysWithNullValues: Bool = false,
        removesNullsFromArrays: Bool = false
    ) {
        self.validation = validation
        self.removesKeysWithNullValues = removesKeysWithNullValues
        self.removesNullsFromArrays = removesNullsFromArrays
        readingBits = readingOptions.rawValue
    }

    public func parse(_ body: Data, of response: HTTPResponse) throws -> FoundationObject<Any>? {
        if isBlank(body) { return nil }
        let object = try JSONSerialization.jsonObject(with: body, options: readingOptions)
        guard removesKeysWithNullValues || removesNullsFromArrays else { return FoundationObject(object) }
        return FoundationObject(
            Self.removingNulls(
                from: object, fromObjects: removesKeysWithNullValues, fromArrays: removesNullsFromArrays,
                mutable: readingOptions.contains(.mutableContainers)))
    }

    /// Returns `object` without nulls, at every level.
    ///
    /// - Parameters:
    ///   - object: An object that `JSONSerialization` returned.
    ///   - fromObjects: Whether object members that are null are removed.
    ///   - fromArrays: Whether array elements that are null are removed.
    ///   - mutable: Whether the containers of the result are `NSMutableDictionary` and `NSMutableArray`.
    public static func removingNulls(
        from object: Any, fromObjects: Bool = true, fromArrays: Bool = true, mutable: Bool = false
    ) -> Any {
        func clean(_ value: Any) -> Any {
            removingNulls(from: value, fromObjects: fromObjects, fromArrays: fromArrays, mutable: mutable)
        }
        if let members = object as? [String: Any] {
            let kept = members.compactMapValues { fromObjects && $0 is NSNull ? nil : clean($0) }
            return mutable ? NSMutableDictionary(dictionary: kept) : kept
        }
        if let elements = object as? [Any] {
            let kept = elements.compactMap { fromArrays && $0 is NSNull ? nil : clean($0) }
            return mutable ? NSMutableArray(array: kept) : kept
        }
        return object
    }
}
