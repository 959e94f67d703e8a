public import Foundation
public import SwiftAF

/// The body as the objects that `JSONSerialization` makes; nil for an empty body or a single space.
///
/// ```swift
/// let serializer = FoundationJSONResponseSerializer()
/// manager.request(.get, "users/7", with: serializer) { _, json in
///     let user = json?.value as? [String: Any]
/// } failure: { _, error in … }
/// ```
public struct FoundationJSONResponseSerializer: ValidatingResponseSerializer, Hashable, Codable {
    public typealias Output = FoundationObject<Any>?

    /// Which responses are acceptable.
    public var validation: ResponseValidation

    /// With `.fragmentsAllowed` the top level may be something else than an array or an object; with
    /// `.mutableContainers` arrays and objects can be changed.
    public var readingOptions: JSONSerialization.ReadingOptions {
        get { JSONSerialization.ReadingOptions(rawValue: readingBits) }
        set { readingBits = newValue.rawValue }
    }

    /// Whether members of objects that are null are left out, at every level.
    public var removesKeysWithNullValues: Bool

    /// Whether elements of arrays that are null are left out, at every level. What is behind them moves up.
    public var removesNullsFromArrays: Bool

    private var readingBits: UInt

    /// Makes a serializer; at first what `JSONResponseSerializer` accepts is acceptable.
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

    /// `object` without nulls, at every level.
    ///
    /// - Parameters:
    ///   - object: What `JSONSerialization` made.
    ///   - fromObjects: Whether members that are null are left out.
    ///   - fromArrays: Whether elements that are null are left out.
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
