import AFTestServer
import Testing

@testable import SwiftAFCommand

/// Names that URLs give files.
@Suite struct FileNameTests {
    @Test(
        arguments: [
            ("http://host/film.mp4", "film.mp4"),
            ("http://host:80/a/b/film.tar.gz?x=/y.z#/w", "film.tar.gz"),
            ("https://ada:se/cret@host/film", "film"),
            ("http://host//film", "film"),
            ("http://host/a%20b%C3%A4.txt", "a bä.txt"),
            ("http://host/a b.txt", "a b.txt"),
            ("http://host/100%", "100%"),
            ("http://host/100%+4%4", "100%+4%4"),
            ("http://host/-o", "-o"),
            ("http://host/a..b", "a..b"),
            ("http://host/x?a=b//c", "x"),
        ])
    func takesLastPathComponentOfURL(url: String, name: String) throws {
        #expect(try FileName.of(url: url) == name)
    }

    @Test(
        arguments: [
            "http://host", "http://host/", "http://host?x=/y", "http://host#/y", "http://host/folder/", "host", "",
            "http://host/.", "http://host/..", "http://host/.bashrc", "http://host/%2e%2E", "http://host/%2Ebashrc",
            "http://host/..%2F..%2Fetc%2Fpasswd", "http://host/a%2Fb", "http://host/a%00", "http://host/a%0Ab",
            "http://host/%1B%5B2J", "http://host/a%C2%85", "http://host/%FF%FE",
        ])
    func refusesURLWithoutUsableFileName(url: String) {
        let error = #expect(throws: UsageError.self) { try FileName.of(url: url) }
        #expect(error?.message.contains("-o names the file") == true)
        #expect(error?.message.unicodeScalars.contains { $0.properties.generalCategory == .control } == false)
    }

    /// The system limits names to 255 bytes, of which a partial file needs some.
    @Test func longNamesStayApart() async throws {
        let long = String(repeating: "n", count: 230)
        let names = try ["A", "B"].map { try FileName.of(url: "http://h/\(long)\($0).txt") }
        #expect(names[0] != names[1])
        for name in names { #expect(name.utf8.count <= 223 && name.hasPrefix("nnn") && name.hasSuffix(".txt")) }
        let server = try TestServer()
        let folder = try TemporaryFolder()
        server.route("/\(long)A", .text("one"))
        server.route("/\(long)B", .text("two"))
        for name in ["A", "B"] {
            #expect(await swiftaf("download", server.urlString("/\(long)\(name)"), "-P", folder.path).exit == 0)
        }
        #expect(folder.names.count == 2)
    }
}
