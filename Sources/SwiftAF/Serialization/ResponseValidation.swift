public import FoundationEssentials

/// Decides whether a response is acceptable, by AFNetworking's rules.
///
/// - Content type: fails if types are listed and the response's is not among them; a response with neither type
///   nor body passes. With an empty body the failure is silent: the response is not valid, but there is no error.
/// - Status: fails if codes are listed and the response's is not among them.
/// - Both: the status error is the outer one, the content type error is its ``SessionError/underlying``.
public struct ResponseValidation: Sendable, Hashable, Codable {
    /// Statuses that pass; nil for any.
    public var acceptableStatusCodes: Set<Int>?

    /// Media types that pass, without parameters; nil for any.
    public var acceptableContentTypes: Set<String>?

    /// Suffixes of media types that pass beside ``acceptableContentTypes``: `json` for `application/problem+json` and
    /// all others of its kind (RFC 6839).
    public var acceptableSuffixes: Set<String>

    /// Makes a validation; at first status 200 to 299 of any type.
    public init(
        acceptableStatusCodes: Set<Int>? = Self.success, acceptableContentTypes: Set<String>? = nil,
        acceptableSuffixes: Set<String> = []
    ) {
        self.acceptableStatusCodes = acceptableStatusCodes
        self.acceptableContentTypes = acceptableContentTypes
        self.acceptableSuffixes = acceptableSuffixes
    }

    /// 200 to 299.
    public static let success = Set(200...299)

    /// Status 200 to 299, any type.
    public static let `default` = ResponseValidation()

    /// What a validation found.
    public enum Verdict: Sendable {
        case valid
        /// Not valid; the error is nil if only the type of an empty body is wrong.
        case invalid(SessionError?)

        /// The error, if there is one.
        public var error: SessionError? {
            if case .invalid(let error) = self { error } else { nil }
        }

        /// Whether the body is worth parsing: unless its type was refused.
        public var allowsParsing: Bool {
            !(error?.contains(.contentType) ?? false)
        }
    }

    /// Judges a response. Pure.
    public func validate(_ response: HTTPResponse, body: Data) -> Verdict {
        var verdict = Verdict.valid
        if !acceptsContentType(of: response, isBodyEmpty: body.isEmpty) {
            verdict = .invalid(body.isEmpty ? nil : contentTypeError(response, body))
        }
        if let codes = acceptableStatusCodes, !codes.contains(response.status) {
            verdict = .invalid(statusError(response, body, underlying: verdict.error))
        }
        return verdict
    }

    private func acceptsContentType(of response: HTTPResponse, isBodyEmpty: Bool) -> Bool {
        guard let types = acceptableContentTypes else { return true }
        guard let value = response.headers.first(HTTPHeaders.Name.contentType) else { return isBodyEmpty }
        let type = Self.essence(of: value)
        return types.contains { ASCII.equalIgnoringCase($0, type) } || hasAcceptableSuffix(type)
    }

    private func hasAcceptableSuffix(_ type: Substring) -> Bool {
        guard !acceptableSuffixes.isEmpty, let plus = type.utf8.lastIndex(of: UInt8(ascii: "+")) else { return false }
        let suffix = type[plus...].dropFirst()
        return acceptableSuffixes.contains { ASCII.equalIgnoringCase($0, suffix) }
    }

    /// The type without parameters.
    private static func essence(of contentType: String) -> Substring {
        let end = contentType.utf8.firstIndex(of: UInt8(ascii: ";")) ?? contentType.endIndex
        return ASCII.trimmingBlanks(contentType[..<end])
    }

    private func contentTypeError(_ response: HTTPResponse, _ body: Data) -> SessionError {
        let type = response.headers.first(HTTPHeaders.Name.contentType).map {
            ASCII.printable(ASCII.lowercased(Self.essence(of: $0)), limit: 100)
        }
        let message = type.map { "unacceptable content type: \($0)" } ?? "no content type"
        return SessionError(.contentType, message: message, response: response, body: body)
    }

    private func statusError(_ response: HTTPResponse, _ body: Data, underlying: SessionError?) -> SessionError {
        let phrase = HTTPStatus.phrase(for: response.status).map { " (\($0))" } ?? ""
        return SessionError(
            .status, message: "unacceptable status \(response.status)\(phrase)", response: response, body: body,
            underlying: underlying)
    }
}
