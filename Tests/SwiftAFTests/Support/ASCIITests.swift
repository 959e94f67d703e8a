import Testing

@testable import SwiftAF

@Suite struct ASCIITests {
    @Test(arguments: [
        "\0", "\n", "\u{1B}", "\u{7F}", "\u{9B}", "\u{61C}", "\u{200E}", "\u{200F}", "\u{2028}", "\u{2029}", "\u{202A}",
        "\u{202E}", "\u{2066}", "\u{2069}",
    ])
    func replacesUnsafeCharacters(text: String) {
        #expect(ASCII.printable("a\(text)b") == "a\u{FFFD}b")
    }

    @Test(arguments: [
        " ", "~", "\u{A0}", "ä", "\u{61B}", "\u{200D}", "\u{2010}", "\u{202F}", "\u{2065}", "\u{206A}", "𝄞",
    ])
    func keepsOtherCharacters(text: String) {
        #expect(ASCII.printable("a\(text)b") == "a\(text)b")
    }

    @Test func truncatesToALimit() {
        #expect(ASCII.printable("abc", limit: 2) == "ab…" && ASCII.printable("abc", limit: 3) == "abc")
    }
}
