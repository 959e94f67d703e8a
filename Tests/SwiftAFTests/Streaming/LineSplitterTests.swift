import FoundationEssentials
import Testing

@testable import SwiftAF

@Suite struct LineSplitterTests {
    /// The lines of bytes that come in pieces of `size`.
    static func lines(of bytes: [UInt8], inPiecesOf size: Int, limit: Int = 1 << 20) throws -> [[UInt8]] {
        var splitter = LineSplitter(maximumLength: limit)
        var lines: [[UInt8]] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            splitter.append(Data(bytes[start..<min(bytes.count, start + size)]))
            while let line = try splitter.next({ Array($0) }) { lines.append(line) }
        }
        if let line = splitter.last({ Array($0) }) { lines.append(line) }
        return lines
    }

    @Test(
        arguments: [
            ("", []),
            ("a", ["a"]),
            ("a\n", ["a"]),
            ("a\r", ["a"]),
            ("a\r\n", ["a"]),
            ("\n", [""]),
            ("\r\n", [""]),
            ("\n\n", ["", ""]),
            ("\r\r", ["", ""]),
            ("\r\n\r\n", ["", ""]),
            ("\n\r", ["", ""]),
            ("\n\r\n", ["", ""]),
            ("\r\n\n", ["", ""]),
            ("a\nb\rc\r\nd", ["a", "b", "c", "d"]),
            ("a\r\n\rb\n\r\nc\r\r\n", ["a", "", "b", "", "c", ""]),
            ("1234567\n12345678\n123456789\n", ["1234567", "12345678", "123456789"]),
            ("1234567\r\n12345678\r\n123456789\r\n", ["1234567", "12345678", "123456789"]),
            (
                "no break: \u{B}\u{C}\u{85}\u{2028}\u{2029}\u{0}\u{B}",
                ["no break: \u{B}\u{C}\u{85}\u{2028}\u{2029}\u{0}\u{B}"]
            ),
            ("漢字\r\n😀\nñ", ["漢字", "😀", "ñ"]),
            // Bytes beside those looked for, which a borrow could mistake for them.
            (
                "\u{9}\u{B}\u{C}\u{E}\u{9}\u{B}\u{C}\u{E}\n\u{B}\u{B}\u{B}",
                ["\u{9}\u{B}\u{C}\u{E}\u{9}\u{B}\u{C}\u{E}", "\u{B}\u{B}\u{B}"]
            ),
            ("aaaaa\n\u{B}\u{E}\r\u{E}\u{B}aa", ["aaaaa", "\u{B}\u{E}", "\u{E}\u{B}aa"]),
        ] as [(String, [String])])
    func splitsLinesAtEveryKindOfEnd(text: String, expected: [String]) throws {
        for size in [1, 2, 3, 7, 8, 9, 4096] {
            let lines = try Self.lines(of: Array(text.utf8), inPiecesOf: size)
            #expect(lines.map { String(decoding: $0, as: UTF8.self) } == expected, "pieces of \(size)")
        }
    }

    @Test(
        arguments: [
            ("\u{FEFF}a\nb", ["a", "b"]), ("\u{FEFF}\na", ["", "a"]), ("\u{FEFF}", []),
            ("\u{FEFF}\u{FEFF}a\n", ["\u{FEFF}a"]), ("a\n\u{FEFF}b\n", ["a", "\u{FEFF}b"]),
            ("\r\n\u{FEFF}a", ["", "\u{FEFF}a"]),
        ] as [(String, [String])])
    func byteOrderMarkIsNotPartOfFirstLine(text: String, expected: [String]) throws {
        for size in [1, 2, 3, 4, 4096] {
            let lines = try Self.lines(of: Array(text.utf8), inPiecesOf: size)
            #expect(lines == expected.map { Array($0.utf8) }, "pieces of \(size)")
        }
    }

    @Test func byteOrderMarkIsKeptUnlessItComesFirst() throws {
        let text = Data("\u{FEFF}a\n".utf8)
        var splitter = LineSplitter(maximumLength: 10)
        splitter.dropsByteOrderMark = false
        splitter.append(text)
        #expect(try splitter.next { Data($0) } == text.dropLast())

        splitter = LineSplitter(maximumLength: 10)
        #expect(splitter.pass(text) == text)
        splitter.append(text)
        #expect(try splitter.next { Data($0) } == text.dropLast())

        splitter = LineSplitter(maximumLength: 10)
        splitter.append(text)
        #expect(splitter.takeBytes() == text)
        splitter.append(text)
        #expect(try splitter.next { Data($0) } == text.dropLast())
    }

    @Test func lineIsReadyAtItsCarriageReturn() throws {
        var splitter = LineSplitter(maximumLength: 10)
        splitter.append(Data("a\r".utf8))
        #expect(try splitter.next { $0.count } == 1)
        #expect(try splitter.next { $0.count } == nil)
        splitter.append(Data())
        #expect(try splitter.next { $0.count } == nil)
        splitter.append(Data("\n\n".utf8))
        #expect(try splitter.next { $0.count } == 0)
        #expect(try splitter.next { $0.count } == nil)
        #expect(splitter.last { $0.count } == nil)
    }

    @Test func acceptsSlicesAndPiecesBetweenReads() throws {
        var splitter = LineSplitter(maximumLength: 10)
        splitter.append(Data("xxa\nb\nc".utf8).dropFirst(2))
        #expect(try splitter.next { $0.count } == 1)
        splitter.append(Data("d\ne".utf8))
        let rest = [try splitter.next { Array($0) }, try splitter.next { Array($0) }, splitter.last { Array($0) }]
        #expect(rest == [Array("b".utf8), Array("cd".utf8), nil])
        #expect(try splitter.next { Array($0) } == nil)
        #expect(splitter.last { Array($0) } == Array("e".utf8))
    }

    @Test(
        arguments: [
            (["a\r", "\nb"], "b"), (["a\r", "\n", "b"], "b"), (["a\r\nb"], "b"), (["a\r", "b"], "b"),
            (["a\r", "\n\n"], "\n"), (["a\r", "\n", "\nb"], "\nb"), (["a\nb", "\nc"], "b\nc"), (["a\r"], ""),
            (["a\r", "\n"], ""), (["a\n", "\nb"], "\nb"),
        ])
    func bytesAfterLineDontBeginWithItsLineFeed(chunks: [String], rest: String) throws {
        var splitter = LineSplitter(maximumLength: 10)
        splitter.append(Data(chunks[0].utf8))
        #expect(try splitter.next { Array($0) } == Array("a".utf8))
        #expect(try splitter.next { $0.count } == nil)
        var bytes = splitter.takeBytes() ?? Data()
        for chunk in chunks.dropFirst() {
            let taken = splitter.pass(Data(chunk.utf8))
            #expect(taken?.startIndex ?? 0 == 0)
            bytes += taken ?? Data()
        }
        #expect(String(decoding: bytes, as: UTF8.self) == rest)
        #expect(splitter.pass(Data("\n".utf8)) == (chunks == ["a\r"] ? nil : Data("\n".utf8)))
    }

    @Test func refusesLinesBeyondTheLimit() throws {
        for size in [1, 3, 7, 64] {
            let fits = Array("12345678\n12345678\r\n12345678".utf8)
            #expect(try Self.lines(of: fits, inPiecesOf: size, limit: 8).count == 3)
            for tooLong in ["123456789", "a\n123456789\n", "123456789\r\n", "\r\n\r\n123456789"] {
                let error = #expect(throws: SessionError.self) {
                    try Self.lines(of: Array(tooLong.utf8), inPiecesOf: size, limit: 8)
                }
                #expect(error?.code == .tooLarge)
                #expect(error?.message == "a line is longer than 8 bytes")
            }
        }
        #expect(try Self.lines(of: Array("\n\r\n".utf8), inPiecesOf: 1, limit: -1) == [[], []])
    }
}
