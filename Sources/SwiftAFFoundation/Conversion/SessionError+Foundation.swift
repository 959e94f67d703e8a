public import Foundation
import FoundationNetworking
public import SwiftAF

/// The domains of errors that AFNetworking made itself.
public enum AFErrorDomain {
    /// `AFURLRequestSerializationErrorDomain`: parameters that can't be written.
    public static let requestSerialization = "com.alamofire.error.serialization.request"
    /// `AFURLResponseSerializationErrorDomain`: responses that are not acceptable.
    public static let responseSerialization = "com.alamofire.error.serialization.response"
}

/// The keys that AFNetworking put into the user info of its errors.
public enum AFErrorKey {
    /// `AFNetworkingOperationFailingURLResponseErrorKey`: an `HTTPURLResponse`.
    public static let failingResponse = "com.alamofire.serialization.response.error.response"
    /// `AFNetworkingOperationFailingURLResponseDataErrorKey`: the response's body, a `Data`.
    public static let failingResponseData = "com.alamofire.serialization.response.error.data"
}

/// The key of `NSURLErrorFailingURLStringErrorKey`, which Foundation would like to be rid of.
private let failingURLStringKey = "NSErrorFailingURLStringKey"

extension SessionError {
    /// The error as AFNetworking would have reported it.
    ///
    /// - A refused status or content type is in ``AFErrorDomain/responseSerialization``, with the codes -1011 and
    ///   -1016.
    /// - What a parser or an encoder of Foundation refused has that one's domain and code; what another one refused,
    ///   `NSCocoaErrorDomain` 3840. Other parameters that can't be written are in
    ///   ``AFErrorDomain/requestSerialization``, code -1016.
    /// - Everything else is in `NSURLErrorDomain`, as ``urlError`` is.
    ///
    /// The user info has a description that may be logged, the failing URL (complete), the response and its body, and
    /// the error behind this one in the same shape.
    public var nsError: NSError {
        switch code {
        case .status, .contentType: nsError(AFErrorDomain.responseSerialization, urlErrorCode.rawValue)
        case .serialization: serializationError
        default: nsError(NSURLErrorDomain, urlErrorCode.rawValue)
        }
    }

    /// The error as `URLSession` would have reported it, with the same user info as ``nsError``.
    public var urlError: URLError {
        URLError(urlErrorCode, userInfo: userInfo)
    }

    /// The code of `NSURLErrorDomain` that comes nearest.
    ///
    /// A certificate that is not accepted is always -1202, as AFNetworking reported it; ``reason`` tells more.
    public var urlErrorCode: URLError.Code {
        if code == .file, systemError == ENOENT { return .fileDoesNotExist }
        return Self.urlErrorCodes[code] ?? .unknown
    }

    private static let urlErrorCodes: [Code: URLError.Code] = [
        .invalidInput: .badURL,
        .status: .badServerResponse,
        .contentType: .cannotDecodeContentData,
        .dns: .cannotFindHost,
        .connect: .cannotConnectToHost,
        .connectionLost: .networkConnectionLost,
        .truncated: .networkConnectionLost,
        .protocol: .cannotParseResponse,
        .redirect: .httpTooManyRedirects,
        .timeout: .timedOut,
        .untrusted: .serverCertificateUntrusted,
        .tls: .secureConnectionFailed,
        .tooLarge: .dataLengthExceedsMaximum,
        .authentication: .userAuthenticationRequired,
        .file: .cannotOpenFile,
        .serialization: .cannotDecodeContentData,
        .cancelled: .cancelled,
        .bodyNotReplayable: .requestBodyStreamExhausted,
        .bodySource: .requestBodyStreamExhausted,
        .unsupported: .unsupportedURL,
        .closed: .resourceUnavailable,
    ]

    /// Errors of Foundation pass through, with what is known here added.
    private var serializationError: NSError {
        if let error = underlying, !(error is SessionError), let foundation = Self.foundationError(error) {
            var info = userInfo
            info[NSUnderlyingErrorKey] = nil
            info.merge(foundation.userInfo) { _, theirs in theirs }
            return NSError(domain: foundation.domain, code: foundation.code, userInfo: info)
        }
        if response == nil { return nsError(AFErrorDomain.requestSerialization, urlErrorCode.rawValue) }
        return nsError(NSCocoaErrorDomain, CocoaError.Code.propertyListReadCorrupt.rawValue)
    }

    private func nsError(_ domain: String, _ code: Int) -> NSError {
        NSError(domain: domain, code: code, userInfo: userInfo)
    }

    private var userInfo: [String: Any] {
        var info: [String: Any] = [NSLocalizedDescriptionKey: message]
        if let url {
            info[NSURLErrorFailingURLErrorKey] = URL(string: url)
            info[failingURLStringKey] = url
        }
        info[AFErrorKey.failingResponse] = response.flatMap { HTTPURLResponse($0) }
        info[AFErrorKey.failingResponseData] = body
        info[NSUnderlyingErrorKey] = underlyingNSError
        return info
    }

    private var underlyingNSError: NSError? {
        if let error = underlying { return (error as? SessionError)?.nsError ?? error as NSError }
        return systemError.map { NSError(domain: NSPOSIXErrorDomain, code: Int($0)) }
    }

    /// The error if it is one of Foundation's own, not of a Swift type that would only be wrapped.
    private static func foundationError(_ error: any Error) -> NSError? {
        if let error = error as? CocoaError { return error as NSError }
        return type(of: error) is NSError.Type ? error as NSError : nil
    }
}
