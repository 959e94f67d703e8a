import Foundation
import Testing

@testable import SwiftAF

/// Rows of a table in Tests/Fixtures, which the tests of the C core read, too: fields with tabs between them, `\xHH` an
/// octet.
private enum SharedTable {
    static func rows(_ name: String, fields: Int) throws -> [[String]] {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../Fixtures").standardizedFileURL
        let text = try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
        let rows = text.split(separator: "\n").filter { !$0.hasPrefix("#") }
            .map { $0.split(separator: "\t", omittingEmptySubsequences: false).map { decode($0) } }
        for row in rows { try #require(row.count == fields, "\(row)") }
        return rows
    }

    private static func decode(_ text: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\"), rest.first == UInt8(ascii: "x"),
                let octet = UInt8(String(decoding: rest.dropFirst().prefix(2), as: UTF8.self), radix: 16)
            else {
                bytes.append(byte)
                continue
            }
            bytes.append(octet)
            rest = rest.dropFirst(3)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// Swift decides nothing about URLs, fields and dates that the core decides: it gives the same answers for the same
/// table.
@Suite struct CoreRulesTests {
    @Test func validatesURLsAndOriginsLikeC() throws {
        let rows = try SharedTable.rows("urls.txt", fields: 3)
        #expect(rows.count > 60)
        for row in rows {
            let (url, verdict, origin) = (row[0], row[1], row[2])
            let request = HTTPRequest(url)
            if verdict == "ok" {
                #expect(throws: Never.self, "\(url)") { try request.validate() }
                #expect(CoreURL.origin(of: url) == origin)
                #expect(Origin(url) == Origin(origin))
                #expect(URLText(url).port == URLText(origin).port, "\(url)")
            } else {
                let error = #expect(throws: SessionError.self, "\(url)") { try request.validate() }
                #expect(error?.code == .invalidInput)
                #expect(error?.message.contains(verdict) == true, "\(url): \(error?.message ?? "")")
                #expect(Origin(url) == nil, "\(url)")
            }
        }
    }

    @Test func parsesHTTPDatesLikeC() throws {
        let rows = try SharedTable.rows("dates.txt", fields: 3)
        #expect(rows.count > 40)
        for row in rows {
            let now = Date(timeIntervalSince1970: try #require(TimeInterval(row[1])))
            let date = HTTPDate.parse(row[0], now: now)
            #expect(date?.timeIntervalSince1970 == TimeInterval(row[2]), "\(row)")
        }
    }

    @Test func internationalisedHostEqualsItsALabels() {
        // Nil for both if this libcurl has no IDN.
        let origin = Origin("https://xn--bcher-kva.example")
        for url in ["https://bücher.example/", "https://BÜCHER.example:443/x", "https://bücher.example./"] {
            #expect(Origin(url) == (LibraryVersions.current.features.contains("IDN") ? origin : nil), "\(url)")
        }
        #expect(Origin("https://bücher.example:444/") != origin)
        #expect(Origin("https://a\u{FF0F}b.example/") == nil)
    }

    @Test(arguments: ["", "//", "a:", "http://@:/?#", "http://ä@ö:ü/é?è#ê"])
    func partsRebuildOriginalURLText(url: String) {
        let parts = URLText(url)
        let rebuilt = [
            parts.scheme.map { "\($0):" }, parts.host == nil ? nil : "//", parts.userInfo.map { "\($0)@" },
            parts.host.map(String.init), parts.portText.map { ":\($0)" }, String(parts.path),
            parts.query.map { "?\($0)" },
            parts.fragment.map { "#\($0)" },
        ]
        #expect(rebuilt.compactMap { $0 }.joined() == url)
        #expect(parts.withoutFragment == url.prefix { $0 != "#" })
    }

    @Test(
        arguments: [
            ("http://h", "http://h?a=1"), ("http://h/p?x=y#f", "http://h/p?x=y&a=1#f"),
            ("http://h/p?", "http://h/p?a=1"),
            ("http://h/p?x&", "http://h/p?x&a=1"), ("http://h/p?x?", "http://h/p?x?&a=1"),
        ])
    func appendsQueryBeforeFragment(url: String, result: String) {
        #expect(CoreURL.append(query: "a=1", to: url) == result)
        #expect(CoreURL.append(query: "", to: url) == url)
    }

    @Test(
        arguments: [
            ("", ""), ("GET", "GET"), ("a b", "a"), ("a\u{301}", "a"), ("é", ""), ("x-1!~", "x-1!~"), ("\0", ""),
        ])
    func findsTokenAtStartOfText(text: String, token: String) {
        #expect(CoreField.token(atStartOf: Substring(text)) == token)
        #expect(CoreField.isToken(text) == (!text.isEmpty && text == token))
    }
}
