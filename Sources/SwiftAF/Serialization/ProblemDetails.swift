/// What a server says about a failure in a form that programs can read (RFC 9457, `application/problem+json`).
///
/// ```swift
/// catch let error as SessionError {
///     if let problem = error.problem { print(problem.title ?? problem.type) }
/// }
/// ```
///
/// Members whose values have the wrong type count as missing, as the RFC has it.
public struct ProblemDetails: Sendable, Hashable {
    /// A URI that names the kind of the problem; `about:blank` if the status says it all.
    public var type: String
    /// The kind of the problem, in words.
    public var title: String?
    /// The status, as the origin server meant it.
    public var status: Int?
    /// This occurrence of the problem, in words.
    public var detail: String?
    /// A URI that names this occurrence.
    public var instance: String?
    /// All other members.
    public var extensions: JSONObject

    /// Makes a description of a problem.
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

    /// Reads a document; nil if it is no object.
    public init?(_ value: JSONValue) {
        guard case .object(let object) = value else { return nil }
        self.init(
            type: object["type"]?.string ?? "about:blank", title: object["title"]?.string,
            status: object["status"]?.int, detail: object["detail"]?.string, instance: object["instance"]?.string,
            extensions: JSONObject(object.filter { !Self.members.contains($0.key) }))
    }

    /// The document.
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
    /// What the server says about the failure, if the response's type is `application/problem+json` and its body can
    /// be read. Parsed each time it is asked for.
    public var problem: ProblemDetails? {
        guard let body, response?.mediaType?.essence == MediaType.problemJSON.essence else { return nil }
        return (try? JSONValue(parsing: body)).flatMap { ProblemDetails($0) }
    }
}
