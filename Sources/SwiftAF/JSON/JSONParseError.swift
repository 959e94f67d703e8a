/// The reason and the position of a syntax error in JSON. Contains nothing of the text.
public struct JSONParseError: Error, Sendable, Hashable {
    /// The kind of a syntax error.
    public enum Reason: String, Sendable, Hashable {
        case empty = "the text is empty"
        case unexpectedEnd = "the text ends inside a value"
        case unexpectedByte = "a value was expected"
        case invalidLiteral = "only true, false and null are words"
        case leadingZero = "a number starts with a superfluous zero"
        case invalidNumber = "a number has no digits where they must be"
        case controlCharacter = "a string contains a bare control character"
        case invalidEscape = "an escape is unknown"
        case invalidUnicodeEscape = "a \\u escape has not four hexadecimal digits"
        case loneSurrogate = "a \\u escape is half of a surrogate pair"
        case invalidUTF8 = "a string is not valid UTF-8"
        case expectedKey = "the key of a member was expected"
        case expectedColon = "a colon was expected"
        case expectedCommaOrBracket = "a comma or ] was expected"
        case expectedCommaOrBrace = "a comma or } was expected"
        case trailingComma = "a comma is followed by no value"
        case repeatedKey = "an object has two members of one name"
        case trailingBytes = "something follows the value"
        case tooDeep = "arrays and objects are nested too deeply"
        case tooLarge = "the text is larger than the limit"
    }

    /// The kind of the error.
    public let reason: Reason
    /// The position in bytes, from 0.
    public let offset: Int
    /// The line, from 1.
    public let line: Int
    /// The position within the line in bytes, from 1.
    public let column: Int

    /// Makes an error at `offset`. Counts the lines before it.
    init(_ reason: Reason, at offset: Int, in text: UnsafeBufferPointer<UInt8>) {
        let before = text[..<min(offset, text.count)]
        let lineStart = before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
        self.reason = reason
        self.offset = offset
        line = before.count { $0 == 0x0A } + 1
        column = offset - lineStart + 1
    }
}

extension JSONParseError: CustomStringConvertible {
    public var description: String {
        "not JSON: \(reason.rawValue) (line \(line), column \(column), byte \(offset))"
    }
}
