import FoundationEssentials
import SwiftAF
import Testing

@Suite struct SessionErrorTests {
    @Test func matchesByCode() {
        func code(of error: any Error) -> String {
            do {
                throw error
            } catch SessionError.Code.untrusted {
                return "untrusted"
            } catch SessionError.Code.timeout {
                return "timeout"
            } catch {
                return "other"
            }
        }
        #expect(code(of: SessionError(.untrusted)) == "untrusted")
        #expect(code(of: SessionError(.timeout, reason: .idle)) == "timeout")
        #expect(code(of: CancellationError()) == "other")
    }

    @Test func cancellationIsOneQuestionForEveryError() {
        let others: [any Error] = [
            SessionError(.timeout), SessionError(.closed), SessionError(.interceptor, underlying: CancellationError()),
            DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "")),
        ]
        #expect(CancellationError().isCancellation && SessionError(.cancelled, url: "http://h/").isCancellation)
        #expect((SessionError(.cancelled) as any Error).isCancellation)
        #expect(!others.contains { $0.isCancellation })
    }

    @Test func isOneWordAndCopiesOnWrite() {
        #expect(MemoryLayout<SessionError>.size == MemoryLayout<Int>.size)
        let first = SessionError(.dns, url: "http://h/")
        var second = first
        second.code = .connect
        second.systemError = 111
        second.curlCode = 7
        #expect(first.code == .dns && first.systemError == nil && first.curlCode == nil)
        #expect(second.code == .connect && second.systemError == 111 && second.url == "http://h/")
    }

    @Test func everyWayToPrintHidesSecrets() {
        let response = HTTPResponse(
            status: 401, headers: ["Set-Cookie": "s3cret"], url: "https://u:s3cret@h/p?s3cret#s3cret")
        struct Leaky: Error, CustomStringConvertible { var description: String { "s3cret" } }
        let inner = SessionError(.contentType, response: response, underlying: Leaky())
        let error = SessionError(.status, response: response, body: Data("s3cret".utf8), underlying: inner)
        var dumped = ""
        dump(error, to: &dumped)
        for text in ["\(error)", String(reflecting: error), dumped, error.errorDescription ?? ""] {
            #expect(!text.contains("s3cret"))
            #expect(text.contains("https://h/p?…"))
        }
        #expect(error.fullDescription.contains("https://u:s3cret@h/p?s3cret#s3cret"))
    }

    @Test func descriptionsNameCodeReasonAndMessage() {
        let error = SessionError(.timeout, reason: .connect, message: "no connection in 300 ms", url: "http://h:1/")
        #expect(error.description == "timeout (connect): no connection in 300 ms [http://h:1/]")
        #expect(SessionError(.cancelled).description == "cancelled: the task was cancelled")
        #expect(SessionError(.timeout, reason: .total).description == "timeout (total): the request timed out")
        let replay = SessionError(.bodyNotReplayable)
        #expect(replay.description == "bodyNotReplayable: the request body can't be replayed")
        #expect(SessionError(SessionError.Code(rawValue: "new")).message == "the request failed")
        #expect(SessionError(.protocol).message == "the peer violated the protocol")
        #expect(SessionError(.tooLarge).message == "a limit was exceeded")
        #expect(SessionError(.authentication).message == "credentials are missing or were refused")
        #expect(SessionError(.serialization).message == "the data could not be encoded or decoded")
    }

    @Test func errorReturnsStatusAndURLOfResponse() {
        let response = HTTPResponse(status: 404, url: "http://h/")
        let error = SessionError(.status, response: response)
        #expect(error.status == 404 && error.url == "http://h/" && error.response == response)
        #expect(SessionError(.dns).status == nil)
    }

    @Test func decodesTheBody() throws {
        struct Problem: Decodable, Equatable { var title: String }
        let error = SessionError(.status, body: Data(#"{"title":"gone"}"#.utf8))
        #expect(try error.decodeBody(as: Problem.self) == Problem(title: "gone"))
        #expect(throws: SessionError.self) { try SessionError(.status).decodeBody(as: Problem.self) }
        let failure = #expect(throws: SessionError.self) {
            try SessionError(.status, body: Data("{}".utf8)).decodeBody(as: Problem.self)
        }
        #expect(failure?.code == .serialization && failure?.underlying is DecodingError)
        #expect(failure?.message.contains("title") == true)
    }

    @Test func containsCodesBelow() {
        let error = SessionError(.status, underlying: SessionError(.contentType))
        #expect(error.contains(.status) && error.contains(.contentType) && !error.contains(.dns))
    }
}
