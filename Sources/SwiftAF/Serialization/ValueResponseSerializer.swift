public import FoundationEssentials

/// A serializer that uses another one.
protocol WrappingSerializer: ResponseSerializer {
    var wrapped: any ResponseSerializer { get }
}

/// A serializer that uses the validation and the decoder of the manager.
protocol ManagedSerializer: ResponseSerializer {
    /// Returns the serializer with a manager's settings.
    func with(_ settings: ResponseSettings) -> Self
}

extension ResponseSerializer {
    /// Returns the serializer with a manager's settings, if it is a ``ManagedSerializer``; otherwise unchanged.
    func managed(by settings: ResponseSettings) -> Self {
        guard Self.self is any ManagedSerializer.Type, let managed = self as? any ManagedSerializer else { return self }
        return managed.with(settings) as? Self ?? self
    }
}

/// Creates a value in the format of its type: ``JSONValue`` and every other `Decodable` from JSON, `Data` and `String`
/// as they are.
///
/// A manager uses its own settings: ``HTTPSessionManager/responseSerializer`` if its output is this type, else
/// ``HTTPSessionManager/decoder`` and ``HTTPSessionManager/validation``. Elsewhere the defaults apply.
///
/// ```swift
/// manager.get("users/7", with: .value(User.self), success: { task, user in … }, failure: nil)
/// ```
public struct ValueResponseSerializer<Output: Decodable & Sendable>: ManagedSerializer, WrappingSerializer {
    private let settings: ResponseSettings

    /// Creates a serializer for a type.
    public init(_ type: Output.Type = Output.self) {
        self.init(.standard)
    }

    init(_ settings: ResponseSettings) {
        self.settings = settings
    }

    func with(_ settings: ResponseSettings) -> ValueResponseSerializer { ValueResponseSerializer(settings) }

    public func serialize(_ response: HTTPResponse, body: Data) throws -> Output {
        try settings.value(Output.self, from: response, body)
    }

    public func result(for response: HTTPResponse, body: Data) -> SerializedResult<Output> {
        result(from: wrapped, response, body)
    }

    var wrapped: any ResponseSerializer {
        settings.serializer(making: Output.self)
            ?? DecodableResponseSerializer<Output>(
                decoder: settings.decoder, validation: settings.validation(decoding: Output.self))
    }

    private func result(
        from serializer: some ResponseSerializer, _ response: HTTPResponse, _ body: Data
    ) -> SerializedResult<Output> {
        let result = serializer.result(for: response, body: body)
        return SerializedResult(value: result.value as? Output, error: result.error)
    }
}

// Selects the format by the type of the value. The type need not be `Sendable`, because the value is decoded where it
// is used.
extension ResponseSettings {
    /// Validates a response and decodes its body in the format of the type.
    func value<Value: Decodable>(_ type: Value.Type, from response: HTTPResponse, _ body: Data) throws -> Value {
        if let serializer = serializer(making: type) { return try Self.value(from: serializer, response, body) }
        return try DecodableBody(decoder, validation(decoding: type)).value(type, from: response, body)
    }

    /// Returns the serializer of the type; nil if the type is decoded by the decoder.
    fileprivate func serializer(making type: Any.Type) -> (any ResponseSerializer)? {
        if let serializer, Self.makes(type, serializer) { return serializer }
        if type == Data.self { return DataResponseSerializer(validation: validation) }
        if type == String.self { return StringResponseSerializer(validation: validation) }
        if type == JSONValue.self { return JSONResponseSerializer(validation: validationOfJSON) }
        return nil
    }

    /// Returns the validation for a type that the decoder decodes.
    fileprivate func validation(decoding type: Any.Type) -> ResponseValidation {
        // The body of `Empty` is ignored, so it may have any content type.
        type == Empty.self ? validation : validationOfDecoder
    }

    private static func makes<Serializer: ResponseSerializer>(_ type: Any.Type, _: Serializer) -> Bool {
        Serializer.Output.self == type
    }

    private static func value<Value>(
        from serializer: some ResponseSerializer, _ response: HTTPResponse, _ body: Data
    ) throws -> Value {
        // The cast always succeeds, which the compiler doesn't know.
        guard let value = try serializer.serialize(response, body: body) as? Value else {
            throw SessionError(.serialization, response: response, body: body)
        }
        return value
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
