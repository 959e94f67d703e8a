import FoundationEssentials
import Testing

@testable import SwiftAF

@Suite struct EventStreamParserTests {
    private static func events(
        in bytes: [UInt8], inPiecesOf size: Int, parser: inout EventStreamParser
    ) throws -> [ServerSentEvent] {
        var events: [ServerSentEvent] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            parser.append(Data(bytes[start..<min(bytes.count, start + size)]))
            while let event = try parser.next() { events.append(event) }
        }
        return events
    }

    private static func event(
        _ data: String, id: String = "", _ type: String = "message", retry: Int? = nil
    ) -> ServerSentEvent {
        ServerSentEvent(id: id, event: type, data: data, retry: retry.map { .milliseconds($0) })
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let stream: String
        let events: [ServerSentEvent]
        var lastEventID = ""
        var retry: Int?
    }

    static let cases = [
        Case(testDescription: "nothing", stream: "", events: []),
        Case(testDescription: "one line", stream: "data: a\n\n", events: [event("a")]),
        Case(testDescription: "lines are joined", stream: "data: a\ndata: b\ndata:c\n\n", events: [event("a\nb\nc")]),
        Case(testDescription: "CR", stream: "data: a\rdata: b\r\r", events: [event("a\nb")]),
        Case(testDescription: "CRLF", stream: "data: a\r\ndata: b\r\n\r\n", events: [event("a\nb")]),
        Case(
            testDescription: "mixed ends", stream: "data: a\r\n\rdata: b\n\r\ndata: c\r\r",
            events: [event("a"), event("b"), event("c")]),
        Case(testDescription: "BOM", stream: "\u{FEFF}data: a\n\n", events: [event("a")]),
        Case(testDescription: "one BOM only", stream: "\u{FEFF}\u{FEFF}data: a\n\ndata: b\n\n", events: [event("b")]),
        Case(testDescription: "BOM later is part of a name", stream: "\n\u{FEFF}data: a\n\n", events: []),
        Case(testDescription: "BOM before the empty line", stream: "\u{FEFF}\ndata: a\n\n", events: [event("a")]),
        Case(testDescription: "comments", stream: ": x\n:\ndata: a\n:data: b\n\n:\n\n", events: [event("a")]),
        Case(testDescription: "one space goes", stream: "data:  a \ndata:\tb\n\n", events: [event(" a \n\tb")]),
        Case(testDescription: "colons in values", stream: "data: a: b:c\n\n", events: [event("a: b:c")]),
        Case(testDescription: "name alone", stream: "data\n\ndata\ndata\n\n", events: [event(""), event("\n")]),
        Case(testDescription: "empty value", stream: "data:\n\ndata: \n\n", events: [event(""), event("")]),
        Case(testDescription: "unfinished", stream: "data: a\n\ndata: b\n", events: [event("a")]),
        Case(testDescription: "unfinished line", stream: "data: a\n\ndata: b", events: [event("a")]),
        Case(
            testDescription: "type", stream: "event: add\ndata: 1\n\ndata: 2\n\n",
            events: [event("1", "add"), event("2")]),
        Case(testDescription: "last type counts", stream: "event: a\nevent: b\ndata: 1\n\n", events: [event("1", "b")]),
        Case(testDescription: "empty type is message", stream: "event: a\nevent\ndata: 1\n\n", events: [event("1")]),
        Case(testDescription: "type without data goes", stream: "event: a\n\ndata: 1\n\n", events: [event("1")]),
        Case(
            testDescription: "names have case, no blanks", stream: "Data: a\n data: b\ndata : c\ndatax: d\n\n",
            events: []),
        Case(testDescription: "unknown fields", stream: "foo: 1\ndata: a\nbar\n\n", events: [event("a")]),
        Case(
            testDescription: "id stays", stream: "id: 1\ndata: a\n\ndata: b\n\n",
            events: [event("a", id: "1"), event("b", id: "1")], lastEventID: "1"),
        Case(
            testDescription: "id is emptied", stream: "id: 1\ndata: a\n\nid\ndata: b\n\n",
            events: [event("a", id: "1"), event("b")]),
        Case(testDescription: "id without data", stream: "id: 7\n\n", events: [], lastEventID: "7"),
        Case(
            testDescription: "id of an unfinished event", stream: "id: 7\n\nid: 8\ndata: a\n", events: [],
            lastEventID: "7"),
        Case(
            testDescription: "id with NUL", stream: "id: 1\nid: 2\u{0}3\ndata: a\n\n", events: [event("a", id: "1")],
            lastEventID: "1"),
        Case(
            testDescription: "id in UTF-8", stream: "id: 漢😀\ndata: ñ\n\n", events: [event("ñ", id: "漢😀")],
            lastEventID: "漢😀"),
        Case(
            testDescription: "retry", stream: "retry: 1500\ndata: a\n\ndata: b\n\n",
            events: [event("a", retry: 1500), event("b")], retry: 1500),
        Case(testDescription: "retry alone", stream: "retry: 10\n\ndata: b\n\n", events: [event("b")], retry: 10),
        Case(testDescription: "retry unfinished counts", stream: "retry: 10\n", events: [], retry: 10),
        Case(
            testDescription: "retry that is none",
            stream: "retry: -1\nretry: 1.5\nretry: 1s\nretry:  5\nretry\nretry: ٣\ndata: a\n\n", events: [event("a")]),
        Case(testDescription: "retry zero", stream: "retry: 0\n\n", events: [], retry: 0),
        Case(
            testDescription: "retry beyond all numbers", stream: "retry: 99999999999999999999999\n\n", events: [],
            retry: Int.max),
        Case(
            testDescription: "retry at the edge", stream: "retry: 9223372036854775808\n\n", events: [], retry: Int.max),
    ]

    @Test(arguments: cases)
    func parsesStandardCasesInPiecesOfEverySize(of one: Case) throws {
        for size in [1, 2, 3, 7, 4096] {
            var parser = EventStreamParser()
            let events = try Self.events(in: Array(one.stream.utf8), inPiecesOf: size, parser: &parser)
            #expect(events == one.events, "pieces of \(size)")
            #expect(parser.lastEventID == one.lastEventID)
            #expect(parser.reconnectionTime == one.retry.map { .milliseconds($0) })
        }
    }

    @Test(arguments: [1, 7, 4096])
    func invalidUTF8BecomesReplacementCharacter(size: Int) throws {
        var parser = EventStreamParser()
        let bytes = Array("data: a".utf8) + [0xFF, 0x0A] + Array("event: ".utf8) + [0xE6, 0xBC] + Array("\n\n".utf8)
        let events = try Self.events(in: bytes, inPiecesOf: size, parser: &parser)
        #expect(events == [ServerSentEvent(event: "\u{FFFD}", data: "a\u{FFFD}")])
    }

    @Test func restartKeepsIdentifierOfLastWholeEvent() throws {
        var parser = EventStreamParser(lastEventID: "0")
        parser.append(Data("retry: 5\ndata: a\n\nid: 2\ndata: b\n\nid: 3\nevent: x\ndata: lost\nda".utf8))
        #expect(try parser.next() == Self.event("a", id: "0", retry: 5))
        #expect(try parser.next() == Self.event("b", id: "2"))
        #expect(try parser.next() == nil)
        parser.restart()
        #expect(parser.lastEventID == "2")
        #expect(parser.reconnectionTime == .milliseconds(5))
        parser.append(Data("\u{FEFF}data: c\n\n".utf8))
        #expect(try parser.next() == Self.event("c", id: "2"))
    }

    @Test func eventIsReadyWithFirstByteThatEndsIt() throws {
        var parser = EventStreamParser()
        parser.append(Data("data: a\r\n\r".utf8))
        #expect(try parser.next() == Self.event("a"))
        parser.append(Data("\ndata: b\n\n".utf8))
        #expect(try parser.next() == Self.event("b"))
    }

    @Test(arguments: [1, 7, 4096])
    func limitsHoldInPiecesOfEverySize(size: Int) throws {
        var limits = ServerSentEvent.Limits()
        limits.maximumLineLength = 12
        limits.maximumDataSize = 9
        limits.maximumFieldCount = 3
        let fits = [
            "data: 123456\n\n", "data: 12345\ndata:678\n\n", "data:1\ndata:2\nid:1\n:\n:\n\ndata:1\ndata:2\nid:1\n\n",
            "data:1234\ndata\ndata:456\n\n",
        ]
        for text in fits {
            var parser = EventStreamParser(limits: limits)
            #expect(throws: Never.self) {
                try Self.events(in: Array(text.utf8), inPiecesOf: size, parser: &parser)
            }
        }
        let tooLarge = [
            ("data: 1234567\n", "a line is longer than 12 bytes"),
            (":345678901234", "a line is longer than 12 bytes"),
            ("data: 12345\ndata:6789\n", "the data of an event is larger than 9 bytes"),
            ("data:1234\ndata\ndata:4567\n", "the data of an event is larger than 9 bytes"),
            ("a\nb\nc\nd\n", "an event has more than 3 fields"),
        ]
        for (text, message) in tooLarge {
            var parser = EventStreamParser(limits: limits)
            let error = #expect(throws: SessionError.self) {
                try Self.events(in: Array(text.utf8), inPiecesOf: size, parser: &parser)
            }
            #expect(error?.code == .tooLarge)
            #expect(error?.message == message)
        }
        limits.maximumDataSize = .min
        limits.maximumFieldCount = .max
        limits.maximumLineLength = .max
        var parser = EventStreamParser(limits: limits)
        #expect(throws: SessionError.self) {
            try Self.events(in: Array("data:1\n".utf8), inPiecesOf: size, parser: &parser)
        }
    }
}
