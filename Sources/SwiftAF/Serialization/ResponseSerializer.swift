public import FoundationEssentials

/// Validates a response and makes a value of its body.
public protocol ResponseSerializer<Output>: Sendable {
    associatedtype Output: Sendable

    /// The value of an acceptable response.
    ///
    /// Called on the caller's side, never on the network's thread. May be called by many tasks at once.
    func serialize(_ response: HTTPResponse, body: Data) throws -> Output

    /// The value and the error of a response, of which both may be there: a 404 with a problem document in it.
    /// The default is what ``serialize(_:body:)`` gives or throws.
    func result(for response: HTTPResponse, body: Data) -> SerializedResult<Output>
}

/// What a serializer made of a response.
public struct SerializedResult<Output: Sendable>: Sendable {
    /// The parsed body, if it could be parsed.
    public var value: Output?
    /// Why the response is not a success, nil if it is.
    public var error: (any Error)?

    /// Makes a result; without error it is a success.
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

/// A serializer that first validates and then parses, by the rule all of AFNetworking's share: a body of a refused
/// type is not parsed; one with a refused status is, and both the value and the error are reported, where only an
/// error can be thrown as its ``SessionError/parsedBody``; an error of the parser is the outer one, with the status
/// error, if there is one, as its ``SessionError/underlying``.
public protocol ValidatingResponseSerializer: ResponseSerializer {
    /// Which responses are acceptable.
    var validation: ResponseValidation { get set }

    /// The value of a body, whatever the status. An error that is no ``SessionError`` becomes one.
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

    /// Parses, and gives a parser's error its place above the status error.
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
