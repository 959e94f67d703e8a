public import Foundation
import FoundationNetworking
public import SwiftAF

/// The error domains that AFNetworking defined.
public enum AFErrorDomain {
    /// `AFURLRequestSerializationErrorDomain`: the parameters can't be encoded.
    public static let requestSerialization = "com.alamofire.error.serialization.request"
    /// `AFURLResponseSerializationErrorDomain`: the response isn't acceptable.
    public static let responseSerialization = "com.alamofire.error.serialization.response"
}

/// The keys that AFNetworking added to the user info of its errors.
public enum AFErrorKey {
    /// `AFNetworkingOperationFailingURLResponseErrorKey`: the response, an `HTTPURLResponse`.
    public static let failingResponse = "com.alamofire.serialization.response.error.response"
    /// `AFNetworkingOperationFailingURLResponseDataErrorKey`: the response body, a `Data`.
    public static let failingResponseData = "com.alamofire.serialization.response.error.data"
}

/// The value of `NSURLErrorFailingURLStringErrorKey`, which Foundation has deprecated.
private let failingURLStringKey = "NSErrorFailingURLStringKey"

extension SessionError {
    /// The error as an `NSError`, with the domain and the code that AFNetworking used.
    ///
    /// - An unacceptable status or content type: ``AFErrorDomain/responseSerialization``, code -1011 or -1016.
    /// - A failure of a Foundation parser or encoder: its own domain and code; of any other one: `NSCocoaErrorDomain`,
    ///   code 3840. Other parameters that can't be encoded: ``AFErrorDomain/requestSerialization``, code -1016.
    /// - Everything else: `NSURLErrorDomain`, as in ``urlError``.
    ///
    /// The user info contains a description that is safe to log, the complete failing URL, the response and its body,
    /// and the underlying error, converted in the same way.
    public var nsError: NSError {
        switch code {
        case .status, .contentType: nsError(AFErrorDomain.responseSerialization, urlErrorCode.rawValue)
        case .serialization: serializationError
        default: nsError(NSURLErrorDomain, urlErrorCode.rawValue)
        }
    }

    /// The error as a `URLError`, as `URLSession` reports it. The user info is that of ``nsError``.
    public var urlError: URLError {
        URLError(urlErrorCode, userInfo: userInfo)
    }

    /// The closest code of `NSURLErrorDomain`.
    ///
    /// A rejected certificate is always -1202, as in AFNetworking; ``reason`` has the details. It is -1009 if a
    /// connection failed because this machine has no route, or if a name wasn't found while it is offline. A file that
    /// couldn't be opened is -3001, unless ``systemError`` is more specific. Any invalid input is -1000, even if the
    /// URL is valid.
    public var urlErrorCode: URLError.Code {
        if let reason, let found = Self.reasonErrorCodes[reason] { return found }
        switch code {
        case .connect where systemError == ENETUNREACH: return .notConnectedToInternet
        case .file: return systemError.flatMap { Self.fileErrorCodes[$0] } ?? .cannotOpenFile
        default: return Self.urlErrorCodes[code] ?? .unknown
        }
    }

    /// The codes of those reasons that Foundation distinguishes, too.
    private static let reasonErrorCodes: [Reason: URLError.Code] = [
        .noScheme: .unsupportedURL,
        .offline: .notConnectedToInternet,
        .redirectLimit: .httpTooManyRedirects,
        .certificateRequired: .clientCertificateRequired,
        .certificateRefused: .clientCertificateRejected,
    ]

    /// The codes for an `errno` about a file. Some occur only for a file that is written.
    private static let fileErrorCodes: [Int32: URLError.Code] = [
        ENOENT: .fileDoesNotExist,
        EISDIR: .fileIsDirectory,
        EEXIST: .cannotCreateFile,
        EROFS: .cannotCreateFile,
        ENOSPC: .cannotWriteToFile,
        EDQUOT: .cannotWriteToFile,
        EFBIG: .cannotWriteToFile,
    ]

    private static let urlErrorCodes: [Code: URLError.Code] = [
        .invalidInput: .badURL,
        .status: .badServerResponse,
        .contentType: .cannotDecodeContentData,
        .dns: .cannotFindHost,
        .connect: .cannotConnectToHost,
        .connectionLost: .networkConnectionLost,
        .truncated: .networkConnectionLost,
        .protocol: .cannotParseResponse,
        .redirect: .redirectToNonExistentLocation,
        .timeout: .timedOut,
        .untrusted: .serverCertificateUntrusted,
        .tls: .secureConnectionFailed,
        .tooLarge: .dataLengthExceedsMaximum,
        .authentication: .userAuthenticationRequired,
        .serialization: .cannotDecodeContentData,
        .cancelled: .cancelled,
        .bodyNotReplayable: .requestBodyStreamExhausted,
        .bodySource: .requestBodyStreamExhausted,
        .unsupported: .unsupportedURL,
        .closed: .resourceUnavailable,
    ]

    /// Errors of Foundation keep their domain and code; the user info known here is added.
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

    /// Returns the error if Foundation created it; nil for an error of a Swift type, which would only be wrapped.
    private static func foundationError(_ error: any Error) -> NSError? {
        if let error = error as? CocoaError { return error as NSError }
        return type(of: error) is NSError.Type ? error as NSError : nil
    }
}
