/// The reason and the position of a syntax error in JSON. Contains nothing of the text.
public struct JSONParseError: Error, Sendable, Hashable {
    /// The kind of a syntax error.
    public enum Reason: String, Sendable, Hashable {
        /// The text is empty.
        case empty = "the text is empty"
        /// The text ends inside a value.
        case unexpectedEnd = "the text ends inside a value"
        /// A value was expected.
        case unexpectedByte = "a value was expected"
        /// A word other than true, false and null.
        case invalidLiteral = "only true, false and null are words"
        /// A number starts with a superfluous zero.
        case leadingZero = "a number starts with a superfluous zero"
        /// A number lacks digits.
        case invalidNumber = "a number has no digits where they must be"
        /// A control character in a string isn't escaped.
        case controlCharacter = "a string contains a bare control character"
        /// An unknown escape in a string.
        case invalidEscape = "an escape is unknown"
        /// A `\u` without four hexadecimal digits.
        case invalidUnicodeEscape = "a \\u escape has not four hexadecimal digits"
        /// One half of a surrogate pair.
        case loneSurrogate = "a \\u escape is half of a surrogate pair"
        /// A string isn't valid UTF-8.
        case invalidUTF8 = "a string is not valid UTF-8"
        /// The key of a member was expected.
        case expectedKey = "the key of a member was expected"
        /// A colon was expected.
        case expectedColon = "a colon was expected"
        /// A comma or `]` was expected.
        case expectedCommaOrBracket = "a comma or ] was expected"
        /// A comma or `}` was expected.
        case expectedCommaOrBrace = "a comma or } was expected"
        /// No value follows a comma.
        case trailingComma = "a comma is followed by no value"
        /// An object has two members of one name, which the caller refuses.
        case repeatedKey = "an object has two members of one name"
        /// Something follows the value.
        case trailingBytes = "something follows the value"
        /// Arrays and objects are nested too deeply.
        case tooDeep = "arrays and objects are nested too deeply"
        /// The text is larger than the limit.
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

    /// Creates an error at `offset`. Counts the lines before it.
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
