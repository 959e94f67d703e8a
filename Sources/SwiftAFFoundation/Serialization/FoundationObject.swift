/// A box that transfers a Foundation object from a serializer to the caller.
///
/// Most classes of Foundation aren't `Sendable`. The serializer keeps no reference to the object, so it belongs to the
/// receiver of the box. Use it on one thread at a time, including through copies of the box.
public struct FoundationObject<Value>: @unchecked Sendable {
    /// The object.
    public let value: Value

    /// Boxes an object. Nothing else may use the object.
    public init(_ value: Value) {
        self.value = value
    }
}

/// A value that contains an object, for code that doesn't know the type of the box.
protocol ObjectContaining {
    /// The object; nil if there is none.
    var containedObject: Any? { get }
}

extension FoundationObject: ObjectContaining {
    var containedObject: Any? { value }
}

extension Optional: ObjectContaining {
    var containedObject: Any? {
        guard case let value? = self else { return nil }
        guard let container = value as? any ObjectContaining else { return value }
        return container.containedObject
    }
}
