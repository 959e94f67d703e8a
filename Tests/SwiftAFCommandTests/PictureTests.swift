import AFTestServer
import FoundationEssentials
import SwiftAF
import SwiftAFImage
import Testing

@testable import SwiftAFCommand

/// An image of these pixels, each red, green, blue and alpha.
private func image(_ rows: [[[UInt8]]]) throws -> Image {
    let bytes = rows.flatMap { $0.flatMap { $0 } }
    return try #require(
        Image(pixelWidth: rows[0].count, pixelHeight: rows.count) { pixels in pixels.copyBytes(from: bytes) })
}

@Suite struct TerminalGraphicsTests {
    private let red: [UInt8] = [255, 0, 0, 255], blue: [UInt8] = [0, 0, 255, 255], clear: [UInt8] = [9, 9, 9, 0]

    private func blocks(_ rows: [[[UInt8]]]) throws -> String {
        String(decoding: TerminalGraphics.halfBlocks.text(of: try image(rows)), as: UTF8.self)
    }

    @Test func twoPixelsAreOneCell() throws {
        #expect(
            try blocks([[red, red], [blue, blue]])
                == "\u{1B}[38;2;255;0;0m\u{1B}[48;2;0;0;255m\u{2580}\u{2580}\u{1B}[0m\n")
    }

    @Test func coloursAreSaidWhereTheyChange() throws {
        #expect(
            try blocks([[red, blue, blue], [red, red, blue]])
                == "\u{1B}[38;2;255;0;0m\u{1B}[48;2;255;0;0m\u{2580}\u{1B}[38;2;0;0;255m\u{2580}"
                + "\u{1B}[48;2;0;0;255m\u{2580}\u{1B}[0m\n")
    }

    @Test func whatLetsThroughIsTheTerminalsOwnColour() throws {
        #expect(
            try blocks([[red, clear, clear], [clear, blue, clear]])
                == "\u{1B}[38;2;255;0;0m\u{2580}\u{1B}[38;2;0;0;255m\u{2584} \u{1B}[0m\n")
        #expect(try blocks([[red, clear], [blue, clear]]).hasSuffix("\u{2580}\u{1B}[49m \u{1B}[0m\n"))
        #expect(try blocks([[clear, clear], [clear, clear]]) == "  \n")
    }

    @Test func theLastRowMayStandAlone() throws {
        let text = try blocks([[red], [red], [blue]])
        #expect(text.hasSuffix("\u{1B}[0m\n\u{1B}[38;2;0;0;255m\u{2580}\u{1B}[0m\n"))
    }

    @Test func kittyIsGivenPixels() throws {
        let text = String(decoding: TerminalGraphics.kitty.text(of: try image([[red, blue]])), as: UTF8.self)
        #expect(text == "\u{1B}_Ga=T,f=32,q=2,s=2,v=1,m=0;/wAA/wAA//8=\u{1B}\\\n")
    }

    @Test func kittyIsGivenNoMoreThan4096BytesAtOnce() throws {
        let row = [[UInt8]](repeating: red, count: 80)
        let text = String(
            decoding: TerminalGraphics.kitty.text(of: try image([[[UInt8]]](repeating: row, count: 30))), as: UTF8.self)
        let pieces = text.split(separator: "\u{1B}\\").dropLast()
        let contents = pieces.map { $0.drop { $0 != ";" }.dropFirst() }
        #expect(contents.map(\.count) == [4096, 4096, 4096, 512])
        #expect(pieces.map { $0.hasPrefix("\u{1B}_Gm=1;") } == [false, true, true, false])
        #expect(pieces.first?.hasPrefix("\u{1B}_Ga=T,f=32,q=2,s=80,v=30,m=1;") == true)
        #expect(pieces.last?.hasPrefix("\u{1B}_Gm=0;") == true)
        let base64 = String(contents.joined())
        #expect(Data(base64Encoded: base64)?.count == 80 * 30 * 4)
    }

    @Test(
        arguments: [
            (["TERM": "xterm-kitty"], .kitty), (["KITTY_WINDOW_ID": "1", "TERM": "xterm-256color"], .kitty),
            (["TERM_PROGRAM": "WezTerm"], .kitty), (["TERM": "xterm-ghostty"], .kitty),
            (["TERM": "xterm-kitty", "TMUX": "/tmp/tmux"], .halfBlocks),
            (["KITTY_WINDOW_ID": "1", "TERM": "screen-256color"], .halfBlocks),
            (["TERM": "xterm-256color"], .halfBlocks), ([:], .halfBlocks),
        ] as [([String: String], TerminalGraphics)])
    func detectsGraphicsOfTerminal(environment: [String: String], graphics: TerminalGraphics) {
        #expect(TerminalGraphics(environment: environment, isTerminal: true) == graphics)
        #expect(TerminalGraphics(environment: environment, isTerminal: false) == .halfBlocks)
    }

    @Test(arguments: [0, 1, 80, 1_000_000])
    func limitsPictureToWidthOfTerminal(columns: Int) {
        #expect(TerminalGraphics.halfBlocks.room(columns: columns).width == max(1, min(columns, 1000)))
        #expect(TerminalGraphics.kitty.room(columns: columns).width == max(1, min(columns, 1000)) * 8)
    }
}

