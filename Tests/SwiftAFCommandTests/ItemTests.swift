import SwiftAF
import Testing

@testable import SwiftAFCommand

/// Text that is JSON.
private func json(_ text: String) -> FieldValue {
    (try? JSONText(Array(text.utf8))).map(FieldValue.json) ?? "not JSON"
}

@Suite struct ItemTests {
    @Test(
        arguments: [
            ("Name:value", .header(name: "Name", value: "value")),
            ("Name: value", .header(name: "Name", value: " value")),
            ("Name:", .removedHeader(name: "Name")),
            ("Referer:http://h/?a==b", .header(name: "Referer", value: "http://h/?a==b")),
            ("q==a b", .query(name: "q", value: "a b")),
            ("q==", .query(name: "q", value: "")),
            ("name=Ada", .field(name: "name", value: "Ada")),
            ("name=", .field(name: "name", value: "")),
            ("mail=ada@example.org", .field(name: "mail", value: "ada@example.org")),
            ("born:=1815", .field(name: "born", value: json("1815"))),
            ("tags:=[\"a\", null]", .field(name: "tags", value: json("[\"a\", null]"))),
            ("text=@/tmp/a=b", .fieldFromFile(name: "text", path: "/tmp/a=b")),
            ("photo@/tmp/a.png", .filePart(name: "photo", FilePart(source: .file("/tmp/a.png")))),
            ("p@a;b;typ=c", .filePart(name: "p", FilePart(source: .file("a;b;typ=c")))),
            ("p@a;type=image/png", .filePart(name: "p", FilePart(source: .file("a"), mediaType: "image/png"))),
            ("p@a;filename=b;c.png", .filePart(name: "p", FilePart(source: .file("a"), fileName: "b;c.png"))),
            (
                "p@a;filename=ä;type=a/b; c=d",
                .filePart(name: "p", FilePart(source: .file("a"), mediaType: "a/b; c=d", fileName: "ä"))
            ),
            (#"p@a\;type=b;type=c/d"#, .filePart(name: "p", FilePart(source: .file("a;type=b"), mediaType: "c/d"))),
            ("ä=ö", .field(name: "ä", value: "ö")),
        ] as [(String, Item)])
    func parsesEveryKindOfItem(argument: String, item: Item) throws {
        #expect(try Item(RawText(argument)) == item)
    }

    @Test(
        arguments: [
            (#"a\=b=c"#, .field(name: "a=b", value: "c")),
            (#"a\:b=c"#, .field(name: "a:b", value: "c")),
            (#"a\@b=c"#, .field(name: "a@b", value: "c")),
            (#"a\:=c"#, .field(name: "a:", value: "c")),
            (#"a=\@path"#, .field(name: "a", value: "@path")),
            (#"a:\=b"#, .header(name: "a", value: "=b")),
            (#"a=\=b"#, .field(name: "a", value: "=b")),
            // Before anything else a backslash stands for itself, and two of them escape nothing.
            (#"a\b=c\d"#, .field(name: #"a\b"#, value: #"c\d"#)),
            (#"a\\=c"#, .field(name: #"a\\"#, value: "c")),
            (#"a=c\"#, .field(name: "a", value: #"c\"#)),
            (#"a:="x\\ny""#, .field(name: "a", value: json(#""x\\ny""#))),
        ] as [(String, Item)])
    func backslashEscapesSeparatorsOfItem(argument: String, item: Item) throws {
        #expect(try Item(RawText(argument)) == item)
    }

    @Test(arguments: [
        ("A:b", "b"), ("A: b", "b"), ("A:\tb", "b"), ("A: \t b c ", "b c "), ("A;", ""), ("A:;", ";"),
    ])
    func curlsHeadersLoseLeadingBlanks(line: String, value: String) throws {
        #expect(try Item.curlHeader(RawText(line), of: "-H") == .header(name: "A", value: RawText(value)))
    }

    @Test(arguments: ["A:", "A: ", "A:\t"]) func curlsHeadersWithoutAValueAreRemoved(line: String) throws {
        #expect(try Item.curlHeader(RawText(line), of: "-H") == .removedHeader(name: "A"))
    }

    /// A separator followed by a combining mark is one character to a reader, and still a separator.
    @Test func separatorsAreBytes() throws {
        #expect(try Item("a=\u{301}b") == .field(name: "a", value: "\u{301}b"))
    }

    @Test func bytesThatAreNotUTF8StayWhereBytesBelong() throws {
        let value = RawText([0x61, 0xFF])
        #expect(try Item(RawText(Array("n=".utf8) + value.bytes)) == .field(name: "n", value: .text(value)))
        #expect(try Item(RawText(value.bytes + Array("=v".utf8))) == .field(name: value, value: "v"))
        #expect(
            try Item(RawText(Array("n@".utf8) + value.bytes)) == .filePart(name: "n", FilePart(source: .file(value))))
        #expect(try Item(RawText(Array("n:".utf8) + value.bytes)) == .header(name: "n", value: value))
        for wrong in ["n==", "n:="] {
            #expect(throws: UsageError.self) { try Item(RawText(Array(wrong.utf8) + value.bytes)) }
        }
        for wrong in [":v", "==v"] {
            #expect(throws: UsageError.self) { try Item(RawText(value.bytes + Array(wrong.utf8))) }
        }
    }

    @Test(arguments: [
        ("word", "isn't a valid item"), ("", "isn't a valid item"), (";", "isn't a valid item"),
        (#"a\=b"#, "isn't a valid item"),
        ("=x", "has no name"), (":x", "has no name"), ("==x", "has no name"), (":=1", "has no name"),
        ("a@", "needs the path"), ("a@;type=b/c", "needs the path"), ("a@b;type=", "invalid media type of 'a@…'"),
        ("a@b;type=c/d;type=c/d", "given twice"), ("a@b;filename=c;filename=c", "given twice"),
        ("a@b;filename=", "empty"),
        ("a:={", "the value of 'a' is not JSON"), ("a:=", "the value of 'a' is not JSON"),
    ])
    func refusesInvalidItemWithReason(argument: String, message: String) {
        let error = #expect(throws: UsageError.self) { try Item(RawText(argument)) }
        #expect(error?.message.contains(message) == true)
    }
}
