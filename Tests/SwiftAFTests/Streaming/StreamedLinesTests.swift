import AFTestServer
import FoundationEssentials
import SwiftAF
import Testing

@Suite(.timeLimit(.minutes(10)))
struct StreamedLinesTests {
    private let server: TestServer
    private let manager = HTTPSessionManager()

    init() throws {
        server = try TestServer()
    }

    private func open(_ script: Script) async throws -> StreamedResponse {
        server.route("/lines", script)
        return try await manager.stream(HTTPRequest(server.url("/lines")))
    }

    @Test(arguments: [1, 3, 7, 4096])
    func splitsLinesCutAnywhereOnWire(size: Int) async throws {
        let text = "one\ntwo\r\n\r\nthree\rfour\n\nlast"
        let pieces = stride(from: 0, to: text.utf8.count, by: size).map { start in
            Script.chunk(Data(Array(text.utf8)[start..<min(text.utf8.count, start + size)]))
        }
        let response = try await open([.chunkedHead(), Script(pieces), .lastChunk()])
        var lines: [String] = []
        for try await line in response.lines { lines.append(line) }
        #expect(lines == ["one", "two", "", "three", "four", "", "last"])
    }

    @Test(arguments: [
        ("text/csv", "\u{FEFF}"), ("text/csv; charset=utf-8", "\u{FEFF}"),
        ("text/csv; charset=iso-8859-1", "\u{EF}\u{BB}\u{BF}"),
    ])
    func byteOrderMarkIsPartOfLinesAsOfText(type: String, mark: String) async throws {
        let script = Script.respond(headers: ["Content-Type": type], body: "\u{FEFF}id\n1\n\u{FEFF}2")
        let response = try await open(script)
        var lines: [String] = []
        for try await line in response.lines { lines.append(line) }
        let first = mark == "\u{FEFF}" ? "id" : mark + "id"
        #expect(lines.map { Array($0.utf8) } == [first, "1", mark + "2"].map { Array($0.utf8) })
        let text = try await manager.response(for: HTTPRequest(server.url("/lines"))).text()
        #expect(text.utf8.elementsEqual(lines.joined(separator: "\n").utf8))
    }

    @Test func byteOrderMarkStaysInBytes() async throws {
        let body = Data("\u{FEFF}id\n1\n".utf8)
        let response = try await open(.respond(body: body))
        #expect(try await response.collect(upTo: 100) == body)
    }

    @Test(arguments: ["\nrest", "\n\nrest", "rest"])
    func lineFeedThatArrivesLaterIsNotInBytes(later: String) async throws {
        let response = try await open([
            .chunkedHead(), .chunk(Data("one\r".utf8)), .stall(at: "later"), .chunk(Data(later.utf8)), .lastChunk(),
        ])
        #expect(try await response.lines.first { _ in true } == "one")
        server.open("later")
        let rest = later.hasPrefix("\n") ? later.dropFirst() : later[...]
        #expect(try await response.collect(upTo: 100) == Data(rest.utf8))
    }

    @Test func yieldsLineWhileServerStalls() async throws {
        let response = try await open([
            .chunkedHead(), .chunk(Data("first\nsec".utf8)), .stall(at: "rest"), .chunk(Data("ond\n".utf8)),
            .lastChunk(),
        ])
        var iterator = response.lines.makeAsyncIterator()
        #expect(try await iterator.next() == "first")
        server.open("rest")
        #expect(try await iterator.next() == "second")
        #expect(try await iterator.next() == nil)
        #expect(try await iterator.next() == nil)
    }

    @Test func cancelledTaskGetsNoMoreLines() async throws {
        let text = String(repeating: "line\n", count: 1000)
        let response = try await open([.chunkedHead(), .chunk(Data(text.utf8)), .lastChunk()])
        let reading = Task {
            var count = 0
            do throws(SessionError) {
                for try await _ in response.lines {
                    count += 1
                    if count == 3 { withUnsafeCurrentTask { $0?.cancel() } }
                }
                return (count, SessionError.Code?.none)
            } catch {
                return (count, error.code)
            }
        }
        let (count, code) = await reading.value
        #expect(count == 3 && code == .cancelled)
    }

    @Test func invalidUTF8BecomesReplacementCharacter() async throws {
        let bytes = Data([0x61, 0xFF, 0x0A, 0xE6, 0xBC, 0x0A, 0xA2, 0x0D, 0xED, 0xA0, 0x80])
        let response = try await open(.respond(body: bytes))
        var lines: [String] = []
        for try await line in response.lines { lines.append(line) }
        #expect(lines.count == 4)
        #expect(lines[0] == "a\u{FFFD}")
        #expect(lines[1...].allSatisfy { !$0.isEmpty && $0.unicodeScalars.allSatisfy { $0 == "\u{FFFD}" } })
    }

