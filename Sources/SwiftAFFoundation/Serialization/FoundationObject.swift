/// An object of Foundation on its way from a serializer to whoever asked for it.
///
/// Most classes of Foundation are not `Sendable`. The serializer that made the object keeps no reference to it: it
/// belongs to whoever gets the box, who uses it on one thread at a time, copies of the box included.
public struct FoundationObject<Value>: @unchecked Sendable {
    /// The object.
    public let value: Value

    /// Boxes an object that nobody else uses.
    public init(_ value: Value) {
        self.value = value
    }
}

/// Values that know the object in them: what code without the type of a box is shown.
protocol ObjectContaining {
    /// Nil if there is none.
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
