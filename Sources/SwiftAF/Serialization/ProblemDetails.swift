/// Machine-readable details of an error response (RFC 9457, `application/problem+json`).
///
/// ```swift
/// do {
///     try await manager.delete("users/7")
/// } catch {
///     if let problem = error.problem { print(problem.title ?? problem.type) }
/// }
/// ```
///
/// Members with a value of the wrong type are treated as missing, as RFC 9457 (section 3.1) requires.
public struct ProblemDetails: Sendable, Hashable {
    /// A URI that identifies the problem type; `about:blank` if the status is sufficient.
    public var type: String
    /// A short summary of the problem type.
    public var title: String?
    /// The status code that the origin server generated.
    public var status: Int?
    /// An explanation of this occurrence of the problem.
    public var detail: String?
    /// A URI that identifies this occurrence.
    public var instance: String?
    /// All other members.
    public var extensions: JSONObject

    /// Creates problem details.
    public init(
        type: String = "about:blank", title: String? = nil, status: Int? = nil, detail: String? = nil,
        instance: String? = nil, extensions: JSONObject = [:]
    ) {
        self.type = type
        self.title = title
        self.status = status
        self.detail = detail
        self.instance = instance
        self.extensions = extensions
    }

    /// Parses a document; nil if it isn't an object.
    public init?(_ value: JSONValue) {
        guard case .object(let object) = value else { return nil }
        self.init(
            type: object["type"]?.string ?? "about:blank", title: object["title"]?.string,
            status: object["status"]?.int, detail: object["detail"]?.string, instance: object["instance"]?.string,
            extensions: JSONObject(object.filter { !Self.members.contains($0.key) }))
    }

    /// The details as a JSON document.
    public var jsonValue: JSONValue {
        var object = JSONObject()
        if type != "about:blank" { object["type"] = .string(type) }
        object["title"] = title.map { .string($0) }
        object["status"] = status.map { .integer(Int64($0)) }
        object["detail"] = detail.map { .string($0) }
        object["instance"] = instance.map { .string($0) }
        for (key, value) in extensions where !Self.members.contains(key) { object[key] = value }
        return .object(object)
    }

    private static let members: Set<String> = ["type", "title", "status", "detail", "instance"]
}

extension ProblemDetails: Codable {
    public init(from decoder: any Decoder) throws {
        guard let problem = ProblemDetails(try JSONValue(from: decoder)) else {
            let context = DecodingError.Context(
                codingPath: decoder.codingPath, debugDescription: "a problem is an object")
            throw DecodingError.typeMismatch(ProblemDetails.self, context)
        }
        self = problem
    }

    public func encode(to encoder: any Encoder) throws {
        try jsonValue.encode(to: encoder)
    }
}

extension MediaType {
    /// `application/problem+json`
    public static let problemJSON = MediaType(type: "application", subtype: "problem+json")
}

extension SessionError {
    /// The problem details of the response, if its type is `application/problem+json` and its body can be parsed.
    /// Parsed on each access.
    public var problem: ProblemDetails? {
        guard let body, response?.mediaType?.essence == MediaType.problemJSON.essence else { return nil }
        return (try? JSONValue(parsing: body)).flatMap { ProblemDetails($0) }
    }
}

extension ProblemDetails: CustomStringConvertible {
    /// The JSON document.
    public var description: String { jsonValue.description }
}
