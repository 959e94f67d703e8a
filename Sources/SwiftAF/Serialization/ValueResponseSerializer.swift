public import FoundationEssentials

/// A serializer that uses another one.
protocol WrappingSerializer: ResponseSerializer {
    var wrapped: any ResponseSerializer { get }
}

/// A serializer whose validation and decoder are the manager's.
protocol ManagedSerializer: ResponseSerializer {
    /// Returns the serializer with a manager's settings.
    func with(_ settings: ResponseSettings) -> Self
}

extension ResponseSerializer {
    /// The serializer, with a manager's settings if it has none of its own.
    func managed(by settings: ResponseSettings) -> Self {
        guard Self.self is any ManagedSerializer.Type, let managed = self as? any ManagedSerializer else { return self }
        return managed.with(settings) as? Self ?? self
    }
}

/// Makes a value in the format of its type: ``JSONValue`` and every other `Decodable` from JSON, `Data` and `String` as
/// they are.
///
/// A manager uses its own settings: ``HTTPSessionManager/responseSerializer`` if its output is this type, else
/// ``HTTPSessionManager/decoder`` and ``HTTPSessionManager/validation``. Elsewhere the defaults apply.
///
/// ```swift
/// manager.get("users/7", with: .value(User.self), success: { task, user in … }, failure: nil)
/// ```
public struct ValueResponseSerializer<Output: Decodable & Sendable>: ManagedSerializer, WrappingSerializer {
    private let settings: ResponseSettings

    /// Makes a serializer for a type.
    public init(_ type: Output.Type = Output.self) {
        self.init(.standard)
    }

    init(_ settings: ResponseSettings) {
        self.settings = settings
    }

    func with(_ settings: ResponseSettings) -> ValueResponseSerializer { ValueResponseSerializer(settings) }

    public func serialize(_ response: HTTPResponse, body: Data) throws -> Output {
        try value(from: wrapped, response, body)
    }

    public func result(for response: HTTPResponse, body: Data) -> SerializedResult<Output> {
        result(from: wrapped, response, body)
    }

    var wrapped: any ResponseSerializer {
        if let own = settings.serializer, Self.makes(own) { return own }
        if Output.self == Data.self { return DataResponseSerializer(validation: settings.validation) }
        if Output.self == String.self { return StringResponseSerializer(validation: settings.validation) }
        if Output.self == JSONValue.self { return JSONResponseSerializer(validation: settings.validationOfJSON) }
        // Its body is ignored, so it may be of any type.
        let validation = Output.self == Empty.self ? settings.validation : settings.validationOfJSON
        return DecodableResponseSerializer<Output>(decoder: settings.decoder, validation: validation)
    }

    private static func makes<Serializer: ResponseSerializer>(_: Serializer) -> Bool {
        Serializer.Output.self == Output.self
    }

    private func value(
        from serializer: some ResponseSerializer, _ response: HTTPResponse, _ body: Data
    ) throws -> Output {
        // The cast always succeeds; the compiler can't know.
        guard let value = try serializer.serialize(response, body: body) as? Output else {
            throw SessionError(.serialization, response: response, body: body)
        }
        return value
    }

    private func result(
        from serializer: some ResponseSerializer, _ response: HTTPResponse, _ body: Data
    ) -> SerializedResult<Output> {
        let result = serializer.result(for: response, body: body)
        return SerializedResult(value: result.value as? Output, error: result.error)
    }
}

extension ResponseSerializer {
    /// Decodes a type with the manager's settings.
    public static func value<Value>(_ type: Value.Type) -> Self where Self == ValueResponseSerializer<Value> {
        ValueResponseSerializer(type)
    }
}

extension ResponseSerializer where Self == ValueResponseSerializer<JSONValue> {
    /// Parses JSON with the manager's settings.
    public static var json: Self { ValueResponseSerializer() }
}

extension ResponseSerializer where Self == ValueResponseSerializer<Data> {
    /// Returns the body unchanged, validated with the manager's settings.
    public static var data: Self { ValueResponseSerializer() }
}

extension ResponseSerializer where Self == ValueResponseSerializer<String> {
    /// Decodes text, validated with the manager's settings.
    public static var string: Self { ValueResponseSerializer() }
}
