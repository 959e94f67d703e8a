/// How a manager validates and decodes responses. Shared by its requests; immutable.
final class ResponseSettings: Sendable {
    /// The program's serializer for its output type; nil decodes each type in its own format.
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

    /// Returns a copy with the decoder and the validation, if they aren't nil.
    func with(decoder: (any DataDecoder)? = nil, validation: ResponseValidation? = nil) -> ResponseSettings {
        ResponseSettings(
            serializer: serializer, decoder: decoder ?? self.decoder, validation: validation ?? self.validation)
    }

    /// Returns a copy with another serializer, or without one.
    func with(serializer: (any ResponseSerializer)?) -> ResponseSettings {
        ResponseSettings(serializer: serializer, decoder: decoder, validation: validation)
    }

    private static let suffixesOfJSON: Set = ["json"]

    /// The validation for JSON. Unless the program has listed content types, it accepts those of JSON, and types such
    /// as `application/problem+json` (RFC 6839).
    var validationOfJSON: ResponseValidation {
        guard validation.acceptableContentTypes == nil else { return validation }
        var validation = validation
        validation.acceptableContentTypes = JSONResponseSerializer.contentTypes
        if validation.acceptableSuffixes.isEmpty {
            // A constant set, because making one allocates.
            validation.acceptableSuffixes = Self.suffixesOfJSON
        } else {
            validation.acceptableSuffixes.formUnion(Self.suffixesOfJSON)
        }
        return validation
    }
}

extension ResponseSettings {
    /// The validation for values that the decoder decodes: that for JSON, or the decoder's content types.
    var validationOfDecoder: ResponseValidation {
        guard validation.acceptableContentTypes == nil else { return validation }
        let types = decoder.contentTypes
        guard types != JSONResponseSerializer.contentTypes else { return validationOfJSON }
        var validation = validation
        validation.acceptableContentTypes = types
        return validation
    }
}
