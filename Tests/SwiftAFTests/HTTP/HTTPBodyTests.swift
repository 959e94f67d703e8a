import FoundationEssentials
import SwiftAF
import Testing

@Suite struct HTTPBodyTests {
    @Test func bodiesReportTheirKindLengthAndType() {
        #expect(HTTPBody.none.isNone && HTTPBody.none.length == 0)
        #expect(!HTTPBody.data(Data()).isNone)
        #expect(HTTPBody.text("é").data == Data([0xC3, 0xA9]))
        #expect(HTTPBody.file("/tmp/x").filePath == "/tmp/x")
        #expect(HTTPBody.file("/tmp/x").length == nil)
        #expect(HTTPBody.file("/notes.v2/film").contentType == "application/octet-stream")
        #expect(HTTPBody.file("notes.txt").contentType == "text/plain")
        #expect(HTTPBody.stream(length: 3) { Self.chunks(["abc"]) }.length == 3)
    }

    @Test func descriptionNeverShowsContent() {
        #expect(HTTPBody.text("s3cret").description == "6 bytes")
        #expect(HTTPBody.none.description == "no body")
        #expect(HTTPBody.stream(once: Self.chunks([])).description == "stream, unknown length")
    }

    @Test func replayableStreamIsCreatedForEachRead() async throws {
        let stream = try #require(Self.stream(of: .stream(length: 4) { Self.chunks(["ab", "cd"]) }))
        #expect(stream.isReplayable)
        #expect(try await Self.collect(stream) == "abcd")
        #expect(try await Self.collect(stream) == "abcd")
    }

    @Test func singleUseStreamSaysSo() async throws {
        let stream = try #require(Self.stream(of: .stream(once: Self.chunks(["ab"]), length: 2)))
        #expect(!stream.isReplayable)
        #expect(stream.length == 2)
        #expect(try await Self.collect(stream) == "ab")
    }

    @Test func consumerCanStopTheProducer() async throws {
        let stream = try #require(Self.stream(of: .stream { Self.chunks(["a", "b", "c"]) }))
        let taken = Locked("")
        try await stream.produce { chunk in
            taken.withLock { $0 += String(decoding: chunk, as: UTF8.self) }
            return taken.withLock { $0.count } < 2
        }
        #expect(taken.withLock { $0 } == "ab")
    }

    @Test func errorOfTheSequenceArrives() async throws {
        struct Broken: Error {}
        let stream = try #require(
            Self.stream(
                of: .stream {
                    AsyncThrowingStream<Data, any Error> { $0.finish(throwing: Broken()) }
                }))
        await #expect(throws: Broken.self) { try await stream.produce { _ in true } }
    }

    private static func chunks(_ texts: [String]) -> AsyncStream<Data> {
        AsyncStream { continuation in
            for text in texts { continuation.yield(Data(text.utf8)) }
            continuation.finish()
        }
    }

    private static func stream(of body: HTTPBody) -> BodyStream? {
        if case .stream(let stream) = body.content { stream } else { nil }
    }

    private static func collect(_ stream: BodyStream) async throws -> String {
        let text = Locked("")
        try await stream.produce { chunk in
            text.withLock { $0 += String(decoding: chunk, as: UTF8.self) }
            return true
        }
        return text.withLock { $0 }
    }
}
