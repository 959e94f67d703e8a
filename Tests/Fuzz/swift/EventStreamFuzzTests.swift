import FoundationEssentials
import Testing

@testable import SwiftAF

/// The stream's cuts must not matter, and the events must be those of a reading that is too simple to be wrong.
@Suite struct EventStreamFuzzTests {
    @Test func readsMutatedEventStreamsAlikeInAllPieceSizes() {
        var mutator = Mutator(
            seeds: [
                "data: a\ndata: b\n\nid: 1\nevent: add\ndata:x\r\n\r\n", "\u{FEFF}: hi\rretry: 100\r\rdata\r\r",
                "id\u{0}\nid: é漢\ndata: 😀\n\n", "retry: 99999999999999999999\n\n", "data", "",
            ],
            fragments: [
                "\r", "\n", "\r\n", "\n\n", ":", " ", "data", "data: ", "id: ", "event:", "retry: 1", "\u{0}",
                "\u{FEFF}",
                "é", "0", "a: b",
            ],
            start: 20)
        var events = 0
        let pieces = [1, 2, 3, 7, 4096]
        mutator.run(20_000) { bytes in
            let expected = Self.simpleReading(bytes)
            events += expected.events.count
            for size in pieces where Self.reading(bytes, inPiecesOf: size) != expected {
                Issue.record("pieces of \(size): \(bytes)")
            }
        }
        #expect(events > Mutator.amount(5000))
    }

    private struct Reading: Equatable {
        var events: [ServerSentEvent] = []
        var lastEventID = ""
        var retry: Duration?
    }

    private static func reading(_ bytes: [UInt8], inPiecesOf size: Int) -> Reading? {
        var parser = EventStreamParser()
        var reading = Reading()
        do {
            for start in stride(from: 0, to: bytes.count, by: size) {
                parser.append(Data(bytes[start..<min(bytes.count, start + size)]))
                while let event = try parser.next() { reading.events.append(event) }
            }
        } catch {
            return nil
        }
        reading.lastEventID = parser.lastEventID
        reading.retry = parser.reconnectionTime
        return reading
    }

    /// The standard's algorithm over a text that is all there.
    private static func simpleReading(_ bytes: [UInt8]) -> Reading {
        var scalars = Array(String(decoding: bytes, as: UTF8.self).unicodeScalars)
        if scalars.first == "\u{FEFF}" { scalars.removeFirst() }
        var reading = Reading()
        var (id, type, data) = ("", "", "")
        var retry: Duration?
        for line in wholeLines(of: scalars) {
            guard !line.isEmpty else {
                reading.lastEventID = id
                if !data.unicodeScalars.isEmpty {
                    let text = String(String.UnicodeScalarView(data.unicodeScalars.dropLast()))
                    let name = type.unicodeScalars.isEmpty ? "message" : type
                    reading.events.append(ServerSentEvent(id: id, event: name, data: text, retry: retry))
                }
                (type, data, retry) = ("", "", nil)
                continue
            }
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            var value = parts.count == 2 ? parts[1] : []
            if value.first == " " { value = value.dropFirst() }
            let text = String(String.UnicodeScalarView(value))
            switch String(String.UnicodeScalarView(parts[0])) {
            case "data": data += text + "\n"
            case "event": type = text
            case "id" where !value.contains("\u{0}"): id = text
            case "retry" where !value.isEmpty && value.allSatisfy { ("0"..."9").contains($0) }:
                retry = .milliseconds(Int64(text) ?? .max)
                reading.retry = retry
            default: break
            }
        }
        return reading
    }

    private static func wholeLines(of scalars: [Unicode.Scalar]) -> [[Unicode.Scalar]] {
        var lines: [[Unicode.Scalar]] = []
        var line: [Unicode.Scalar] = []
        for (place, scalar) in scalars.enumerated() {
            if scalar == "\n", place > 0, scalars[place - 1] == "\r" { continue }
            if scalar == "\n" || scalar == "\r" {
                lines.append(line)
                line = []
            } else {
                line.append(scalar)
            }
        }
        return lines
    }
}
