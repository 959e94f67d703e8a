import FoundationEssentials

/// An internal serializer that wraps another one.
protocol WrappingSerializer: ResponseSerializer {
    var wrapped: any ResponseSerializer { get }
}

/// The serializer for a type: the preferred one if its output has that type, else the default one.
struct StandardSerializer<Output: Decodable & Sendable>: WrappingSerializer {
    let wrapped: any ResponseSerializer

    init(preferring preferred: any ResponseSerializer) {
        wrapped = Self.makes(preferred) ? preferred : Self.standard
    }

    func serialize(_ response: HTTPResponse, body: Data) throws -> Output {
        try value(from: wrapped, response, body)
    }

    func result(for response: HTTPResponse, body: Data) -> SerializedResult<Output> {
        result(from: wrapped, response, body)
    }

    private static func makes<Serializer: ResponseSerializer>(_: Serializer) -> Bool {
        Serializer.Output.self == Output.self
    }

    private static var standard: any ResponseSerializer {
        if Output.self == Data.self { return DataResponseSerializer() }
        if Output.self == String.self { return StringResponseSerializer() }
        if Output.self == JSONValue.self { return JSONResponseSerializer() }
        return DecodableResponseSerializer<Output>()
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
