import Foundation
import FoundationNetworking
import SwiftAF
import SwiftAFFoundation
import Testing

@Suite struct ErrorTests {
    @Test(
        arguments: [
            (.invalidInput, -1000), (.dns, -1003), (.connect, -1004), (.connectionLost, -1005), (.truncated, -1005),
            (.protocol, -1017), (.redirect, -1010), (.timeout, -1001), (.untrusted, -1202), (.tls, -1200),
            (.tooLarge, -1103), (.authentication, -1013), (.file, -3001), (.cancelled, -999),
            (.bodyNotReplayable, -1021),
            (.bodySource, -1021), (.unsupported, -1002), (.closed, -1008), (.outOfMemory, -1), (.unknown, -1),
            (SessionError.Code(rawValue: "new"), -1),
        ] as [(SessionError.Code, Int)])
    func failuresOfTransfersHaveURLErrorCodes(code: SessionError.Code, expected: Int) {
        let error = SessionError(code, url: "http://h/path?q")
        #expect(error.urlError.errorCode == expected)
        #expect(error.nsError.domain == NSURLErrorDomain && error.nsError.code == expected)
    }

    @Test func everyCodeOfURLErrorHasTheSameUserInfo() {
        let error = SessionError(.dns, message: "no such host", url: "http://h/path?q")
        for info in [error.nsError.userInfo, error.urlError.errorUserInfo] {
            #expect(info[NSURLErrorFailingURLErrorKey] as? URL == URL(string: "http://h/path?q"))
            #expect(info["NSErrorFailingURLStringKey"] as? String == "http://h/path?q")
            #expect(info[NSLocalizedDescriptionKey] as? String == "no such host")
        }
        #expect(error.urlError.failingURL == URL(string: "http://h/path?q"))
    }

    @Test func whatIsNotKnownIsNotInTheUserInfo() {
        let info = SessionError(.cancelled).nsError.userInfo
        #expect(Set(info.keys) == [NSLocalizedDescriptionKey])
    }

    @Test func systemErrorsStandBelow() {
        var error = SessionError(.file)
        error.systemError = ENOSPC
        let below = error.nsError.userInfo[NSUnderlyingErrorKey] as? NSError
        #expect(below?.domain == NSPOSIXErrorDomain && below?.code == Int(ENOSPC))
    }

    @Test(
        arguments: [
            (.file, ENOENT, .fileDoesNotExist), (.file, EISDIR, .fileIsDirectory), (.file, EEXIST, .cannotCreateFile),
            (.file, EROFS, .cannotCreateFile), (.file, ENOSPC, .cannotWriteToFile),
            (.file, EFBIG, .cannotWriteToFile), (.file, EACCES, .cannotOpenFile),
            (.connect, ENETUNREACH, .notConnectedToInternet), (.connect, EHOSTUNREACH, .cannotConnectToHost),
            (.connect, ECONNREFUSED, .cannotConnectToHost), (.timeout, ENETUNREACH, .timedOut),
        ] as [(SessionError.Code, Int32, URLError.Code)])
    func systemErrorsDecideOnTheCode(code: SessionError.Code, systemError: Int32, expected: URLError.Code) {
        var error = SessionError(code)
        error.systemError = systemError
        #expect(error.urlErrorCode == expected)
    }

    @Test(
        arguments: [
            (.redirect, .redirectLimit, .httpTooManyRedirects), (.invalidInput, .noScheme, .unsupportedURL),
            (.dns, .offline, .notConnectedToInternet), (.connect, .offline, .notConnectedToInternet),
            (.invalidInput, .ipv6Zone, .badURL), (.tls, .certificateRequired, .clientCertificateRequired),
            (.tls, .certificateRefused, .clientCertificateRejected), (.tls, .notTLS, .secureConnectionFailed),
            (.untrusted, .expired, .serverCertificateUntrusted),
        ] as [(SessionError.Code, SessionError.Reason, URLError.Code)])
    func reasonsDecideOnTheCode(code: SessionError.Code, reason: SessionError.Reason, expected: URLError.Code) {
        #expect(SessionError(code, reason: reason).urlErrorCode == expected)
    }

    @Test func refusedResponsesAreReportedAsAFNetworkingDid() throws {
        let serializer = JSONResponseSerializer()
        let result = serializer.result(for: response(404, "text/html"), body: Data("gone".utf8))
        let error = try #require(result.error as? SessionError).nsError
        #expect(error.domain == "com.alamofire.error.serialization.response" && error.code == -1011)
        #expect(error.localizedDescription == "unacceptable status 404 (Not Found)")
        let info = error.userInfo
        #expect(info["com.alamofire.serialization.response.error.data"] as? Data == Data("gone".utf8))
        let head = try #require(info["com.alamofire.serialization.response.error.response"] as? HTTPURLResponse)
        #expect(head.statusCode == 404 && head.mimeType == "text/html")
        #expect(info[NSURLErrorFailingURLErrorKey] as? URL == URL(string: "http://h/"))
        let below = try #require(info[NSUnderlyingErrorKey] as? NSError)
        #expect(below.domain == AFErrorDomain.responseSerialization && below.code == -1016)
    }

    @Test func parametersThatCanNotBeWrittenAreReportedAsAFNetworkingDid() throws {
        let error = try #require(throws: SessionError.self) {
            try JSONRequestSerializer().serialize(HTTPRequest(.post, "http://h/"), parameters: ["key": Set([1])])
        }
        #expect(error.nsError.domain == "com.alamofire.error.serialization.request" && error.nsError.code == -1016)
    }

    @Test func otherParsersAreReportedLikeFoundations() throws {
        let result = JSONResponseSerializer().result(for: response(200, "application/json"), body: Data("{".utf8))
        let error = try #require(result.error as? SessionError).nsError
        #expect(error.domain == NSCocoaErrorDomain && error.code == 3840)
        #expect(error.userInfo[NSUnderlyingErrorKey] != nil)
    }

    @Test func errorsOfFoundationPassThrough() {
        let cause = NSError(domain: "D", code: 7, userInfo: ["key": "value"])
        let error = SessionError(.serialization, response: response(200, nil), underlying: cause).nsError
        #expect(error.domain == "D" && error.code == 7 && error.userInfo["key"] as? String == "value")
        #expect(error.userInfo[AFErrorKey.failingResponse] is HTTPURLResponse)
        #expect(error.userInfo[NSUnderlyingErrorKey] == nil)
    }
}
