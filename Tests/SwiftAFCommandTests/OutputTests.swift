import FoundationEssentials
import Glibc
import SwiftAF
import Testing

@testable import SwiftAFCommand

@Suite struct ProgressBarTests {
    private func line(
        _ received: Int64, of total: Int64?, sent: Int64 = 0, sentTotal: Int64? = 0,
        after elapsed: Duration = .seconds(2), width: Int = 80
    ) -> String {
        let progress = TransferProgress(sent: sent, sentTotal: sentTotal, received: received, receivedTotal: total)
        return ProgressBar(progress: progress, elapsed: elapsed).line(width: width)
    }

    @Test func showsProgressOfDownload() {
        #expect(
            line(64 << 20, of: 256 << 20)
                == " 25% [=======>                     ] 64.0 MiB/256.0 MiB    32.0 MiB/s  0:06 left")
        #expect(
            line(256 << 20, of: 256 << 20)
                == "100% [============================] 256.0 MiB/256.0 MiB   128.0 MiB/s  0:00 left")
    }

    @Test func uploadUntilItIsSent() {
        #expect(line(0, of: nil, sent: 1 << 20, sentTotal: 4 << 20).hasPrefix(" 25% ["))
        #expect(line(0, of: nil, sent: 1 << 20, sentTotal: nil).hasPrefix("| 1.0 MiB  "))
        #expect(line(5, of: 10, sent: 4 << 20, sentTotal: 4 << 20).hasPrefix(" 50% ["))
        #expect(line(0, of: nil, sent: 0, sentTotal: 10).hasPrefix("| 0 B "))
        #expect(line(0, of: nil, sent: 4 << 20, sentTotal: 4 << 20).hasPrefix("| 0 B "))
        // A server may respond before it has the body.
        #expect(line(1, of: 10, sent: 1 << 20, sentTotal: 4 << 20).hasPrefix(" 10% ["))
    }

    @Test func withoutATotal() {
        #expect(line(3 << 20, of: nil) == "| 3.0 MiB     1.5 MiB/s  0:02")
        #expect(line(0, of: nil, after: .zero) == "| 0 B         0 B/s  0:00")
        #expect(line(10, of: 0) == "| 10 B         5 B/s  0:02")
    }

    @Test func showsUnknownTimeLeftWithoutSpeed() {
        #expect(line(0, of: 1 << 20).hasSuffix("-:-- left"))
        #expect(line(1, of: 1 << 50).hasSuffix("-:-- left"))
        #expect(line(1, of: 360_000, after: .seconds(1)).hasSuffix("  99:59:59 left"))
        #expect(line(1, of: 360_001, after: .seconds(1)).hasSuffix("  -:-- left"))
    }

    @Test func moreThanAnnounced() {
        #expect(line(20, of: 10).hasPrefix("100% ["))
    }

    @Test func whatWasThereBeforeIsDoneButDidNotMove() {
        let progress = TransferProgress(received: 32 << 20, receivedTotal: 64 << 20, offset: 64 << 20)
        #expect(
            ProgressBar(progress: progress, elapsed: .seconds(2)).line(width: 80)
                == " 75% [=====================>       ] 96.0 MiB/128.0 MiB    16.0 MiB/s  0:02 left")
        let endless = TransferProgress(received: .max, receivedTotal: .max, offset: 1)
        #expect(ProgressBar(progress: endless, elapsed: .seconds(2)).line(width: 80).hasPrefix("100% ["))
    }

    @Test(arguments: 0...130)
    func neverWiderThanTheTerminal(width: Int) {
        #expect(line(64 << 20, of: 256 << 20, width: width).count <= width)
        #expect(line(64 << 20, of: nil, width: width).count <= width)
    }

    @Test func narrowTerminalsKeepTheNumbers() {
        #expect(line(1, of: 4, width: 13) == " 25%  1 B/4 B")
        let bar = (0...80).map { line(1, of: 4, width: $0) }.first { $0.contains("[") } ?? ""
        #expect(bar.hasPrefix(" 25% [==>       ] 1 B/4 B"))
    }
}

