public import FoundationEssentials

/// Decides whether a response is acceptable, by AFNetworking's rules.
///
/// - Content type: fails if types are listed and the response's isn't one of them. A response with neither a type nor a
///   body passes. With an empty body the failure is silent: the response is invalid, but there is no error.
/// - Status: fails if codes are listed and the response's isn't one of them.
/// - Both: the status error is reported, with the content type error as its ``SessionError/underlying`` one.
public struct ResponseValidation: Sendable, Hashable, Codable {
    /// The acceptable status codes; nil for any.
    public var acceptableStatusCodes: Set<Int>?

    /// The acceptable media types, without parameters. `text/*` accepts every type of text, `*/*` every type. Nil:
    /// those of the decoder for a decoded value (``DataDecoder/contentTypes``), which are JSON's by default, and any
    /// for bytes and text.
    public var acceptableContentTypes: Set<String>?

    /// Structured syntax suffixes (RFC 6839) that are acceptable in addition to ``acceptableContentTypes``: `json`
    /// accepts `application/problem+json` and every other type that ends in `+json`.
    public var acceptableSuffixes: Set<String>

    /// Creates a validation. By default, any type with status 200 to 299 is acceptable.
    public init(
        acceptableStatusCodes: Set<Int>? = Self.success, acceptableContentTypes: Set<String>? = nil,
        acceptableSuffixes: Set<String> = []
    ) {
        self.acceptableStatusCodes = acceptableStatusCodes
        self.acceptableContentTypes = acceptableContentTypes
        self.acceptableSuffixes = acceptableSuffixes
    }

    /// The status codes 200 to 299.
    public static let success = Set(200...299)

    /// Accepts any type with status 200 to 299.
    public static let `default` = ResponseValidation()

    /// Accepts every response, also of another type than JSON where JSON is decoded.
    public static let any = ResponseValidation(acceptableStatusCodes: nil, acceptableContentTypes: [anyType])

    private static let anyType = "*/*"

    /// The result of a validation.
    public enum Verdict: Sendable {
        /// The response is acceptable.
        case valid
        /// The response is invalid. The error is nil if only the type of an empty body isn't acceptable.
        case invalid(SessionError?)

        /// The error, if any.
        public var error: SessionError? {
            if case .invalid(let error) = self { error } else { nil }
        }

        /// Whether to parse the body: false if its type isn't acceptable.
        public var allowsParsing: Bool {
            !(error?.contains(.contentType) ?? false)
        }
    }

    /// Validates a response. Has no side effects.
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

    /// Returns whether a response is acceptable, whatever its body is.
    func acceptsHead(_ response: HTTPResponse) -> Bool {
        (acceptableStatusCodes?.contains(response.status) ?? true)
            && acceptsContentType(of: response, isBodyEmpty: false)
    }

    /// Whether every response with status 200 to 299 is acceptable.
    var acceptsAllSuccesses: Bool {
        (acceptableContentTypes?.contains(Self.anyType) ?? true)
            && (acceptableStatusCodes.map { $0 == Self.success || $0.isSuperset(of: Self.success) } ?? true)
    }

    /// The error of a response whose body hasn't arrived yet; nil if the response is acceptable.
    ///
    /// - Parameter status: The status to validate instead of that of the response.
    func error(ofHead response: HTTPResponse, status: Int) -> SessionError? {
        let isAccepted = acceptsContentType(of: response, isBodyEmpty: response.status == 204)
        let typeError = isAccepted ? nil : contentTypeError(response, Data())
        if let codes = acceptableStatusCodes, !codes.contains(status) {
            return statusError(response, Data(), underlying: typeError)
        }
        return typeError
    }

    private func acceptsContentType(of response: HTTPResponse, isBodyEmpty: Bool) -> Bool {
        guard let types = acceptableContentTypes, !types.contains(Self.anyType) else { return true }
        guard let value = response.headers.first(named: .contentType) else { return isBodyEmpty }
        // The fast path: most servers send exactly a value of the set. Parsing it takes half a microsecond (the row
        // `json_64` of Benchmarks/run).
        if types.contains(where: { $0 == value }) { return true }
        let type = Self.essence(of: value)
        return types.contains { Self.accepts($0, type) } || hasAcceptableSuffix(type)
    }

    /// Returns whether a media type, or a range such as `text/*`, includes a type.
    private static func accepts(_ range: String, _ type: Substring) -> Bool {
        guard range.utf8.last == UInt8(ascii: "*") else { return ASCII.equalIgnoringCase(range, type) }
        let prefix = String(range.dropLast())
        return prefix.utf8.last == UInt8(ascii: "/")
            && ASCII.equalIgnoringCase(prefix, Substring(type.utf8.prefix(prefix.utf8.count)))
    }

    private func hasAcceptableSuffix(_ type: Substring) -> Bool {
        guard !acceptableSuffixes.isEmpty, let plus = type.utf8.lastIndex(of: UInt8(ascii: "+")) else { return false }
        let suffix = type[plus...].dropFirst()
        return acceptableSuffixes.contains { ASCII.equalIgnoringCase($0, suffix) }
    }

    /// Returns the type without parameters.
    private static func essence(of contentType: String) -> Substring {
        let end = contentType.utf8.firstIndex(of: UInt8(ascii: ";")) ?? contentType.endIndex
        return ASCII.trimmingBlanks(contentType[..<end])
    }

    private func contentTypeError(_ response: HTTPResponse, _ body: Data) -> SessionError {
        let type = response.headers.first(named: .contentType).map {
            ASCII.printable(ASCII.lowercased(Self.essence(of: $0)), limit: 100)
        }
        let problem = type.map { "unacceptable content type: \($0)" } ?? "no content type"
        let message = "\(problem) (accepted: \(acceptedTypes))"
        return SessionError(.contentType, message: message, response: response, body: body)
    }

    /// The acceptable types and suffixes in words.
    private var acceptedTypes: String {
        ((acceptableContentTypes ?? []).sorted() + acceptableSuffixes.sorted().map { "*/*+\($0)" })
            .joined(separator: ", ")
    }

    private func statusError(_ response: HTTPResponse, _ body: Data, underlying: SessionError?) -> SessionError {
        let phrase = HTTPStatus.phrase(for: response.status).map { " (\($0))" } ?? ""
        let message =
            response.cacheStatus == .missing
            ? "the cache has no response, and the request's cache policy doesn't allow to ask the server"
            : "unacceptable status \(response.status)\(phrase)"
        return SessionError(.status, message: message, response: response, body: body, underlying: underlying)
    }
}
