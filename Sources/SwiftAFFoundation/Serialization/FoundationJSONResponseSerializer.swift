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

    /// The responses that are acceptable.
    public var validation: ResponseValidation

    /// With `.fragmentsAllowed`, the top level doesn't have to be an array or an object. With `.mutableContainers`, it
    /// is an `NSMutableArray` or an `NSMutableDictionary`; on Linux the containers in it aren't mutable.
    public var readingOptions: JSONSerialization.ReadingOptions {
        get { JSONSerialization.ReadingOptions(rawValue: readingBits) }
        set { readingBits = newValue.rawValue }
    }

    /// Whether object members that are null are removed, at every level.
    public var removesKeysWithNullValues: Bool

    /// Whether array elements that are null are removed, at every level. Later elements move up.
    public var removesNullsFromArrays: Bool

    /// The maximum memory of the parsed objects in bytes, estimated before they are made; a text beyond it is an error.
    /// Default: 1 GiB, about 350,000 dictionaries with members: on Linux each of them takes at least 3 KB. To read
    /// larger texts, use `JSONResponseSerializer` or `Codable` types, which need much less memory.
    public var maximumMemory: Int

    private var readingBits: UInt

    /// Creates a serializer. By default, it accepts the same responses as `JSONResponseSerializer`.
    public init(
        readingOptions: JSONSerialization.ReadingOptions = [],
        validation: ResponseValidation = JSONResponseSerializer().validation,
        removesKeysWithNullValues: Bool = false,
        removesNullsFromArrays: Bool = false,
        maximumMemory: Int = 1 << 30
    ) {
        self.validation = validation
        self.removesKeysWithNullValues = removesKeysWithNullValues
        self.removesNullsFromArrays = removesNullsFromArrays
        self.maximumMemory = maximumMemory
        readingBits = readingOptions.rawValue
    }

    private static let optionsOfStrictJSON: JSONSerialization.ReadingOptions = [
        .mutableContainers, .mutableLeaves, .fragmentsAllowed,
    ]

    public func parse(_ body: Data, of response: HTTPResponse) throws -> FoundationObject<Any>? {
        if isBlank(body) { return nil }
        let isStrict = readingOptions.isSubset(of: Self.optionsOfStrictJSON)
        if JSONCost.exceeds(maximumMemory, body, isStrict: isStrict) {
            throw SessionError(
                .serialization,
                message: "the objects of the JSON text would take more than \(maximumMemory) bytes (maximumMemory)")
        }
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