@Suite struct FormatTests {
    @Test(
        arguments: [
            (0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536, "1.5 KiB"), (1_048_575, "1.0 MiB"),
            (1_048_494, "1023.9 KiB"),
            (64 << 20, "64.0 MiB"), (5 << 40, "5.0 TiB"), (Int64.max, "8.0 EiB"),
        ] as [(Int64, String)])
    func formatsBytesInBinaryUnits(count: Int64, text: String) {
        #expect(Format.bytes(count) == text)
    }

    @Test(arguments: [(1.005, 1, "1.0"), (0.05, 1, "0.1"), (-1.25, 1, "-1.3"), (12, 0, "12"), (0.001, 2, "0.00")])
    func formatsDecimalsWithFixedDigits(value: Double, digits: Int, text: String) {
        #expect(Format.decimal(value, digits: digits) == text)
    }

    @Test(arguments: [(0, "0:00"), (7, "0:07"), (750, "12:30"), (3723, "1:02:03"), (-5, "0:00")])
    func formatsSecondsAsClock(seconds: Int64, text: String) {
        #expect(Format.clock(.seconds(seconds)) == text)
    }

    @Test func formatsDurationInMilliseconds() {
        #expect(Duration.microseconds(1234).fractionalMilliseconds == 1.234)
        #expect(Format.milliseconds(.microseconds(1250)) == "1.3 ms")
    }

    /// Lines continue with an indentation, for which there has to be room.
    @Test(arguments: [
        ("1234567890 12345678901 x", 22, "1234567890 12345678901\n  x"),
        ("1234567890 123456789012 x", 22, "1234567890\n  123456789012 x"),
        ("1234567890 12345678901 x", 21, "1234567890 12345678901 x"),
    ])
    func linesAreWrappedBetweenWords(text: String, columns: Int, wrapped: String) {
        #expect(text.wrapped(columns: columns) == wrapped)
    }

    @Test(arguments: [(299, "32"), (300, "33"), (399, "33"), (400, "31")])
    func coloursOfHeadsFollowTheStatus(status: Int, colour: String) {
        let response = HTTPResponse(status: status, url: "http://h/")
        #expect(Style(isColoured: true).text(of: response).hasPrefix("\u{1B}[\(colour)mHTTP/"))
    }

    @Test func terminalsWithoutASizeHaveEightyColumns() throws {
        let descriptor = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        #expect(DescriptorSink(descriptor: descriptor).columns == 80)
        var size = winsize(ws_row: 1, ws_col: 7, ws_xpixel: 0, ws_ypixel: 0)
        #expect(ioctl(descriptor, UInt(TIOCSWINSZ), &size) == 0)
        #expect(DescriptorSink(descriptor: descriptor).columns == 7)
    }

    @Test func controlCharactersAreShown() {
        #expect("a\u{1B}[31m\u{9B}b\tä".printable == "a\\u{1B}[31m\\u{9B}b\\u{9}ä")
        // What changes the order of text, or begins a line.
        for scalar in "\u{61C}\u{200E}\u{200F}\u{202A}\u{202E}\u{2066}\u{2069}\u{2028}\u{2029}".unicodeScalars {
            let number = String(scalar.value, radix: 16, uppercase: true)
            #expect(String(scalar).printable == "\\u{\(number)}")
            #expect(String(scalar).printableLines == "\\u{\(number)}")
        }
        #expect("\u{200D}\u{A0}\u{2030}".printable == "\u{200D}\u{A0}\u{2030}")
    }
}

@Suite struct WireLogTests {
    private func lines(_ event: WireTrace.Event) -> [String] { WireLog.lines(WireTrace(event)) }

