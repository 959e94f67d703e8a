/// A parsed JSON text: a flat array of tokens, one for each value in order, with its place in the text.
///
/// An array is followed by its elements, an object by its members, each a key and a value. Strings and long numbers are
/// converted only when they are asked for. ``JSONParser`` makes tapes. A ``JSONValue`` is made from a tape, and types
/// are decoded from it without a tree in between (measured by the row `json_64` of `Benchmarks/run`, and by
/// `bench-json`).
///
/// A position is the index of a token. Positions aren't checked, because they are taken from the tape itself: the first
/// value is at 0, each next one at the `end` of a token, and no more are read than the `count` of their container.
final class JSONTape {
    /// The text, which the tape owns only after ``keepText()``. Exclusivity needn't be checked: a tape is decoded by
    /// one thread, and ``keepText()`` is called afterwards.
    @exclusivity(unchecked)
    private(set) var text: UnsafePointer<UInt8>
    private let size: Int
    private let tokens: UnsafeMutablePointer<JSONToken>
    private let count: Int
    private var ownsText = false

    /// - Parameters:
    ///   - text: The text that was parsed. It must outlive the tape, unless ``keepText()`` is called.
    ///   - tokens: The tokens, at least one. The tape takes ownership of them.
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

    /// The position of an additional null token, which stands for a missing member.
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

    /// Returns the position after the value at `position` and everything in it.
    @inline(__always)
    func end(of position: Int) -> Int { self[position].end(at: position) }

    /// Copies the text, so that the tape can be used after the original text is gone.
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

    /// Returns the string of a token of kind ``JSONToken/Kind/string``.
    @inline(__always)
    func string(of token: JSONToken) -> String {
        let bytes = bytes(of: token)
        if token.flag { return JSONEscape.unescaped(bytes) }
        // The fast path for short strings, which are stored inline, takes two thirds of the time (the row `json_64`).
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

    /// Makes the tree of the value at `position`, and moves `position` behind it. Recursive; the parser has limited the
    /// depth.
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
