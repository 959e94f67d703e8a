public import FoundationEssentials

/// Validates a response and converts its body to a value.
public protocol ResponseSerializer<Output>: Sendable {
    /// The type that responses are decoded into.
    associatedtype Output: Sendable

    /// Returns the value of an acceptable response; otherwise throws.
    ///
    /// Called in the caller's context, never on the network thread. May be called concurrently.
    func serialize(_ response: HTTPResponse, body: Data) throws -> Output

    /// Returns the value and the error of a response. Both can be present, as for a 404 with problem details in its
    /// body. The default implementation returns the result or the error of
    /// ``ResponseSerializer/serialize(_:body:)``.
    func result(for response: HTTPResponse, body: Data) -> SerializedResult<Output>
}

/// The result of serializing a response.
public struct SerializedResult<Output: Sendable>: Sendable {
    /// The parsed body, if it could be parsed.
    public var value: Output?
    /// The error; nil on success.
    public var error: (any Error)?

    /// Creates a result, successful unless it has an error.
    public init(value: Output? = nil, error: (any Error)? = nil) {
        self.value = value
        self.error = error
    }
}

extension ResponseSerializer {
    public func result(for response: HTTPResponse, body: Data) -> SerializedResult<Output> {
        do {
            return SerializedResult(value: try serialize(response, body: body))
        } catch {
            return SerializedResult(error: error)
        }
    }
}

/// A serializer that validates before it parses, by the rule of AFNetworking's serializers. A body whose type isn't
/// acceptable isn't parsed. A body whose status isn't acceptable is parsed, and both the value and the error are
/// reported; where only an error can be thrown, the value is its ``SessionError/parsedBody``. If parsing fails, the
/// parser's error is reported, with the status error, if there is one, as its ``SessionError/underlying`` error.
public protocol ValidatingResponseSerializer<Output>: ResponseSerializer {
    // Declared again, so that the compiler infers it from `parse`.
    associatedtype Output

    /// The responses that are acceptable.
    var validation: ResponseValidation { get set }

    /// Parses a body, regardless of the status. An error other than ``SessionError`` is wrapped in one.
    func parse(_ body: Data, of response: HTTPResponse) throws -> Output
}

extension ValidatingResponseSerializer {
    public func serialize(_ response: HTTPResponse, body: Data) throws -> Output {
        let verdict = validation.validate(response, body: body)
        if let error = verdict.error, !verdict.allowsParsing { throw error }
        let value = try parse(body, of: response, after: verdict)
        guard var error = verdict.error else { return value }
        error.parsedBody = value
        throw error
    }

    public func result(for response: HTTPResponse, body: Data) -> SerializedResult<Output> {
        let verdict = validation.validate(response, body: body)
        guard verdict.allowsParsing else { return SerializedResult(error: verdict.error) }
        do {
            return SerializedResult(value: try parse(body, of: response, after: verdict), error: verdict.error)
        } catch {
            return SerializedResult(error: error)
        }
    }

    /// Returns the result by another rule: a refused status is the error even if the body can't be parsed.
    package func resultWithStatusFirst(for response: HTTPResponse, body: Data) -> SerializedResult<Output> {
        let verdict = validation.validate(response, body: body)
        if let error = verdict.error {
            return SerializedResult(value: verdict.allowsParsing ? try? parse(body, of: response) : nil, error: error)
        }
        do {
            return SerializedResult(value: try parse(body, of: response, after: verdict))
        } catch {
            return SerializedResult(error: error)
        }
    }

    /// Parses the body. If that fails, a status error becomes the underlying error of the parser's.
    private func parse(
        _ body: Data, of response: HTTPResponse, after verdict: ResponseValidation.Verdict
    ) throws -> Output {
        do {
            return try parse(body, of: response)
        } catch {
            throw failure(error, of: response, body, over: verdict.error)
        }
    }

    private func failure(
        _ error: any Error, of response: HTTPResponse, _ body: Data, over statusError: SessionError?
    ) -> SessionError {
        var failure = error as? SessionError ?? Self.failure(wrapping: error)
        failure.url = response.url
        failure.response = response
        failure.body = body
        if let statusError { failure.underlying = statusError }
        return failure
    }

    private static func failure(wrapping error: any Error) -> SessionError {
        let message = (error as? JSONParseError)?.description ?? "the body can't be parsed"
        return SessionError(.serialization, message: message, underlying: error)
    }
}
