/// The members of a JSON object in the order they came. Keys are compared byte by byte, as RFC 8259 has it:
/// two spellings of one accented letter are two keys.
///
/// Of repeated keys the last value counts, at the place of the first: see ``JSONValue/RepeatedKeys``, also for reading
/// them all. An object that keeps them shows each as a member of its own, and the subscript gives the last.
public struct JSONObject: Sendable {
    private var entries: [Entry]
    /// Whether a key is there more than once.
    private(set) var hasRepeats = false
    /// Open addressing over ``entries``, one more than the position, 0 for free. Empty while a search from the
    /// front is faster; its size is a power of two, at least twice the number of entries.
    private var table: [UInt32] = []

    struct Entry: Sendable {
        let key: String
        var value: JSONValue
    }

    /// Up to here a linear search beats hashing.
    private static let linearLimit = 12

    /// No members.
    public init() {
        entries = []
    }

    /// Members in order; of repeated keys the last value counts.
    public init(_ pairs: some Sequence<(String, JSONValue)>) {
        self.init(entries: pairs.map { Entry(key: $0.0, value: $0.1) })
    }

    /// Members in order, repeated keys and all.
    public init(keepingRepeats pairs: some Sequence<(String, JSONValue)>) {
        self.init(entries: pairs.map { Entry(key: $0.0, value: $0.1) }, keepsRepeats: true)
    }

    /// Takes entries that may contain repeated keys.
    init(entries: [Entry], keepsRepeats: Bool = false) {
        self.entries = entries
        if entries.count > Self.linearLimit {
            indexAll(keepsRepeats: keepsRepeats)
        } else {
            findRepeats(keepsRepeats: keepsRepeats)
        }
    }

    /// The value of a key, the last one if it is repeated. Setting keeps the place of a key that is there, and appends
    /// a new one; nil removes it. What a key is set to takes the place of all that it had.
    public subscript(key: String) -> JSONValue? {
        get { position(of: key).map { entries[$0].value } }
        set {
            if hasRepeats { removeRepeats(of: key) }
            switch (position(of: key), newValue) {
            case (let position?, let value?): entries[position].value = value
            case (let position?, nil): remove(at: position)
            case (nil, let value?): append(Entry(key: key, value: value))
            case (nil, nil): break
            }
        }
    }

    /// The keys in order.
    public var keys: [String] { entries.map(\.key) }

    /// The values in order.
    public var values: [JSONValue] { entries.map(\.value) }

    private func position(of key: String) -> Int? {
        if table.isEmpty {
            if hasRepeats { return entries.lastIndex { Self.areSame($0.key, key) } }
            return entries.firstIndex { Self.areSame($0.key, key) }
        }
        let slot = slot(of: key)
        return table[slot] == 0 ? nil : Int(table[slot]) - 1
    }

    private mutating func append(_ entry: Entry) {
        entries.append(entry)
        if table.isEmpty ? entries.count > Self.linearLimit : entries.count * 2 > table.count {
            indexAll(keepsRepeats: hasRepeats)
        } else if !table.isEmpty {
            table[slot(of: entry.key)] = UInt32(entries.count)
        }
    }

    private mutating func remove(at position: Int) {
        entries.remove(at: position)
        table = []
        if entries.count > Self.linearLimit { indexAll(keepsRepeats: hasRepeats) }
    }

    /// Leaves the first entry of a key, with the value of the last.
    private mutating func removeRepeats(of key: String) {
        guard let last = position(of: key), let first = entries.firstIndex(where: { Self.areSame($0.key, key) }),
            first != last
        else { return }
        entries[first].value = entries[last].value
        var index = -1
        entries.removeAll { entry in
            index += 1
            return index > first && Self.areSame(entry.key, key)
        }
        self = JSONObject(entries: entries, keepsRepeats: true)
    }