    @Test func headsLineByLine() {
        #expect(
            lines(.requestHead(Array("GET /\u{1B} HTTP/1.1\r\nX: \u{E4}\r\n\r\n".utf8)))
                == ["> GET /\\u{1B} HTTP/1.1", "> X: \u{E4}", ">"])
        #expect(lines(.responseLine(Array("X: ".utf8) + [0xE4, 0x0D, 0x0A])) == ["< X: \u{E4}"])
        #expect(lines(.responseLine([0x0D, 0x0A])) == ["<"])
        #expect(lines(.responseLine(Array("cut".utf8))) == ["< cut"])
    }

    @Test func describesConnectionOnOneLine() {
        #expect(lines(.connection(.init(address: "::1", port: 80))) == ["* connected to ::1 port 80"])
        #expect(lines(.connection(.init(address: nil, port: 0))) == ["* connected to a Unix-domain socket"])
        let full = WireTrace.Connection(
            address: "10.0.0.1", port: 443, isProxy: true, isReused: true, tlsVersion: "TLSv1.3", cipher: "TLS_X",
            applicationProtocol: "h2", certificateSubject: "CN=h\u{1B}")
        #expect(
            lines(.connection(full)) == [
                "* reusing the connection to 10.0.0.1 port 443 (proxy), TLSv1.3, TLS_X, ALPN h2, certificate CN=h\\u{1B}"
            ])
    }
}