@Suite(.timeLimit(.minutes(10))) final class PictureTests {
    private let server: TestServer

    init() throws {
        server = try TestServer()
        let red = Data("P6\n200 100\n255\n".utf8) + Data((0..<20_000).flatMap { _ in [255, 0, 0] as [UInt8] })
        server.route("/red", .respond(200, headers: ["Content-Type": "image/x-portable-pixmap"], body: red))
        server.route("/text", .text("hello"))
        server.route("/missing", .status(404))
        server.route("/cut", .respond(200, body: Data("P6 200 100 255 ".utf8)))
        server.route("/bomb", .respond(200, body: Data("P6 30000 30000 255 ".utf8)))
        server.route("/empty", .respond(200))
    }

    private func picture(
        _ path: String, _ more: String..., decoder: any ImageDecoding = PixmapDecoder(),
        environment: [String: String] = [:], output: MemorySink = MemorySink()
    ) async -> RunResult {
        let error = MemorySink()
        var runner = Runner(console: Console(input: -1, output: output, error: error))
        (runner.imageDecoder, runner.environment) = (decoder, environment)
        let exit = await runner.run(["image", server.urlString(path)] + more)
        return RunResult(
            exit: exit.rawValue, output: output.content, error: String(decoding: error.content, as: UTF8.self))
    }

    @Test func aPictureIsAsWideAsTheTerminal() async {
        let run = await picture("/red")
        #expect(run.exit == 0)
        let lines = run.text.split(separator: "\n")
        #expect(lines.count == 20)
        #expect(lines.allSatisfy { $0.filter { $0 == "\u{2580}" }.count == 80 })
        #expect(server.requests.first?["Accept"] == "image/*")
    }

    @Test func kittyOnlyOnATerminal() async {
        let environment = ["TERM": "xterm-kitty"]
        let shown = await picture("/red", environment: environment, output: MemorySink(isTerminal: true))
        #expect(shown.text.hasPrefix("\u{1B}_Ga=T,f=32,q=2,s=200,v=100,"))
        let piped = await picture("/red", environment: environment)
        #expect(piped.text.hasPrefix("\u{1B}[38;2;255;0;0m"))
    }

    @Test(arguments: [("/text", 9), ("/cut", 9), ("/empty", 9), ("/missing", 2), ("/bomb", 6)])
    func failsWithoutValidPicture(path: String, exit: Int32) async {
        let run = await picture(path)
        #expect(run.exit == exit)
        #expect(!run.error.isEmpty && !run.text.contains("\u{2580}"))
        #expect(await picture(path, "--json").json["ok"] == false)
    }

    @Test func jsonIsTheObjectAndNothingElse() async {
        let run = await picture("/red", "--json")
        #expect(run.exit == 0 && run.json["ok"] == true && run.json["bodyBytes"] == 60_015)
    }

    @Test func withoutADecoderNothingIsSent() async {
        guard !SystemImageDecoder.isAvailable else { return }
        let run = await picture("/red", "--json", decoder: SystemImageDecoder())
        #expect(run.exit == 1 && run.code == "invalidInput")
        #expect(run.error.contains("Scripts/install --images"))
        #expect(server.requests.isEmpty)
    }

    @Test(.enabled(if: SystemImageDecoder.isAvailable))
    func thePackagesOwnDecoderShowsPNG() async throws {
        let blue = try image([[[0, 0, 255, 255]]])
        server.route("/blue", .respond(200, headers: ["Content-Type": "image/png"], body: try blue.data(as: .png)))
        let run = await picture("/blue", decoder: SystemImageDecoder())
        #expect(run.text == "\u{1B}[38;2;0;0;255m\u{2580}\u{1B}[0m\n")
    }

    @Test func aPictureIsNotForAFile() async {
        #expect(await picture("/red", "-o", "picture").exit == 1)
        #expect(server.requests.isEmpty)
    }
}

@Suite(.timeLimit(.minutes(10))) struct ActivityTests {
    @Test func whatLastsIsShownAndTakenOffTheScreen() async throws {
        let server = try TestServer()
        server.route("/", [.stall(at: "bar"), .text("hello")])
        let terminal = MemorySink(isTerminal: true) { _ in server.open("bar") }
        let run = await swiftaf("get", server.urlString(), error: terminal)
        #expect(run.text == "hello")
        #expect(run.error.hasPrefix("\r") && run.error.contains(" 0 B ") && run.error.hasSuffix("\r\u{1B}[K"))
    }

    @Test(arguments: [true, false])
    func quietOrPipedNothingIsShown(isTerminal: Bool) async throws {
        let server = try TestServer()
        server.route("/", .text("hello"))
        let more = isTerminal ? ["-q"] : []
        let run = await swiftaf(["get", server.urlString()] + more, error: MemorySink(isTerminal: isTerminal))
        #expect(run.error.isEmpty)
    }
}