    @Test func lineBeyondLimitEndsTransfer() async throws {
        let response = try await open([
            .chunkedHead(), .chunk(Data("short\n".utf8)), .chunk(Data(repeating: 0x61, count: 4096), count: nil),
        ])
        var iterator = response.lines.makeAsyncIterator()
        #expect(try await iterator.next() == "short")
        let error = await #expect(throws: SessionError.self) { try await iterator.next() }
        #expect(error?.code == .tooLarge)
        #expect(error?.url == server.urlString("/lines"))
        #expect(await server.wait(for: .closes(1)))
        #expect(try await iterator.next() == nil)

        let strict = try await open(.text("12345\n123456\n"))
        var lines: [String] = []
        await #expect(throws: SessionError.self) {
            for try await line in strict.lines(maximumLength: 5) { lines.append(line) }
        }
        #expect(lines == ["12345"])
    }

    @Test func truncatedBodyYieldsOnlyWholeLines() async throws {
        let response = try await open(.truncated(body: Data("whole\nhalf".utf8), promising: 100))
        var iterator = response.lines.makeAsyncIterator()
        #expect(try await iterator.next() == "whole")
        let error = await #expect(throws: SessionError.self) { try await iterator.next() }
        #expect(error?.code == .truncated)
        #expect(try await iterator.next() == nil)
    }

    @Test func cancellingEndsWaitForLine() async throws {
        let response = try await open([
            .chunkedHead(), .chunk(Data("half".utf8)), .stall(at: "rest"), .waitForPeerClose,
        ])
        let reader = Task { () throws -> String? in
            var iterator = response.lines.makeAsyncIterator()
            return try await iterator.next()
        }
        #expect(await server.wait(for: .stalled(at: "rest")))
        reader.cancel()
        await #expect { try await reader.value } throws: { ($0 as? SessionError)?.code == .cancelled }
        server.open("rest")
        #expect(await server.wait(for: .closes(1)))
    }

    @Test(arguments: [1, 5, 4096])
    func laterLoopsContinueWhereEarlierEnded(size: Int) async throws {
        let text = "id,name\r\n1,a\r\n2,b\r\n3,c\nrest\nof it"
        let pieces = stride(from: 0, to: text.utf8.count, by: size).map { start in
            Script.chunk(Data(Array(text.utf8)[start..<min(text.utf8.count, start + size)]))
        }
        let response = try await open([.chunkedHead(), Script(pieces), .lastChunk()])
        #expect(try await response.lines.first { _ in true } == "id,name")
        #expect(try await response.lines.first { _ in true } == "1,a")
        var rows: [String] = []
        for try await row in response.lines {
            rows.append(row)
            if rows.count == 2 { break }
        }
        #expect(rows == ["2,b", "3,c"])
        #expect(try await response.collect(upTo: 100) == Data("rest\nof it".utf8))
        #expect(try await response.lines.first { _ in true } == nil)
    }

    /// As after a loop at the top level of a program, whose iterator Swift keeps.
    @Test func iteratorsShareOnePositionInLines() async throws {
        let response = try await open(.text("one\r\ntwo\nthree\nfour\nrest"))
        var first = response.lines.makeAsyncIterator()
        #expect(try await first.next() == "one")
        var second = response.lines(maximumLength: 5).makeAsyncIterator()
        #expect(try await second.next() == "two")
        #expect(try await first.next() == "three")
        #expect(try await second.next() == "four")
        #expect(try await response.collect(upTo: 100) == Data("rest".utf8))
        #expect(try await first.next() == nil)
    }

    /// Whichever of the two waits first.
    @Test func aRefusedSecondReaderTakesNothingOfTheOther() async throws {
        let response = try await open([
            .chunkedHead(), .chunk(Data("first\nabc".utf8)), .stall(at: "rest"), .chunk(Data("def\nlast".utf8)),
            .lastChunk(),
        ])
        #expect(try await response.lines.first { _ in true } == "first")
        let refusals = Recorder<SessionError.Code>()
        let lines = await withTaskGroup(of: [String].self) { group in
            for _ in 0..<2 {
                group.addTask {
                    do throws(SessionError) {
                        return try await Array(response.lines)
                    } catch {
                        refusals.record(error.code)
                        return []
                    }
                }
            }
            await refusals.wait()
            server.open("rest")
            return await group.reduce(into: []) { $0 += $1 }
        }
        #expect(lines == ["abcdef", "last"])
        #expect(refusals.values == [.invalidInput])
    }

    @Test func decodesLinesInResponseCharset() async throws {
        let body = Data([0xE4, 0x0A, 0xF6, 0x80])
        let latin = try await open(.respond(headers: ["Content-Type": "text/plain; charset=iso-8859-1"], body: body))
        #expect(try await Array(latin.lines) == ["ä", "ö\u{80}"])
        let windows = try await open(
            .respond(headers: ["Content-Type": "text/plain; charset=windows-1252"], body: body))
        #expect(try await Array(windows.lines) == ["ä", "ö€"])
        let unknown = try await open(
            .respond(headers: ["Content-Type": "text/plain; charset=nope"], body: Data("é\n".utf8)))
        #expect(try await Array(unknown.lines) == ["é"])
        let wide = try await open(
            .respond(headers: ["Content-Type": "text/plain; charset=utf-16"], body: Data([0, 0x61, 0, 0x0A])))
        await #expect { try await Array(wide.lines) } throws: { $0.asSessionError?.code == .serialization }
    }
}

extension Array where Element == String {
    fileprivate init(_ lines: StreamedResponse.Lines) async throws(SessionError) {
        self = []
        for try await line in lines { append(line) }
    }
}