@Suite struct JSONTextTests {
    @Test(
        arguments: [
            (#"{"a":1.10,"a":2,"b":[]}"#, "{\n  \"a\": 1.10,\n  \"a\": 2,\n  \"b\": []\n}"),
            (" [ 1 , { } ,[ ] , \"a,b\\\"]\" ] ", "[\n  1,\n  {},\n  [],\n  \"a,b\\\"]\"\n]"),
            (#"12345678901234567890.50e+10"#, "12345678901234567890.50e+10"),
            (#""\u00e4\/ä""#, #""\u00e4\/ä""#), ("null", "null"), ("{}", "{}"),
            (#"{"x":{"y":[true]}}"#, "{\n  \"x\": {\n    \"y\": [\n      true\n    ]\n  }\n}"),
        ])
    func tokensStayAsTheyAre(text: String, pretty: String) throws {
        let json = try JSONText(Array(text.utf8))
        #expect(String(decoding: json.pretty.bytes, as: UTF8.self) == pretty)
        #expect(json.pretty.compact == json.compact)
        #expect(String(decoding: json.bytes, as: UTF8.self) == text)
    }

    @Test(arguments: [(" 1.10\n", "1.10"), ("-0", "-0"), (#""1""#, "1"), (" [1, 2] ", "[1, 2]"), ("null", "null")])
    func formsGetStringsWithoutQuotesAndTheRestAsWritten(json: String, sent: String) throws {
        #expect(String(decoding: try JSONText(Array(json.utf8)).textInForm, as: UTF8.self) == sent)
    }

    @Test func dropsByteOrderMark() throws {
        #expect(try JSONText([0xEF, 0xBB, 0xBF] + Array("[1]".utf8)).bytes == Array("[1]".utf8))
    }

    @Test func refusesNumberWithLeadingZero() {
        #expect(throws: JSONParseError.self) { try JSONText(Array("01".utf8)) }
    }
}

@Suite struct TimingsTests {
    @Test func oneHopEach() {
        let first = HopMetrics(url: "http://u:p@h/", status: 302, dnsDone: .zero, firstByte: .microseconds(1500))
        let second = HopMetrics(url: "http://h/2", total: .milliseconds(3), isReused: true)
        #expect(
            Timings.lines(ResponseMetrics(hops: [first, second])) == [
                "302 http://h/", "    dns 0.0 ms  first byte 1.5 ms",
                "--- http://h/2", "    total 3.0 ms  connection reused",
            ])
    }
}

@Suite struct ReportTests {
    private static let keys = [
        "ok", "status", "version", "url", "headers", "body", "bodyBase64", "bodyBytes", "json", "file", "redirects",
        "timings", "reused", "sent", "received", "error",
    ]

    @Test func reportOfUsageErrorHasOnlyNulls() throws {
        let value = Report(outcome: Outcome(failure: Failure(UsageError("wrong")))).value
        #expect(value.object?.keys == Self.keys)
        #expect(value["ok"] == false)
        #expect(value["error"] == ["code": "usage", "message": "wrong", "reason": nil, "resumable": false])
        for key in Self.keys.dropFirst().dropLast() { #expect(value[key] == .null) }
    }

    @Test func reportOfResponseHasAllFields() throws {
        var transfer = TransferOutcome()
        let headers: HTTPHeaders = [("Content-Type", "application/json"), ("X", "1"), ("x", "2")]
        transfer.response = HTTPResponse(status: 200, version: .http2, headers: headers, url: "https://h/")
        transfer.url = "https://u:p@h/"
        transfer.body = Data(#"{"a":1}"#.utf8)
        transfer.bodyBytes = 7
        transfer.json = try JSONText(Array("{\"a\": 1}".utf8))
        transfer.locations = ["//x:y@h/2"]
        transfer.metrics = ResponseMetrics(hops: [
            HopMetrics(
                url: "http://u:p@h/1", status: 302, location: "http://x:y@h/2", total: .milliseconds(1), bytesSent: 2),
            HopMetrics(
                url: "https://h/", status: 200, dnsDone: .zero, connectDone: .microseconds(200),
                tlsDone: .microseconds(3100),
                firstByte: .milliseconds(5), total: .microseconds(5200), bytesReceived: 7, isReused: true),
        ])
        #expect(
            try Report(outcome: Outcome(.transfer(transfer))).text(isForTerminal: false) == """
                {"ok":true,"status":200,"version":"2","url":"https://h/",\
                "headers":[["Content-Type","application/json"],["X","1"],["x","2"]],\
                "body":"{\\"a\\":1}","bodyBase64":null,"bodyBytes":7,"json":{"a":1},"file":null,\
                "redirects":[{"status":302,"url":"http://h/1","location":"//h/2"}],\
                "timings":{"dns":1.0,"connect":1.2,"tls":4.1,"firstByte":6.0,"total":6.2},\
                "reused":true,"sent":2,"received":7,"error":null}

                """)
    }

    /// A hop without a location is a request that was repeated, such as with credentials.
    @Test func redirectsAreHopsWithALocation() {
        var transfer = TransferOutcome()
        transfer.locations = ["/2"]
        transfer.metrics = ResponseMetrics(hops: [
            HopMetrics(url: "http://h/1", status: 401),
            HopMetrics(url: "http://h/1", status: 302, location: "http://h/2"),
            HopMetrics(url: "http://h/2", status: 200),
        ])
        let redirects = Report(outcome: Outcome(.transfer(transfer))).value["redirects"]
        #expect(redirects == [["status": 302, "url": "http://h/1", "location": "/2"]])
    }

    @Test func bodiesThatAreNoText() {
        var outcome = Outcome(.transfer(TransferOutcome(body: Data([0xFF, 0x00]))))
        #expect(Report(outcome: outcome).value["body"] == .null)
        #expect(Report(outcome: outcome).value["bodyBase64"] == "/wA=")
        outcome.transfer?.body = Data()
        #expect(Report(outcome: outcome).value["body"] == "")
        #expect(Report(outcome: outcome).value["bodyBase64"] == .null)
    }
}

@Suite struct FailureTests {
    @Test(
        arguments: [
            (.invalidInput, 1, "invalidInput"), (.unsupported, 1, "invalidInput"), (.status, 2, "status"),
            (.dns, 3, "dns"),
            (.connect, 3, "connect"), (.connectionLost, 3, "connectionLost"), (.truncated, 3, "truncated"),
            (.protocol, 3, "protocol"), (.redirect, 3, "redirect"), (.bodyNotReplayable, 3, "redirect"),
            (.timeout, 4, "timeout"), (.untrusted, 5, "untrusted"), (.tls, 5, "tls"), (.tooLarge, 6, "tooLarge"),
            (.authentication, 7, "authentication"), (.file, 8, "file"), (.bodySource, 8, "file"),
            (.serialization, 9, "serialization"), (.contentType, 9, "serialization"), (.cancelled, 130, "cancelled"),
            (.outOfMemory, 70, "outOfMemory"), (.unknown, 70, "unknown"),
        ] as [(SessionError.Code, Int32, String)])
    func errorCodesMapToExitStatuses(code: SessionError.Code, exit: Int32, name: String) {
        let failure = Failure(SessionError(code, reason: .idle, message: "why"))
        #expect(failure.exit.rawValue == exit)
        #expect(failure.code.name == name)
        #expect(failure.message.contains("why") || code == .cancelled)
        #expect(failure.reason == (code == .timeout || code == .untrusted ? "idle" : nil))
    }
}
