/// A parsed JSON text: its values in order, each with its place in the text.
///
/// An array is followed by its elements, an object by its members, each a key and a value. Strings and long numbers
/// stay in the text until something asks for them. ``JSONParser`` makes tapes. A ``JSONValue`` is made from one, and
/// types are decoded from one without a tree in between: the row `json_64` of `Benchmarks/run`, and `bench-json`.
///
/// Positions aren't checked. They come from the tape: the first value is at 0, the next ones at the `end` of a token,
/// and never more of them are read than the `count` of a token says.
final class JSONTape {
    /// The text, which the tape owns only after ``keepText()``. Never written while it is read: a tape is decoded by
    /// one thread, and ``keepText()`` is called after that.
    @exclusivity(unchecked)
    private(set) var text: UnsafePointer<UInt8>
    private let size: Int
    private let tokens: UnsafeMutablePointer<JSONToken>
    private let count: Int
    private var ownsText = false

    /// - Parameters:
    ///   - text: The text that was parsed. It must outlive the tape, unless it is kept.
    ///   - tokens: At least one. The tape deallocates them.
    init(text: UnsafePointer<UInt8>, size: Int, tokens: UnsafeMutablePointer<JSONToken>, count: Int) {
        self.text = text
        self.size = size
        self.tokens = tokens
        self.count = count
    }

    deinit {
        tokens.deallocate()
        if ownsText { text.deallocate() }
    }

    /// The position of a null that isn't part of the text. It stands for a missing member.
    var absent: Int { count - 1 }

    /// The members of the object at `position`.
    @inline(__always)
    func members(of position: Int) -> JSONMembers { JSONMembers(of: position, in: tokens, text: text) }

    subscript(position: Int) -> JSONToken {
        @inline(__always) get {
            assert(position >= 0 && position < count)
            return tokens[position]
        }
    }

    /// Returns the position after the value at `position` and all that is in it.
    @inline(__always)
    func end(of position: Int) -> Int { self[position].end(at: position) }

    /// Copies the text, because something keeps the tape for longer than the text exists.
    func keepText() {
        guard !ownsText else { return }
        let copy = UnsafeMutablePointer<UInt8>.allocate(capacity: size)
        copy.initialize(from: text, count: size)
        text = UnsafePointer(copy)
        ownsText = true
    }

    /// The bytes of a number or a string, which the parser found inside of the text.
    @inline(__always)
    func bytes(of token: JSONToken) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: text + token.start, count: token.size)
    }

    /// Returns the string of a token of that kind.
    @inline(__always)
    func string(of token: JSONToken) -> String {
        let bytes = bytes(of: token)
        if token.flag { return JSONEscape.unescaped(bytes) }
        // Takes two thirds of the time for strings that need no memory of their own: the row `json_64`.
        if bytes.count <= 15 {
            return String(unsafeUninitializedCapacity: bytes.count) { buffer in
                for index in 0..<bytes.count { buffer[index] = bytes[index] }
                return bytes.count
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the number of a token; nil if it is of another kind.
    func number(of token: JSONToken) -> JSONNumber? {
        switch token.kind {
        case .digits: JSONNumber(.digits(token.digits))
        case .number: JSONNumber(.text(String(decoding: bytes(of: token), as: UTF8.self)))
        default: nil
        }
    }

    /// Makes the tree of the value at `position`.
    func value(at position: Int, keepsRepeats: Bool) -> JSONValue {
        var position = position
        return value(at: &position, keepsRepeats)
    }

    /// Makes the tree of the value at `position`, and moves behind it. As deep as the parser allowed.
    private func value(at position: inout Int, _ keepsRepeats: Bool) -> JSONValue {
        let token = self[position]
        position += 1
        switch token.kind {
        case .null: return .null
        case .bool: return .bool(token.flag)
        case .digits, .number: return number(of: token).map(JSONValue.number) ?? .null
        case .string: return .string(string(of: token))
        case .array:
            var elements: [JSONValue] = []
            elements.reserveCapacity(token.count)
            for _ in 0..<token.count { elements.append(value(at: &position, keepsRepeats)) }
            return .array(elements)
        case .object:
            var entries: [JSONObject.Entry] = []
            entries.reserveCapacity(token.count)
            for _ in 0..<token.count {
                let key = string(of: self[position])
                position += 1
                entries.append(JSONObject.Entry(key: key, value: value(at: &position, keepsRepeats)))
            }
            return .object(JSONObject(entries: entries, keepsRepeats: keepsRepeats))
        }
    }
}