    /// Finds repeats among few entries, and drops them if they are not kept: the value of the last goes to the place of
    /// the first.
    private mutating func findRepeats(keepsRepeats: Bool) {
        var end = 0
        for index in entries.indices {
            if let first = entries[..<end].firstIndex(where: { Self.areSame($0.key, entries[index].key) }) {
                if keepsRepeats { return hasRepeats = true }
                entries[first].value = entries[index].value
            } else {
                if end != index { entries[end] = entries[index] }
                end += 1
            }
        }
        if end != entries.count { entries.removeSubrange(end...) }
    }

    /// Builds the table anew, dropping repeats like ``findRepeats(keepsRepeats:)`` does, or with the last of them.
    private mutating func indexAll(keepsRepeats: Bool) {
        var size = 64
        while size < entries.count * 4 { size *= 2 }
        table = Array(repeating: 0, count: size)
        var end = 0
        for index in entries.indices {
            let slot = slot(of: entries[index].key)
            if table[slot] != 0, keepsRepeats {
                hasRepeats = true
                table[slot] = UInt32(index + 1)
                end += 1
            } else if table[slot] != 0 {
                entries[Int(table[slot]) - 1].value = entries[index].value
            } else {
                if end != index { entries[end] = entries[index] }
                end += 1
                table[slot] = UInt32(end)
            }
        }
        if end != entries.count { entries.removeSubrange(end...) }
    }

    /// The slot that holds `key`, or the free one where it belongs. The hash is seeded per process, so a server
    /// can't choose keys that collide.
    private func slot(of key: String) -> Int {
        var hasher = Hasher()
        var key = key
        key.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        let mask = table.count - 1
        var slot = hasher.finalize() & mask
        while table[slot] != 0, !Self.areSame(entries[Int(table[slot]) - 1].key, key) {
            slot = (slot + 1) & mask
        }
        return slot
    }

    /// Byte equality. `==` alone would also match canonically equivalent spellings; it goes first because it is
    /// fast when the strings differ, and for ASCII it is the answer.
    @inline(__always)
    private static func areSame(_ left: String, _ right: String) -> Bool {
        left == right && left.utf8.elementsEqual(right.utf8)
    }
}

extension JSONObject: RandomAccessCollection {
    public var startIndex: Int { 0 }
    public var endIndex: Int { entries.count }

    /// The member at a position from 0 to `count - 1`.
    public subscript(position: Int) -> (key: String, value: JSONValue) {
        (entries[position].key, entries[position].value)
    }
}

extension JSONObject {
    /// The members with other values, without those for which `transform` gives nil.
    func compactMapValues(_ transform: (JSONValue) -> JSONValue?) -> JSONObject {
        let kept = entries.compactMap { entry in transform(entry.value).map { Entry(key: entry.key, value: $0) } }
        return JSONObject(entries: kept, keepsRepeats: hasRepeats)
    }

    /// The members under other keys. Of those that become the same the last value counts.
    func mapKeys(_ transform: (String) -> String) -> JSONObject {
        JSONObject(entries: entries.map { Entry(key: transform($0.key), value: $0.value) })
    }

    /// The keys in order, repeated ones once.
    var uniqueKeys: [String] {
        hasRepeats ? JSONObject(entries: entries).keys : keys
    }
}

extension JSONObject: Hashable {
    /// The same keys with the same values; order does not matter to JSON.
    /// Where a key is repeated, order does.
    public static func == (left: JSONObject, right: JSONObject) -> Bool {
        guard left.count == right.count, left.hasRepeats == right.hasRepeats else { return false }
        if left.hasRepeats { return left.elementsEqual(right) { areSame($0.key, $1.key) && $0.value == $1.value } }
        return left.entries.allSatisfy { right[$0.key] == $0.value }
    }

    public func hash(into hasher: inout Hasher) {
        // Order-independent, like equality.
        var sum = 0
        for entry in entries {
            var each = hasher
            each.combine(entry.key)
            each.combine(entry.value)
            sum &+= each.finalize()
        }
        hasher.combine(sum)
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self.init(elements)
    }
}
