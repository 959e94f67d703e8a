import FoundationEssentials
import SwiftAF
import Testing

@testable import SwiftAFCommand

@Suite struct PrintedBodyTests {
    private func body(_ mode: PrintedBody.Mode, _ type: String = "text/plain", isForReader: Bool = true) -> PrintedBody
    {
        let response = HTTPResponse(status: 200, headers: [("Content-Type", type)], url: "http://h/")
        return PrintedBody(of: response, mode: mode, style: Style(isColoured: false), isForReader: isForReader)
    }

    private func text(_ text: String) -> PrintedBody.Step { .text(Data(text.utf8)) }

    @Test func passesPiecesOfAStreamedBodyOnAsTheyAre() {
        var body = body(.streamed, isForReader: false)
        #expect(body.add(Data([0, 1])) == .text(Data([0, 1])))
        #expect(body.add(Data([2])) == .text(Data([2])))
        #expect(body.end() == Data())
    }

    @Test func printsLinesOnceTheyAreCompleteAndEndsTheLast() {
        var body = body(.lines)
        #expect(body.add(Data("on".utf8)) == .nothing)
        #expect(body.add(Data("e\ntw".utf8)) == text("one\n"))
        #expect(body.end() == Data("tw\n".utf8))
        #expect(body.rest(behind: Data()) == Data("tw\n".utf8))
    }

    @Test func printsALongLineWithoutABrokenCharacter() {
        var body = body(.lines)
        let line = String(repeating: "x", count: 64 << 10)
        #expect(body.add(Data(line.utf8) + [0xC3]) == text(line))
        #expect(body.add(Data([0xA4, 0x0A])) == text("\u{E4}\n"))
        #expect(body.end() == Data())
    }

    /// The last lead bytes of each length, and the first ones.
    @Test(arguments: ["\u{80}", "\u{7FF}", "\u{800}", "\u{FFFD}", "\u{10000}", "\u{10FFFF}"])
    func splitsLongLinesBetweenCharacters(character: String) {
        let line = String(repeating: "x", count: 64 << 10)
        let bytes = Data(character.utf8)
        for count in 1..<bytes.count {
            var body = self.body(.lines)
            #expect(body.add(Data(line.utf8) + bytes.prefix(count)) == text(line), "\(count)")
            #expect(body.add(bytes.dropFirst(count) + Data("\n".utf8)) == text("\(character)\n".printableLines))
        }
        var body = self.body(.lines)
        #expect(body.add(Data((line + character).utf8)) == text(line + character.printable))
        #expect(body.end() == Data("\n".utf8))
    }

    @Test func keepsALineBreakTogether() {
        var body = body(.lines)
        let line = String(repeating: "x", count: 64 << 10)
        #expect(body.add(Data((line + "\r").utf8)) == text(line))
        #expect(body.add(Data("\n".utf8)) == text("\r\n"))
        #expect(body.end() == Data())
    }

    @Test func charsetsOfASCIIAreNotConverted() {
        for charset in ["UTF-8", "utf8", "US-ASCII", "ascii"] {
            #expect(PrintedBody.Mode.forReader(of: MediaType("text/plain; charset=\(charset)")) == .lines)
        }
        #expect(PrintedBody.Mode.forReader(of: MediaType("text/plain; charset=latin1")) == .convertedLines)
    }

    @Test func formatsJSONWhenItIsWhole() {
        var body = body(.formatted, "application/json")
        #expect(body.add(Data(#"{"a":"#.utf8)) == .nothing)
        #expect(body.add(Data("1}".utf8)) == .nothing)
        #expect(body.end() == Data("{\n  \"a\": 1\n}\n".utf8))
    }

    @Test func printsJSONAsItIsOnceItIsTooLargeToFormat() {
        var body = body(.formatted, "application/json")
        let large = Data(repeating: 0x20, count: (8 << 20) + 1)
        #expect(body.add(large) == .text(large))
        #expect(body.add(Data("1".utf8)) == .nothing)
        #expect(body.end() == Data("1\n".utf8))
    }

    @Test func findsThatABodyIsBinaryForReadersOnly() {
        var shown = body(.lines)
        #expect(shown.add(Data("a\n".utf8)) == text("a\n"))
        #expect(shown.add(Data([0x62, 0])) == .binary)
        var passed = body(.streamed, isForReader: false)
        #expect(passed.add(Data([0x62, 0])) == .text(Data([0x62, 0])))
    }

    @Test func convertsWideTextAtTheEnd() {
        var wide = body(.convertedLines, "text/plain; charset=utf-16")
        #expect(wide.add(Data([0xFF, 0xFE, 0x61, 0])) == .nothing)
        #expect(wide.end() == Data("a\n".utf8))
    }

    @Test func wideTextIsWideFromItsBeginning() {
        var body = body(.lines)
        #expect(body.add(Data("a\n".utf8)) == text("a\n"))
        #expect(body.add(Data([0xFF, 0xFE, 0x61, 0x0A])) == text("\u{FFFD}\u{FFFD}a\n"))
    }

    @Test func wideTextHasALimit() {
        var wide = body(.convertedLines, "text/plain; charset=utf-16")
        #expect(wide.add(Data([0xFF, 0xFE]) + Data(repeating: 0x61, count: (8 << 20) - 2)) == .nothing)
        #expect(wide.add(Data([0x61])) == .binary)
    }

    @Test func holdsTheBeginningBackUpToALimit() {
        var body = body(.streamed, isForReader: false)
        body.isHeld = true
        #expect(body.add(Data("some".utf8)) == .nothing)
        #expect(body.rest(behind: Data("head ".utf8)) == Data("head some".utf8))
        var held = self.body(.streamed, isForReader: false)
        held.isHeld = true
        #expect(held.add(Data(repeating: 0x61, count: 1 << 20)) == .nothing)
        let large = Data(repeating: 0x61, count: 1 << 20)
        #expect(body.add(large) == .text(Data("some".utf8) + large))
        #expect(body.add(Data("b".utf8)) == text("b"))
    }

    @Test func printsNothingOfADiscardedBody() {
        var body = body(.discarded)
        #expect(body.add(Data([0x61, 0])) == .nothing)
        #expect(body.end() == Data())
    }
}
