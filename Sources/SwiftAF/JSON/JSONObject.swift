/// The members of a JSON object in their original order. Keys are compared byte by byte (RFC 8259 8.3):
/// canonically equivalent spellings are different keys.
///
/// If a key is repeated, by default the last value is kept, at the position of the first; see
/// ``JSONValue/RepeatedKeys``. An object that keeps repeated keys has a member for each of them; the subscript returns
/// the last.
public struct JSONObject: Sendable {
    private var entries: [Entry]
    /// Whether a key is repeated.
    private(set) var hasRepeats = false
    /// A hash table with open addressing: positions in ``entries`` plus one; 0 is a free slot. Empty while a linear
    /// search is faster. Its size is a power of two, at least twice the number of entries.
    private var table: [UInt32] = []

    struct Entry: Sendable {
        let key: String
        var value: JSONValue
    }

    /// The maximum number of entries for which a linear search is faster than hashing.
    private static let linearLimit = 12

    /// Creates an empty object.
    public init() {
        entries = []
    }

    /// Creates an object with the members in order. If a key is repeated, its last value is used.
    public init(_ pairs: some Sequence<(String, JSONValue)>) {
        self.init(entries: pairs.map { Entry(key: $0.0, value: $0.1) })
    }

    /// Creates an object from a dictionary. The members are sorted by key, because the order of a dictionary differs in
    /// each run of the program. A literal needs no initializer, and keeps its order.
    public init(_ dictionary: [String: JSONValue]) {
        self.init(entries: dictionary.sortedByKey.map { Entry(key: $0.key, value: $0.value) })
    }

    /// Creates an object with the members in order, including repeated keys.
    public init(keepingRepeats pairs: some Sequence<(String, JSONValue)>) {
        self.init(entries: pairs.map { Entry(key: $0.0, value: $0.1) }, keepsRepeats: true)
    }

    /// Creates an object from entries that may contain repeated keys.
    init(entries: [Entry], keepsRepeats: Bool = false) {
        self.entries = entries
        if entries.count > Self.linearLimit {
            indexAll(keepsRepeats: keepsRepeats)
        } else {
            findRepeats(keepsRepeats: keepsRepeats)
        }
    }

    /// The value of a key; the last one if the key is repeated. Setting a value keeps the position of an existing key
    /// and appends a new one. Setting nil removes the key. Setting replaces all values of a repeated key.
    public subscript(key: String) -> JSONValue? {
        get { position(of: key).map { entries[$0].value } }
        // Not inlined, because some callers set many keys.
        @inline(never)
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

    /// Returns the position of a key. Fastest if it is at the expected position.
    func position(of key: String, expectedAt expected: Int) -> Int? {
        if expected < entries.count, !hasRepeats, Self.areSame(entries[expected].key, key) { return expected }
        return position(of: key)
    }

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

    /// Removes an entry whose key isn't repeated.
    private mutating func remove(at position: Int) {
        if !table.isEmpty { clear(slot: slot(of: entries[position].key)) }
        entries.remove(at: position)
        guard entries.count > Self.linearLimit else { return table = [] }
        // Much cheaper than rebuilding the table.
        let removed = UInt32(position + 1)
        for slot in table.indices where table[slot] > removed { table[slot] -= 1 }
    }

    /// Frees a slot. Later entries that were displaced because it was occupied move up, so that a search still finds
    /// them.
    private mutating func clear(slot: Int) {
        let mask = table.count - 1
        var (free, next) = (slot, (slot + 1) & mask)
        while table[next] != 0 {
            let home = home(of: entries[Int(table[next]) - 1].key)
            if (next - home) & mask >= (next - free) & mask {
                table[free] = table[next]
                free = next
            }
            next = (next + 1) & mask
        }
        table[free] = 0
    }

    /// Keeps only the first entry of a key, with the value of the last.
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

    /// Finds repeated keys among few entries by a linear search. Unless repeats are kept, each key keeps its first
    /// entry with the last value.
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

    /// Rebuilds the table. Removes repeated keys like ``findRepeats(keepsRepeats:)``; if they are kept, the table
    /// refers to the last entry.
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

    /// Returns the slot at which the search for `key` begins. The hash is seeded per process, so that chosen keys can't
    /// be made to collide.
    private func home(of key: String) -> Int {
        var hasher = Hasher()
        var key = key
        key.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        return hasher.finalize() & (table.count - 1)
    }

    /// Returns the slot that holds `key`, or the free one for it.
    private func slot(of key: String) -> Int {
        let mask = table.count - 1
        var slot = home(of: key)
        while table[slot] != 0, !Self.areSame(entries[Int(table[slot]) - 1].key, key) {
            slot = (slot + 1) & mask
        }
        return slot
    }

    /// Compares bytes. `==` would also match canonically equivalent strings.
    @inline(__always)
    private static func areSame(_ left: String, _ right: String) -> Bool {
        let (left, right) = (left.utf8, right.utf8)
        guard left.count == right.count else { return false }
        // Much faster than comparing the views, which look up the storage for each byte.
        let areSame = left.withContiguousStorageIfAvailable { left in
            right.withContiguousStorageIfAvailable { right in ByteComparison.areEqual(left, right) }
        }
        return (areSame ?? nil) ?? left.elementsEqual(right)
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
    /// Returns the members with transformed values, without those that become nil.
    func compactMapValues(_ transform: (JSONValue) -> JSONValue?) -> JSONObject {
        let kept = entries.compactMap { entry in transform(entry.value).map { Entry(key: entry.key, value: $0) } }
        return JSONObject(entries: kept, keepsRepeats: hasRepeats)
    }

    /// Returns the members with transformed keys. If keys become the same, the last value is used.
    func mapKeys(_ transform: (String) -> String) -> JSONObject {
        JSONObject(entries: entries.map { Entry(key: transform($0.key), value: $0.value) })
    }

    /// The keys in order, without repetitions.
    var uniqueKeys: [String] {
        hasRepeats ? JSONObject(entries: entries).keys : keys
    }
}

extension JSONObject: Hashable {
    /// Whether the keys and values are equal, in any order. The values of a repeated key must be in the same order.
    // Not inlined, because values contain objects, so this code would be repeated in each comparison of two values.
    @inline(never)
    public static func == (left: JSONObject, right: JSONObject) -> Bool {
        guard left.count == right.count, left.hasRepeats == right.hasRepeats else { return false }
        if left.hasRepeats { return left.keys.elementsEqual(right.keys, by: areSame) && left.values == right.values }
        return left.entries.allSatisfy { right[$0.key] == $0.value }
    }

    public func hash(into hasher: inout Hasher) {
        // Independent of the order, like equality.
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
    // Not inlined, because there are many literals.
    @inline(never)
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self.init(elements)
    }
}
