/// Decodes a value of a ``JSONTape``, without making a tree (measured by the row `json_64` of `Benchmarks/run`).
///
/// The position of a value is the index of its token.
final class TapeDecoder: ValueDecoder {
    private let tape: JSONTape
    private let keepsRepeats: Bool
    /// The directory of the members; nil if the text is searched for names instead.
    private var directory: JSONDirectory?
    private var isConverted = false
    private var isOpen = false
    /// The place where the next member is expected: a position of the tape, or an index in the directory. A hint, which
    /// the search checks. Checks of exclusivity would take 4 % of the instructions of the row `json_64`'s decoding.
    @exclusivity(unchecked)
    private var next = 0

    init(
        _ tape: JSONTape, at position: Int, keepsRepeats: Bool, options: TreeOptions,
        key: consuming (any CodingKey)? = nil, parent: TreePath? = nil
    ) {
        self.tape = tape
        self.keepsRepeats = keepsRepeats
        super.init(own: position, options: options, key: key, parent: parent)
    }

    private init(at position: Int, index: Int, below parent: TapeDecoder) {
        tape = parent.tape
        keepsRepeats = parent.keepsRepeats
        super.init(own: position, options: parent.options, index: index, parent: parent)
    }

    override func kind(at position: Int) -> JSONKind {
        switch tape[position].kind {
        case .null: .null
        case .bool: .bool
        case .digits, .number: .number
        case .string: .string
        case .array: .array
        case .object: .object
        }
    }

    override func bool(at position: Int) -> Bool? {
        let token = tape[position]
        return token.kind == .bool ? token.flag : nil
    }

    override func string(at position: Int) -> String? {
        let token = tape[position]
        return token.kind == .string ? tape.string(of: token) : nil
    }

    override func number(at position: Int) -> JSONNumber? {
        tape.number(of: tape[position])
    }

    override func digits(at position: Int) -> JSONNumber.Digits? {
        let token = tape[position]
        return token.kind == .digits ? token.digits : nil
    }

    override func value(at position: Int) -> JSONValue { tape.value(at: position, keepsRepeats: keepsRepeats) }

    override func child(
        at position: Int?, key: consuming (any CodingKey)?, below parent: TreePath?
    ) -> ValueDecoder {
        TapeDecoder(
            tape, at: position ?? tape.absent, keepsRepeats: keepsRepeats, options: options, key: key, parent: parent)
    }

    override func child(at position: Int, index: Int) -> ValueDecoder {
        TapeDecoder(at: position, index: index, below: self)
    }

    override func strings(at position: Int) -> [String]? {
        array(at: position) { $0.kind == .string ? tape.string(of: $0) : nil }
    }

    override func integers(at position: Int) -> [Int]? {
        array(at: position) { $0.kind == .digits ? $0.digits.integer() : tape.number(of: $0)?.exactly() }
    }

    override func doubles(at position: Int) -> [Double]? {
        array(at: position) { $0.kind == .digits ? $0.digits.double : tape.number(of: $0)?.double }
    }

    @inline(__always)
    private func array<Element>(at position: Int, _ get: (JSONToken) -> Element?) -> [Element]? {
        let token = tape[position]
        guard token.kind == .array else { return nil }
        var array: [Element] = []
        array.reserveCapacity(token.count)
        // A container among the elements ends the loop, so every element before it has exactly one token.
        for index in 0..<token.count {
            guard let element = get(tape[position + 1 + index]) else { return nil }
            array.append(element)
        }
        return array
    }

    override func elements(at position: Int) -> Elements? {
        let token = tape[position]
        return token.kind == .array ? Elements(decoder: self, first: position + 1, count: token.count) : nil
    }

    override func element(after position: Int) -> Int { tape.end(of: position) }

    override func openObject() {
        guard !isOpen else { return }
        isOpen = true
        isConverted = convertsKeys && options.keys == .snakeCase
        let members = tape.members(of: own)
        if !isConverted, members.isSearchable { return }
        let given = JSONDirectory(members.named, keepsRepeats: keepsRepeats)
        directory = isConverted ? given.mapNames(SnakeCase.decoded) : given
    }

    override var names: [String] { directory?.names ?? tape.members(of: own).named.map(\.name) }

    override func find(_ name: String) -> Int? {
        directory == nil ? find(name, tape.members(of: own)) : look(for: name)
    }

    /// Returns the position of a member's value by a search in the text.
    @inline(__always)
    private func find(_ name: String, _ members: JSONMembers) -> Int? {
        var expected = next
        defer { next = expected }
        if let found = name.utf8.withContiguousStorageIfAvailable({ members.find($0, next: &expected) }) {
            return found
        }
        var name = name
        return name.withUTF8 { members.find($0, next: &expected) }
    }

    /// Returns the position of a member's value from the directory.
    private func look(for name: String) -> Int? {
        guard let directory else { return nil }
        if let position = directory.position(of: name, next: &next) { return position }
        guard isConverted, let name = SnakeCase.alternative(to: name) else { return nil }
        return directory.position(of: name, next: &next)
    }
}
