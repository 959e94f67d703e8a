/// How a manager validates and decodes responses. Shared by its requests; immutable.
final class ResponseSettings: Sendable {
    /// Nil decodes each type by its own format.
    let serializer: (any ResponseSerializer)?
    let decoder: any DataDecoder
    let validation: ResponseValidation

    init(
        serializer: (any ResponseSerializer)? = nil, decoder: any DataDecoder = JSONCoder(),
        validation: ResponseValidation = .default
    ) {
        self.serializer = serializer
        self.decoder = decoder
        self.validation = validation
    }

    static let standard = ResponseSettings()

    /// A copy with what isn't nil.
    func with(decoder: (any DataDecoder)? = nil, validation: ResponseValidation? = nil) -> ResponseSettings {
        ResponseSettings(
            serializer: serializer, decoder: decoder ?? self.decoder, validation: validation ?? self.validation)
    }

    /// A copy with another serializer, or without one.
    func with(serializer: (any ResponseSerializer)?) -> ResponseSettings {
        ResponseSettings(serializer: serializer, decoder: decoder, validation: validation)
    }

    private static let suffixesOfJSON: Set = ["json"]

    /// The validation of JSON: its content types and all types such as `application/problem+json` (RFC 6839), unless
    /// others are given.
    var validationOfJSON: ResponseValidation {
        guard validation.acceptableContentTypes == nil else { return validation }
        var validation = validation
        validation.acceptableContentTypes = JSONResponseSerializer.contentTypes
        if validation.acceptableSuffixes.isEmpty {
            // The same set for all responses: making one allocates.
            validation.acceptableSuffixes = Self.suffixesOfJSON
        } else {
            validation.acceptableSuffixes.formUnion(Self.suffixesOfJSON)
        }
        return validation
    }
}

extension ResponseSettings {
    /// The validation of what the decoder decodes: JSON's, or that of the decoder's content types.
    var validationOfDecoder: ResponseValidation {
        guard validation.acceptableContentTypes == nil else { return validation }
        let types = decoder.contentTypes
        guard types != JSONResponseSerializer.contentTypes else { return validationOfJSON }
        var validation = validation
        validation.acceptableContentTypes = types
        return validation
    }
}
