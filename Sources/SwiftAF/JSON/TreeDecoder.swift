/// Decodes a ``JSONValue``.
///
/// The position of an element or a member is its index.
final class TreeDecoder: ValueDecoder {
    private static let ownPosition = -1

    private let value: JSONValue
    /// The members, with converted names if that is needed.
    private var object = JSONObject()
    private var isConverted = false
    /// The index after that of the last member that was found. Types decode their members in one order, which is
    /// usually the order in which they are written.
    private var next = 0

    init(
        _ value: JSONValue, options: TreeOptions, key: consuming (any CodingKey)? = nil, parent: TreePath? = nil
    ) {
        self.value = value
        super.init(own: Self.ownPosition, options: options, key: key, parent: parent)
    }

    private init(_ value: JSONValue, index: Int, below parent: TreeDecoder) {
        self.value = value
        super.init(own: Self.ownPosition, options: parent.options, index: index, parent: parent)
    }

    override func value(at position: Int) -> JSONValue {
        if position == Self.ownPosition { return value }
        switch value {
        case .array(let elements): return elements[position]
        case .object: return object[position].value
        default: return .null
        }
    }

    override func kind(at position: Int) -> JSONKind {
        switch value(at: position) {
        case .null: .null
        case .bool: .bool
        case .number: .number
        case .string: .string
        case .array: .array
        case .object: .object
        }
    }

    override func bool(at position: Int) -> Bool? { value(at: position).bool }
    override func string(at position: Int) -> String? { value(at: position).string }
    override func number(at position: Int) -> JSONNumber? { value(at: position).number }

    override func digits(at position: Int) -> JSONNumber.Digits? {
        guard case .number(let number) = value(at: position), case .digits(let digits) = number.storage else {
            return nil
        }
        return digits
    }

    override func child(
        at position: Int?, key: consuming (any CodingKey)?, below parent: TreePath?
    ) -> ValueDecoder {
        TreeDecoder(position.map { value(at: $0) } ?? .null, options: options, key: key, parent: parent)
    }

    override func child(at position: Int, index: Int) -> ValueDecoder {
        TreeDecoder(value(at: position), index: index, below: self)
    }

    override func strings(at position: Int) -> [String]? { array(at: position, \.string) }
    override func integers(at position: Int) -> [Int]? { array(at: position, \.int) }
    override func doubles(at position: Int) -> [Double]? { array(at: position, \.double) }

    @inline(__always)
    private func array<Element>(at position: Int, _ get: (JSONValue) -> Element?) -> [Element]? {
        guard case .array(let elements) = value(at: position) else { return nil }
        var array: [Element] = []
        array.reserveCapacity(elements.count)
        for element in elements {
            guard let element = get(element) else { return nil }
            array.append(element)
        }
        return array
    }

    override func elements(at position: Int) -> Elements? {
        guard case .array(let elements) = value(at: position) else { return nil }
        let decoder = position == own ? self : TreeDecoder(value(at: position), options: options)
        return Elements(decoder: decoder, first: 0, count: elements.count)
    }

    override func element(after position: Int) -> Int { position + 1 }

    override func openObject() {
        guard case .object(let object) = value else { return }
        isConverted = convertsKeys && options.keys == .snakeCase
        self.object = isConverted ? object.mapKeys(SnakeCase.decoded) : object
    }

    override var names: [String] { object.uniqueKeys }

    override func find(_ name: String) -> Int? {
        if let position = object.position(of: name, expectedAt: next) {
            next = position + 1
            return position
        }
        guard isConverted, let name = SnakeCase.alternative(to: name) else { return nil }
        return object.position(of: name, expectedAt: next)
    }
}
